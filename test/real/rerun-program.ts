// The program of rerun.test.ts: a tool loop, run to its end. It is the same at every start, and knows nothing of those before.
// It says "ready" when its store is open, "step" when the run goes on, "waits" when a person is asked, "end" with the value.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatReply } from "../../src/contracts/chat.ts";
import { open, type StepCall, tool, toolLoop } from "../../src/index.ts";
import { say } from "./say.ts";

export interface ProgramArguments {
  readonly url: string;
  /** A file that every effect on the world outside is appended to. */
  readonly effects: string;
  readonly run: string;
}

const TURNS = 4;
const { url, effects, run: id }: ProgramArguments = JSON.parse(process.argv[2] ?? "{}");

function act(name: string, turn: number, { run, idempotencyKey: key }: StepCall): void {
  say(`step ${name}`);
  appendFileSync(effects, `${JSON.stringify({ run, name, turn, key })}\n`);
}

const inputSchema = { type: "object", properties: { turn: { type: "number" } }, required: ["turn"] } as const;

const charge = tool({
  description: "Charges; never twice",
  inputSchema,
  async execute({ turn }: { turn: number }, call) {
    await sleep(5);
    act("charge", turn, call);
    await sleep(15);
    return { charged: turn };
  },
});
const note = tool({
  description: "Notes; as often as you like",
  inputSchema,
  effect: "idempotent",
  async execute({ turn }: { turn: number }, call) {
    act("note", turn, call);
    await sleep(10);
    return { noted: turn };
  },
});
const close = tool({
  description: "Closes the account, if a person agrees",
  inputSchema,
  approve: true,
  execute({ turn }: { turn: number }, call) {
    act("close", turn, call);
    return "closed";
  },
});

const loop = toolLoop({
  id: "clerk",
  version: "1",
  system: `You are a clerk. It is ${new Date().toISOString()}.`,
  tools: { charge, note, close },
  async model({ messages }, call) {
    say("step model");
    const turn = messages.filter(({ role }) => role === "assistant").length;
    for (const text of ["Turn ", String(turn)]) {
      await sleep(8);
      call.token(text);
    }
    const names = turn < TURNS ? ["charge", "note"] : turn === TURNS ? ["close"] : [];
    const calls = names.map((name): ChatReply["content"][number] => ({
      type: "tool_use",
      id: `${name}-${turn}`,
      name,
      input: { turn },
    }));
    const content: readonly ChatReply["content"][number][] = [{ type: "text", text: `Turn ${turn}` }, ...calls];
    return { content, finish: calls.length === 0 ? "stop" : "tools", inputTokens: 10, outputTokens: 5, costUsd: 0.01 };
  },
});

const hf = await open(url);
say("ready");
const onWait = ({ reason }: { readonly reason: string }) => say(`waits ${reason}`);
const { value, status } = await hf.runs.execute(loop, { id, session: id, input: "Charge four times." }, { onWait });
say(`end ${status} ${JSON.stringify(value)}`);
await hf.close();
