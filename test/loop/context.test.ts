// What of a long conversation the tool loop gives the model: the newest that fits, after a summary of the rest where one is
// made; once, whatever is interrupted.
import { describe, expect, test } from "vitest";
import type { ContextMessage } from "../../src/contracts/context.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { functionModel, tool, toolLoop } from "../../src/index.ts";
import { ENGINES } from "../engines.ts";
import { scripted, use, withStore } from "./scripted-model.ts";

const base = { id: "support", version: "1" } as const;
/** Each message is one token, so that a budget is a number of messages. */
const counting = { tokenizer: () => 1 } as const;
const look = tool({ inputSchema: { type: "object" }, effect: "idempotent", execute: (): string => "seen" });

function textOf({ content: [block] }: ContextMessage): string {
  return block?.type === "text" ? block.text : (block?.type ?? "nothing");
}

async function fill(hf: Holdfast, session: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, i) => ({ role: "user" as const, content: `m${i + 1}` }));
  await hf.history.appendMany({ session, agent: "eve" }, messages);
}

describe.each(ENGINES)("context of the tool loop on $name", (engine) => {
  const inStore = (work: (hf: Holdfast) => Promise<void>) => () => withStore(engine, work);

  test(
    "RU18 the oldest messages are left out where the budget ends",
    inStore(async (hf) => {
      await fill(hf, "s", 10);
      const model = scripted("ok");
      await hf.runs.execute(toolLoop({ ...base, ...counting, model, contextTokens: 3 }), {
        session: "s",
        id: "r",
        input: "go",
      });
      expect(model.requests[0]?.messages.map(textOf)).toEqual(["m9", "m10", "go"]);
      const none = toolLoop({ ...base, tokenizer: () => 5, model, contextTokens: 3 });
      const { error } = await hf.runs.execute(none, { session: "s", id: "r2", input: "go" });
      expect(error).toMatchObject({ code: "LimitExceeded", hint: expect.stringContaining("contextTokens") });
    }),
  );

  test(
    "RU18 what has no room becomes a summary, made once by a recorded call; a long past in rounds",
    inStore(async (hf) => {
      await fill(hf, "s", 10);
      const asked: (readonly string[])[] = [];
      const summarize = (messages: readonly ContextMessage[]) => {
        asked.push(messages.map(textOf));
        return `sum ${asked.length}`;
      };
      const model = scripted([use("t1", "look")], [use("t2", "look")], "ok");
      const loop = toolLoop({ ...base, ...counting, model, tools: { look }, contextTokens: 6, summarize });
      const { status } = await hf.runs.execute(loop, { session: "s", id: "r", input: "go" });
      expect(status).toBe("completed");
      const first = "Summary of the conversation so far:\nsum 1";
      const second = "Summary of the conversation so far:\nsum 2";
      expect(asked).toEqual([
        // Half of the budget stays as it is: the last three of eleven.
        ["m1", "m2", "m3", "m4", "m5", "m6"],
        [first, "m7", "m8", "m9", "m10", "go"],
      ]);
      expect(model.requests.map(({ messages }) => messages.map(textOf))).toEqual([
        [first, "m7", "m8", "m9", "m10", "go"],
        [second, "tool_use", "tool_result"],
        [second, "tool_use", "tool_result", "tool_use", "tool_result"],
      ]);
      const view = await hf.sessions.at("s");
      const calls = await view.calls();
      expect(calls.map(({ provider, model: name }) => [provider, name])).toEqual([
        ["function", "summarize"],
        ["scripted", "script"],
        ["function", "summarize"],
        ["scripted", "script"],
        ["scripted", "script"],
      ]);
      expect((await hf.sessions.context("s")).compaction).not.toBeNull();
    }),
  );

  test(
    "RU18 a summary ends where a tool call has its result, and takes a message that is larger than the budget",
    inStore(async (hf) => {
      const asked: (readonly string[])[] = [];
      const summarize = (messages: readonly ContextMessage[]) => {
        asked.push(messages.map(textOf));
        return `sum ${asked.length}`;
      };
      const model = scripted("ok", "ok");
      const loop = toolLoop({ ...base, ...counting, model, contextTokens: 3, summarize });
      await fill(hf, "s", 2);
      await hf.history.appendMany({ session: "s", agent: "eve" }, [
        { role: "assistant", content: [use("t1", "look")] },
        { role: "tool", content: [{ type: "tool_result", toolUseId: "t1", content: "seen" }] },
      ]);
      await fill(hf, "s", 2);
      expect((await hf.runs.execute(loop, { session: "s", id: "r", input: "go" })).status).toBe("completed");
      expect(asked.slice(0, 2)).toEqual([
        ["m1", "m2"],
        ["Summary of the conversation so far:\nsum 1", "tool_use", "tool_result"],
      ]);
      asked.length = 0;
      const tokenizer = (message: ContextMessage) => (textOf(message) === "large" ? 9 : 1);
      await hf.history.append({ session: "t", agent: "eve" }, { role: "user", content: "large" });
      await fill(hf, "t", 2);
      const weighs = toolLoop({ ...base, tokenizer, model, contextTokens: 3, summarize });
      expect((await hf.runs.execute(weighs, { session: "t", id: "r2", input: "go" })).status).toBe("completed");
      expect(asked[0]).toEqual(["large"]);
    }),
  );

  test(
    "RU18 a model is not asked with nothing but a summary",
    inStore(async (hf) => {
      await fill(hf, "s", 2);
      const model = scripted("ok");
      const tokenizer = (message: ContextMessage) => (textOf(message).startsWith("Summary") ? 1 : 5);
      const loop = toolLoop({ ...base, tokenizer, model, contextTokens: 3, summarize: () => "sum" });
      const { error } = await hf.runs.execute(loop, { session: "s", id: "r", input: "go" });
      expect(error).toMatchObject({ code: "LimitExceeded" });
      expect(model.requests).toEqual([]);
    }),
  );

  test(
    "RU18 a model may write the summary: its tokens count, and no watcher gets its text",
    inStore(async (hf) => {
      await fill(hf, "s", 6);
      const summarizer = scripted((request, call) => {
        call.token("not shown");
        const [message] = request.messages;
        expect(message === undefined ? "" : textOf(message)).toContain("user: m1\n\nuser: m2");
        expect(request.tools).toEqual([]);
        return { content: [{ type: "text", text: "in short" }], finish: "stop", inputTokens: 100, outputTokens: 10 };
      });
      const heard: string[] = [];
      const stop = new AbortController();
      const listening = (async () => {
        for await (const { text } of hf.runs.tokens({ run: "r", signal: stop.signal })) heard.push(text);
      })();
      const model = functionModel((request) => request.messages.map(textOf).join(", "));
      const loop = toolLoop({ ...base, ...counting, model, contextTokens: 4, summarize: summarizer });
      const { value, run } = await hf.runs.execute(loop, { session: "s", id: "r", input: "go" });
      stop.abort();
      await listening;
      expect([value, run.tokens, heard]).toEqual([
        { text: "Summary of the conversation so far:\nin short, m5, m6, go", finish: "stop" },
        110,
        [],
      ]);
    }),
  );

  test(
    "RU18 a summary of nothing is asked for again",
    inStore(async (hf) => {
      await fill(hf, "s", 6);
      const model = scripted("ok");
      let tries = 0;
      const summarize = () => (++tries < 3 ? " " : "in short");
      const loop = toolLoop({ ...base, ...counting, model, contextTokens: 4, summarize });
      expect((await hf.runs.execute(loop, { session: "s", id: "r", input: "go" })).status).toBe("completed");
      expect(tries).toBe(3);
    }),
  );
});
