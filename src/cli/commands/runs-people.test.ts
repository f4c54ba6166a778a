// Approvals, and the model calls behind messages, on the command line; through main(), on a real store.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { enterOpen, json, leave, refused, runOnTerminal as run } from "../../../test/shell.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { defineAgent } from "../../index.ts";

let hf: Holdfast;
beforeEach(async () => {
  ({ hf } = await enterOpen());
});
afterEach(leave);

describe("messages of runs", () => {
  test("name the model call that wrote them", async () => {
    const speaks = defineAgent({
      id: "speaker",
      version: "1",
      models: { m: { model: "fake-1", call: () => ({ output: "hello", costUsd: 0.25 }) } },
      iterate: async (it) => {
        await it.message({ role: "user", content: "hi" });
        const { output, call } = await it.model("q");
        await it.message({ role: "assistant", content: String(output) }, { call });
        return it.done(call);
      },
    });
    const { value: call } = await hf.runs.execute(speaks, { session: "talk" });
    const shown = await run("messages", "talk", "--calls");
    expect(shown).toContain(`by call ${call}, fake-1, $0.25\n    hello\n`);
    expect(shown.match(/by call/g)).toHaveLength(1);
    expect(await run("messages", "talk")).not.toContain("by call");
    const { messages, calls } = await json("messages", "talk", "--calls");
    expect(messages.map((message: { call?: string }) => message.call)).toEqual([undefined, call]);
    expect(calls).toMatchObject([{ id: call, model: "fake-1", costUsd: 0.25 }]);
    const traced = await json("trace", "--causes", messages[1].id);
    expect(traced.event.causes).toContainEqual({ kind: "call", id: call });
    await refused(2, "messages", "talk", "--calls", "--follow");
    const { items } = await hf.heads.list("talk");
    const at = await json("messages", `talk@${items[0]?.id}`, "--calls");
    expect(at.messages.at(-1).call).toBe(call);
  });
});

describe("people", () => {
  test("are asked before a tool that needs approval, and see when its permission is used up", async () => {
    const reached = Promise.withResolvers<void>();
    let done = 0;
    const careful = defineAgent({
      id: "careful",
      version: "1",
      tools: {
        refund: {
          approve: true,
          execute: () => {
            reached.resolve();
            return ++done === 1 ? new Promise(() => {}) : { refunded: done };
          },
        },
      },
      iterate: async (it) => it.done(await it.tool("refund", { order: 7 })),
    });
    const made = await hf.runs.start(careful, { session: "desk" });
    await hf.runs.resume(careful, made.id);
    const { decisions } = await json("runs", "pending");
    const [{ id }] = decisions;
    expect(decisions).toMatchObject([{ reason: "approval", input: { order: 7 }, step: { status: "asked" } }]);
    const asked = await run("runs", "pending");
    expect(asked).toContain(`${id}  may refund go ahead?\n`);
    expect(asked).toMatch(/reason +approval\n +input +\{"order":7\}/);
    expect(asked).toMatch(/runs approve '\S+' +go ahead\n/);
    expect(asked).toMatch(/runs deny '\S+' +refuse\n/);
    expect(asked).not.toContain("worker that died");
    expect(await run("runs", "show", made.id)).toContain("waits for approval");
    expect(await run("runs", "approve", id, "--by", "eve")).toContain(`${id}: go ahead, by eve\n`);
    const worker = hf.runs.createWorker({ agents: [careful] });
    await worker.look();
    await reached.promise;
    await worker.stop({ graceMs: 0 });
    await hf.runs.resume(careful, made.id);
    expect(await run("runs", "pending")).toMatch(/did refund happen\?\n +reason +in-doubt\n/);
    expect(await refused(2, "runs", "approve", id)).toContain("it may have happened. Give --retry");
    expect(await run("runs", "approve", id, "--retry")).toContain("execute it again");
    expect((await hf.runs.resume(careful, made.id)).value).toEqual({ refunded: 2 });
    const shown = await run("runs", "show", made.id);
    expect(shown).toMatch(/eve decided on tool refund after .*: go ahead/);
    const other = await hf.runs.start(careful, { session: "other" });
    await hf.runs.resume(careful, other.id);
    expect(await run("runs", "deny", other.id, "--by", "bob")).toContain(": refused, by bob\n");
    expect((await hf.runs.resume(careful, other.id)).error?.message).toBe("a person refused it");
    expect((await run("runs", "pending", "--answered", "--order", "oldest")).replaceAll(/\s+/g, " ")).toMatch(
      /eve go ahead.*bob refused/,
    );
  });
});
