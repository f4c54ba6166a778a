// Claude Code's transcripts: a real one, the shapes that have misled readers, and whatever else may stand in a file.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fixture, rich, Transcript } from "../../../test/coding/transcripts.ts";
import { type ClaudeReading, readClaude, withSubagents } from "./claude.ts";
import { type Conversation, isAtRest, openToolCalls } from "./conversation.ts";

const messageTexts = ({ messages }: Conversation) =>
  messages.map(({ role, content: [block] }) => {
    if (block?.type === "text") return `${role}: ${block.text}`;
    if (block?.type === "tool_use") return `${role}: calls ${block.name}`;
    return block?.type === "tool_result" ? `${role}: ${JSON.stringify(block.content)}` : `${role}: ${block?.type}`;
  });

describe("Claude Code's transcripts", () => {
  test("CA7 a real one of 2.1.325 gives every message, call, sub-agent and compaction once", () => {
    const { conversation, damage, offset } = readClaude(fixture("claude-2.1.325.jsonl"));
    expect(damage).toEqual({ broken: 0, torn: false, orphaned: 0, unknown: {} });
    expect(offset).toBe(fixture("claude-2.1.325.jsonl").length);
    expect(conversation).toMatchObject({ agent: "claude-code", version: "2.1.325", cwd: "/home/dev/app" });
    expect(conversation.messages.filter(({ isPrompt }) => isPrompt)).toHaveLength(4);
    expect(conversation.messages).toHaveLength(27);
    // The first answer is three lines with the same usage: one call, counted once.
    expect(conversation.calls).toHaveLength(10);
    expect(conversation.calls[0]).toMatchObject({ inputTokens: 9448, outputTokens: 91, costUsd: null, status: "done" });
    expect(conversation.compactions).toEqual([{ key: expect.stringMatching(/^9486ce91/), upTo: expect.any(String) }]);
    expect(conversation.reportedCostUsd).toBeGreaterThan(0);
    const id = "agent-af11a538400b63651";
    const meta = JSON.parse(fixture(`claude-2.1.325-${id}.meta.json`).toString());
    const sub = readClaude(fixture(`claude-2.1.325-${id}.jsonl`)).conversation;
    const main = withSubagents(conversation, [{ id, meta, conversation: sub }]);
    expect(main.subagents).toMatchObject([{ id, toolUseId: meta.toolUseId, type: "general-purpose" }]);
    // 2.0 has no meta file: the result of the tool call says whom it launched.
    expect(withSubagents(conversation, [{ id, conversation: sub }]).subagents[0]?.toolUseId).toBe(meta.toolUseId);
    expect(isAtRest(sub) && isAtRest(conversation)).toBe(true);
  });

  test("CA7 results of tools that ran at once are all on the line, though the chain goes through one", () => {
    const t = rich("t", 1);
    expect(messageTexts(readClaude(t.text).conversation)).toEqual([
      "user: question 0",
      "assistant: thinking",
      "assistant: let me see 0",
      "assistant: calls Read",
      "assistant: calls Bash",
      "assistant: calls Grep",
      'tool: "Read done"',
      'tool: "Bash done"',
      'tool: "Grep done"',
      "assistant: calls Bash",
      'tool: "Bash done"',
      "assistant: answer 0",
    ]);
    expect(openToolCalls(readClaude(t.text).conversation)).toEqual([]);
  });

  test("CA7 the line is the one that ends in what was written last", () => {
    const t = new Transcript();
    t.prompt("one");
    const first = t.say("first");
    t.prompt("two");
    t.say("second");
    t.leaf = first;
    t.prompt("another two");
    expect(messageTexts(readClaude(t.text).conversation)).toEqual([
      "user: one",
      "assistant: first",
      "user: another two",
    ]);
    // From the very beginning.
    t.leaf = null;
    t.prompt("another one");
    expect(messageTexts(readClaude(t.text).conversation)).toEqual(["user: another one"]);
  });

  test("CA7 a call counts what its last line says, is under way until it is known to be over, and is none of a program's words", () => {
    const t = new Transcript();
    t.prompt("go");
    const early = { stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } };
    t.answer([{ type: "thinking", thinking: "…" }], { id: "m1", ...early });
    expect(readClaude(t.text).conversation.calls).toMatchObject([{ key: "m1", status: "started" }]);
    t.answer([{ type: "tool_use", id: "a", name: "Bash", input: {} }], {
      id: "m1",
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 40 },
    });
    const cut = readClaude(t.text).conversation;
    expect(cut.calls).toMatchObject([{ key: "m1", outputTokens: 40, status: "done", isEnd: false }]);
    expect(openToolCalls(cut)).toEqual([{ id: "a", name: "Bash", input: {} }]);
    expect(isAtRest(cut)).toBe(false);
    t.result("a", "ok");
    t.entry({ type: "assistant", message: { id: "x", model: "<synthetic>", content: [{ type: "text", text: "no" }] } });
    t.entry({
      type: "assistant",
      isApiErrorMessage: true,
      message: { id: "y", model: "<synthetic>", content: [{ type: "text", text: "API Error 529" }] },
    });
    expect(readClaude(t.text).conversation.calls.map(({ key, status }) => [key, status])).toEqual([
      ["m1", "done"],
      ["y", "failed"],
    ]);
  });

  test("CA7 a sub-agent of a sub-agent belongs to the one that launched it", () => {
    const [main, middle, inner] = ["main", "middle", "inner"].map((name) => rich(name, 1)) as [
      ...[Transcript, Transcript, Transcript],
    ];
    const call = (t: Transcript, id: string) => t.answer([{ type: "tool_use", id, name: "Agent", input: {} }]);
    call(main, "to-middle");
    call(middle, "to-inner");
    const read = (t: Transcript) =>
      readClaude(t.text.replaceAll('"isSidechain":false', '"isSidechain":true')).conversation;
    const given = [
      { id: "agent-2", meta: { toolUseId: "to-inner" }, conversation: read(inner) },
      { id: "agent-1", meta: { toolUseId: "to-middle" }, conversation: read(middle) },
      { id: "agent-3", conversation: read(rich("lost", 1)) },
    ];
    const { subagents } = withSubagents(readClaude(main.text).conversation, given);
    expect(subagents.map(({ id }) => id)).toEqual(["agent-1", "agent-3"]);
    expect(subagents[0]?.conversation.subagents.map(({ id }) => id)).toEqual(["agent-2"]);
  });

  test("CA7 what a person typed meanwhile is a prompt; other attachments nobody said", () => {
    const t = rich("t", 1);
    t.attachment("queued_command", { prompt: "and this too", commandMode: "prompt" });
    t.attachment("queued_command", { prompt: "<task-notification>", commandMode: "task-notification" });
    t.say("sure");
    expect(messageTexts(readClaude(t.text).conversation).slice(-2)).toEqual(["user: and this too", "assistant: sure"]);
  });

  test("CA7 images are bytes, what is unknown is kept, and nothing is nested too deep to keep", () => {
    const t = new Transcript();
    const data = Buffer.from("png").toString("base64");
    const image = (one: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data: one } });
    t.prompt([image(data), image("?"), { type: "new-thing", x: 1 }, "odd", { type: "text", text: "a\0b\ud800" }]);
    const line = JSON.parse(t.lines[0] ?? "");
    line.message.content.push({ type: "tool_use", id: "d", name: "deep", input: 0 });
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    t.lines[0] = JSON.stringify(line).replace('"input":0', `"input":${deep}`);
    const [message] = readClaude(t.text).conversation.messages;
    expect(message?.content.slice(0, 5)).toEqual([
      { type: "image", source: { data: new Uint8Array(Buffer.from("png")), mediaType: "image/png" } },
      { type: "opaque", value: image("?") },
      { type: "opaque", value: { type: "new-thing", x: 1 } },
      { type: "opaque", value: "odd" },
      { type: "text", text: "a\0b\ud800" },
    ]);
    expect(JSON.stringify(message?.content[5])).toContain("nested too deep");
  });

  test("CA7 what is damaged is counted, and keeps nothing else from being read", () => {
    const t = rich("t", 2);
    const whole = readClaude(t.text).conversation;
    const torn = readClaude(t.text.slice(0, -20));
    expect(torn.damage).toMatchObject({ torn: true, broken: 0 });
    expect(torn.offset).toBe(Buffer.from(`${t.lines.slice(0, -1).join("\n")}\n`).length);

    const twice = readClaude(t.lines.flatMap((line) => [line, line]).join("\r\n"));
    expect(twice.conversation.messages).toEqual(whole.messages);
    expect(readClaude(`\ufeff${t.text}`).conversation.messages).toEqual(whole.messages);

    // A line lost in the middle: the agent would lose everything before it.
    const lost = t.lines.findIndex((line) => line.includes('"environment"'));
    const broken = t.lines.with(lost, '{"type":"user","uu').concat('{"type":"brand-new"}', "[1]", "\0");
    const read = readClaude(`${broken.join("\n")}\n`);
    expect(read.conversation.messages).toEqual(whole.messages);
    expect(read.damage).toEqual({ broken: 3, torn: false, orphaned: 1, unknown: { "brand-new": 1 } });
  });

  test("CA7 a circle of entries, ids that are none, and any lines at all end in a conversation", () => {
    const t = new Transcript();
    t.entry({ type: "user", uuid: "a", message: { content: "x" } }, "b");
    t.entry({ type: "user", uuid: "b", message: { content: "y" } }, "a");
    t.entry({ type: "user", uuid: "\ud800\0", message: { content: "z" } }, "b");
    const { messages } = readClaude(t.text).conversation;
    expect(messages.map(({ key }) => key)).toEqual(["a", "b", expect.stringMatching(/^line-[0-9a-f]{32}$/)]);

    const names = fc.constantFrom("type", "uuid", "parentUuid", "message", "content", "attachment", "usage", "id");
    const words = fc.constantFrom(
      "user",
      "assistant",
      "system",
      "tool_use",
      "tool_result",
      "a",
      "b",
      null,
      7,
      "\ud800",
    );
    const few = { maxKeys: 5 };
    const inner = fc.dictionary(
      names,
      fc.oneof(words, fc.array(fc.dictionary(names, words, few), { maxLength: 3 })),
      few,
    );
    const line = fc.dictionary(names, fc.oneof(words, inner), few).map((one) => JSON.stringify(one));
    const lines = fc.array(fc.oneof({ weight: 9, arbitrary: line }, fc.string({ maxLength: 20 })), { maxLength: 12 });
    fc.assert(
      fc.property(lines, (all) => {
        expect(readClaude(all.join("\n")).conversation.agent).toBe("claude-code");
      }),
      { numRuns: 300 },
    );
  });

  test("CA7 read piece by piece, wherever it is cut, it is what it is when it is read at once", () => {
    const bytes = Buffer.from(rich("ü💥", 3).text);
    const whole = readClaude(bytes);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 6 }), (cuts) => {
        let reading: ClaudeReading | undefined;
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          reading = readClaude(bytes.subarray(reading?.offset ?? 0, Math.max(cut, reading?.offset ?? 0)), reading);
        }
        expect(reading?.conversation).toEqual(whole.conversation);
        expect(reading?.damage).toEqual(whole.damage);
      }),
      { numRuns: 100 },
    );
  });
});
