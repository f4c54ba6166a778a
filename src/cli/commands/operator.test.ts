// Questions of an operator who has the command line and a store, and did not write the agent. Each is answered in at
// most two commands.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineAgent, open } from "../../index.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;

/** A support agent that answers, looks an order up and refunds it; the shop is down for order 13. */
const support = defineAgent({
  id: "support",
  version: "3",
  models: {
    writer: {
      provider: "acme",
      model: "large-1",
      call: () => ({ output: "I will refund it.", inputTokens: 100, outputTokens: 20, costUsd: 0.1 }),
    },
  },
  tools: {
    lookup: { effect: "idempotent", execute: () => ({ eur: 5 }) },
    refund: {
      execute: (input) => {
        if (JSON.stringify(input).includes("13")) throw new Error("the shop does not answer");
        return { receipt: 7 };
      },
    },
  },
  async iterate(it) {
    const order = it.input;
    const reply = await it.model({ prompt: "refund?" });
    await it.message({ role: "assistant", content: String(reply.output) }, { call: reply.call });
    const second = await it.model({ prompt: "sure?" });
    await it.tool("lookup", { order });
    await it.tool("refund", { order, text: String(second.output) });
    const third = await it.model({ prompt: "say goodbye" });
    await it.message({ role: "assistant", content: "Goodbye." }, { call: third.call });
    return it.done("refunded");
  },
});

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-operator-"));
  const hf = await open(path.join(cwd, "holdfast.db"));
  try {
    await hf.runs.execute(support, { session: "ticket-7", id: "refund-7", input: "7" });
    await hf.runs.execute(support, { session: "ticket-13", id: "refund-13", input: "13" });
    const video = await hf.blobs.store(new Uint8Array(2_000_000).fill(1), { mediaType: "video/mp4" });
    const attached = { role: "user" as const, content: [{ type: "document" as const, source: { ref: video } }] };
    await hf.history.append({ session: "uploads", agent: "support" }, attached);
    await hf.state.set("ticket-7", { mood: "calm" });
    await hf.heads.publish("ticket-7");
    for (const [id, mood] of [
      ["polite", "happy"],
      ["curt", "cross"],
    ] as const) {
      await hf.sessions.fork("ticket-7", { id });
      await hf.history.append({ session: id, agent: "support" }, { role: "user", content: `I am ${mood}` });
      await hf.state.patch(id, { mood });
    }
  } finally {
    await hf.close();
  }
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** Runs commands, at most two. */
class Operator {
  #commands = 0;

  async #ask(argv: readonly string[], columns?: number) {
    expect(++this.#commands, "two commands must do").toBeLessThanOrEqual(2);
    const { code, stdout, stderr } = await captureOutput(main, argv, {
      cwd,
      env: { NO_COLOR: "1" },
      ...(columns === undefined ? {} : { columns }),
    });
    expect([code, argv.includes("--json") ? stderr : ""]).toEqual([0, ""]);
    return stdout;
  }

  /** What stands on a terminal of 80 columns; only a ref, which must be copied, is not broken. */
  async read(...argv: string[]): Promise<string> {
    const text = await this.#ask(argv, 80);
    expect(text.split("\n").filter((line) => line.length > 80 && !line.includes("sha256:"))).toEqual([]);
    return text;
  }

  async json(...argv: string[]) {
    return JSON.parse(await this.#ask([...argv, "--json"]));
  }
}

describe("an operator learns", () => {
  test("why a run stopped", async () => {
    const operator = new Operator();
    const list = await operator.read("runs", "--status", "failed");
    expect(list).toMatch(/refund-13 .*\bfailed\b/);
    expect(list).not.toContain("refund-7");
    const shown = await operator.read("runs", "show", "refund-13", "--io");
    expect(shown).toMatch(/^status +failed: the shop does not answer$/m);
    expect(shown).toMatch(/ tool refund .*failed: the shop does not answer/);
    expect(shown).toMatch(/^ticket-13#\d+ {2}tool refund \(1\/5\)$/m);
    expect(shown).toMatch(/^ {2}input +\{"order":"13","text":"I will refund it."\}$/m);
    const program = await new Operator().json("runs", "show", "refund-13", "--io");
    expect(program.run).toMatchObject({ stopReason: "failed", error: { message: "the shop does not answer" } });
    expect(program.steps.find((step: { name: string }) => step.name === "lookup")).toMatchObject({
      status: "done",
      input: { value: { order: "13" } },
      result: { value: { eur: 5 } },
    });
  });

  test("what it cost", async () => {
    const shown = await new Operator().read("runs", "show", "refund-7");
    expect(shown).toMatch(/^tokens +360$/m);
    expect(shown).toMatch(/^cost +\$0\.3$/m);
    const operator = new Operator();
    const { run } = await operator.json("runs", "show", "refund-7");
    expect([run.tokens, run.costUsd]).toEqual([360, 0.3]);
    const { total, sessions } = await operator.json("cost");
    expect([total.costUsd, sessions.map((one: { total: object }) => one.total)]).toMatchObject([
      0.5,
      [{ costUsd: 0.2 }, { costUsd: 0.3 }],
    ]);
  });

  test("what differs between two forks", async () => {
    const operator = new Operator();
    const tree = await operator.read("sessions", "tree", "ticket-7");
    for (const fork of ["polite", "curt"]) expect(tree).toMatch(new RegExp(`fork at ticket-7#\\d+: ${fork}\\b`));
    const diff = await operator.read("diff", "polite", "curt");
    expect(diff).toMatch(/^in common +2 messages, up to ticket-7#\d+/m);
    expect(diff).toMatch(/- polite#\d+ user: I am happy$/m);
    expect(diff).toMatch(/\+ curt#\d+ user: I am cross$/m);
    expect(diff).toMatch(/~ mood: "happy" → "cross"$/m);
  });

  test("which call wrote a message", async () => {
    const operator = new Operator();
    const messages = await operator.read("messages", "ticket-7", "--calls");
    const [, message = "", call = ""] =
      /^(ticket-7#\d+) assistant .*\n +by .*(ticket-7#\d+).*\n +I will refund it\./m.exec(messages) ?? [];
    expect(messages).toMatch(/acme\/large-1|large-1/);
    const { event } = await operator.json("trace", "--causes", message);
    expect(event.causeEventIds).toContain(call);
    const ask = "[:find ?model . :in $ ?m :where [?m :message/call ?c] [?c :call/model ?model]]";
    const asked = await new Operator().json("query", ask, "--input", message);
    expect(JSON.stringify(asked)).toContain("large-1");
  });

  test("what fills the disk", async () => {
    const stats = await new Operator().read("stats");
    expect(stats).toMatch(/^LARGEST SESSIONS .*\nuploads +\d+ +1 +2\.0 MB/m);
    const operator = new Operator();
    const { items } = await operator.json("blobs", "ls", "--sort", "size", "--limit", "1");
    expect(items).toMatchObject([{ size: 2_000_000, mediaType: "video/mp4" }]);
    const shown = await operator.read("blobs", "show", items[0].ref);
    expect(shown).toMatch(/^REFERRED TO BY +KIND +AS +SESSION\nuploads#2 +message +attachment +uploads$/m);
  });
});
