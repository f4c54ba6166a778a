// The agent of the demo: a bookkeeper with a scripted model that pays three bills at a slow bank. `holdfast worker`
// runs it as it would run any other agent. The bank is a file outside the store: a payment in that file has happened.
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "../../contracts/json.ts";
import { defineAgent } from "../../runs/agents.ts";

export const BILLS = [
  { bill: "B-101", to: "the florist", eur: 85 },
  { bill: "B-102", to: "the printer", eur: 240 },
  { bill: "B-103", to: "the caterer", eur: 410 },
] as const;

/** The environment variable with the file of the bank's book. */
export const BANK = "HOLDFAST_DEMO_BANK";

export interface Payment {
  readonly receipt: string;
  readonly bill: string;
  readonly eur: number;
  /** The idempotency key of the payment order. */
  readonly key: string;
}

export function readBook(file: string): readonly Payment[] {
  try {
    const lines = readFileSync(file, "utf8").trim().split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Payment);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

// A worker of the demo does not outlive the demo: its standard input ends with the process that started it.
if (process.env[BANK] !== undefined && !process.stdin.isTTY) {
  process.stdin.once("end", () => process.exit(1)).resume();
  if ("unref" in process.stdin) process.stdin.unref();
}

const THINKS_MS = 250;
const READS_MS = 80;
const PAYS_MS = 700;

function billOf(input: Json): (typeof BILLS)[number] {
  const found = BILLS.find(({ bill }) => bill === (input as { bill?: string }).bill);
  if (found === undefined) throw new Error("there is no such bill");
  return found;
}

interface State {
  readonly next: number;
  readonly paid: readonly string[];
}

export default defineAgent<State>({
  id: "bookkeeper",
  version: "1",
  initial: () => ({ next: 0, paid: [] }),
  models: {
    scripted: {
      provider: "demo",
      model: "scripted",
      call: async (request, { signal }) => {
        await sleep(THINKS_MS, undefined, { signal });
        const { bill, to, eur } = billOf(request);
        const output = `Pay ${bill}: ${eur} EUR to ${to}.`;
        return { output, inputTokens: 412, outputTokens: 19, costUsd: 0.0011 };
      },
    },
  },
  tools: {
    read_bill: {
      effect: "idempotent",
      execute: async (input, { signal }) => {
        await sleep(READS_MS, undefined, { signal });
        return { ...billOf(input) };
      },
    },
    // No effect is declared, so Holdfast treats it as not safe to repeat.
    pay: {
      execute: async (input, { idempotencyKey: key, signal }) => {
        const { bill, eur } = billOf(input);
        const file = process.env[BANK] ?? "";
        const receipt = `R-${readBook(file).length + 1}`;
        appendFileSync(file, `${JSON.stringify({ receipt, bill, eur, key } satisfies Payment)}\n`, { mode: 0o600 });
        // The payment has happened; the bank confirms it late.
        await sleep(PAYS_MS, undefined, { signal });
        return { receipt };
      },
    },
  },
  async iterate(iteration, { next, paid }) {
    const { bill = "" } = BILLS[next] ?? {};
    const { output } = await iteration.model({ bill });
    await iteration.tool("read_bill", { bill });
    const receipt = await iteration.tool<{ receipt: string }>("pay", { bill }).then(
      (answer) => answer.receipt,
      (error: Error) => `not paid: ${error.message}`,
    );
    await iteration.message({ role: "assistant", content: `${String(output)} ${receipt}` });
    const all = [...paid, `${bill} ${receipt}`];
    return next + 1 < BILLS.length ? iteration.next({ next: next + 1, paid: all }) : iteration.done({ paid: all });
  },
});
