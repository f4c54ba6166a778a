// OpenCode's exports: a real one, one made while it works, and what is none.
import { describe, expect, test } from "vitest";
import { fixture } from "../../../test/coding/transcripts.ts";
import { isAtRest, openToolCalls } from "./conversation.ts";
import { readOpenCode } from "./opencode.ts";

interface Part {
  type: string;
  text?: string;
  time?: Record<string, number>;
  state?: { status: string; input?: unknown; time?: Record<string, number> };
}
interface ExportFile {
  info: Record<string, unknown>;
  messages: { info: Record<string, unknown> & { time: Record<string, number> }; parts: Part[] }[];
}
const main = (): ExportFile => JSON.parse(fixture("opencode-1.18.33.json").toString());

describe("OpenCode's exports", () => {
  test("CA7 a real one of 1.18.33 gives every message and call once, and its child as a sub-agent", () => {
    const { conversation, damage } = readOpenCode(main(), [fixture("opencode-1.18.33-child.json")]);
    expect(damage).toEqual({ broken: 0, torn: false, orphaned: 0, unknown: {} });
    expect(conversation).toMatchObject({ agent: "opencode", version: "1.18.33", cwd: "/home/dev/app" });
    expect(conversation.messages).toHaveLength(16);
    expect(conversation.messages.filter(({ isPrompt }) => isPrompt)).toHaveLength(2);
    expect(conversation.calls).toHaveLength(7);
    // 0 is what it says of a model without prices.
    expect(conversation.calls[0]).toMatchObject({ inputTokens: 2458, outputTokens: 34, costUsd: null, status: "done" });
    expect(conversation.subagents).toMatchObject([{ type: "general", toolUseId: expect.stringMatching(/^call_/) }]);
    expect(conversation.subagents[0]?.conversation.messages).toHaveLength(4);
    expect(isAtRest(conversation)).toBe(true);
    expect(openToolCalls(conversation)).toEqual([]);
  });

  test("CA7 an export made while it works is the beginning of a later one", () => {
    const later = readOpenCode(main()).conversation.messages;
    const early = main();
    early.messages = early.messages.slice(0, 2);
    const answer = early.messages[1];
    const tools = answer?.parts.filter(({ type }) => type === "tool") ?? [];
    const [slow, quick] = tools;
    if (answer === undefined || slow?.state === undefined || quick === undefined) throw new Error("no tools");
    answer.info.time = { created: answer.info.time.created ?? 0 };
    delete answer.info.finish;
    slow.state.status = "running";
    // The quick one has ended, the slow one has not; then a text that is still being written.
    answer.parts = [slow, quick, { type: "text", text: "And n", time: { start: 1_794_856_364_100 } }];
    const { messages, calls } = readOpenCode(early).conversation;
    expect(messages).toEqual(later.slice(0, 4));
    expect(calls).toMatchObject([{ status: "started", inputTokens: null }]);
    expect(openToolCalls({ messages })).toMatchObject([{ name: "read" }]);
  });

  test("CA7 what was taken back is not on the line, and a summary is one", () => {
    const reverted = main();
    const second = reverted.messages.findLast(({ info }) => info.role === "user");
    reverted.info.revert = { messageID: second?.info.id };
    expect(readOpenCode(reverted).conversation.messages).toHaveLength(8);
    const compacted = main();
    const last = compacted.messages.at(-1);
    if (last !== undefined) last.info.summary = true;
    const { compactions, messages } = readOpenCode(compacted).conversation;
    expect(compactions).toEqual([{ key: messages.at(-1)?.key, upTo: messages.at(-2)?.key }]);
  });

  test("CA7 what is damaged is counted, and never thrown", () => {
    for (const one of [
      "",
      "{",
      "null",
      "[]",
      null,
      7,
      { info: 1 },
      { info: {}, messages: [1, { info: { role: "x" } }] },
    ]) {
      expect(readOpenCode(one).damage.broken).toBeGreaterThan(0);
    }
    const odd = main();
    odd.messages[0]?.parts.push({ type: "hologram" }, 5 as never);
    const { damage, conversation } = readOpenCode(odd);
    expect(damage).toMatchObject({ broken: 1, unknown: { hologram: 1 } });
    expect(conversation.messages).toHaveLength(16);
  });
});
