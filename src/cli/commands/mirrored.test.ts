// Sessions that coding agents left, as the commands show them: mirrored by the Claude Agent SDK, and imported.
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rich, Transcript } from "../../../test/coding/transcripts.ts";
import { cli, enter, json, leave, run } from "../../../test/shell.ts";
import { claudeSessionStore } from "../../adapters/claude/entry.ts";
import { readClaude } from "../../coding/conversation/claude.ts";
import { digest } from "../../coding/conversation/digest.ts";
import { importConversation } from "../../coding/conversation/import.ts";
import { conversationOfRequest } from "../../coding/conversation/request-conversations.ts";
import type { SessionStoreEntry } from "../../contracts/session-store.ts";
import { open } from "../../open.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await enter();
});
afterEach(leave);

const store = () => open(path.join(cwd, "holdfast.db"));
const KEY = { projectKey: "-w", sessionId: "11111111-2222-4333-8444-555555555555" };

/** Entry by entry, as the SDK hands them over when it is eager. */
async function mirrored(t: Transcript, request = "t-1"): Promise<string> {
  await using hf = await store();
  const sessions = claudeSessionStore(hf, { request });
  for (const line of t.lines) await sessions.append(KEY, [JSON.parse(line) as SessionStoreEntry]);
  await sessions.append({ ...KEY, subpath: "subagents/agent-1" }, [
    { type: "user", uuid: "s1", message: { content: "sub" } },
  ]);
  const id = (await hf.sessions.list({ tag: "claude-session" })).items[0]?.id ?? "";
  expect((await hf.check()).issues).toEqual([]);
  return id;
}

describe("a session that the Claude Agent SDK mirrored", () => {
  test("CA11 is called by its first prompt, once, and a title that it has stays", async () => {
    const id = await mirrored(rich("titled", 2));
    await using hf = await store();
    expect((await hf.sessions.get(id))?.title).toBe("question 0");
    await hf.sessions.update(id, { title: "mine" });
    const again = claudeSessionStore(hf, { request: "t-1" });
    await again.append(KEY, [{ type: "user", uuid: "later", message: { role: "user", content: "more" } }]);
    expect((await hf.sessions.get(id))?.title).toBe("mine");
    const { items } = await hf.sessions.list({ tag: "claude-subpath" });
    expect(items.map(({ title }) => title)).toEqual([null]);
  });

  test("CA11 is named by the id that the agent has for it, as long as that is one session", async () => {
    const id = await mirrored(rich("named", 1));
    expect((await json("messages", KEY.sessionId)).session).toBe(id);
    await using hf = await store();
    await claudeSessionStore(hf).append({ ...KEY, projectKey: "-elsewhere" }, [{ type: "user", uuid: "other" }]);
    const { code, stderr } = await cli(["messages", KEY.sessionId]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`name one of them: `)]);
    expect(stderr).toContain(id);
    await importConversation(hf, readClaude(rich("named", 1).text).conversation, {
      session: `claude-code/${KEY.sessionId}`,
      request: "t-2",
    });
    expect((await json("messages", KEY.sessionId)).session).toBe(`claude-code/${KEY.sessionId}`);
  });

  test("CA7 is the conversation of its request: handover and digest read its entries as a transcript", async () => {
    const t = rich("handed", 1);
    t.answer([{ type: "tool_use", id: "e", name: "Edit", input: { file_path: "/w/a.ts" } }]);
    t.result("e", "ok");
    const id = await mirrored(t);
    const { session, markdown } = await json("handover", "--request", "t-1");
    expect(session).toBe(id);
    for (const line of [
      "# Handover: `question 0`",
      "- Agent: `claude-code 2.1.325`",
      "- Directory: `/w`",
      "    question 0",
      "    answer 0",
      "- `/w/a.ts`",
      "- `Bash`",
      "- Calls: 5",
      "- Tokens: 615 in (15 of them from a cache), 35 out",
      "    holdfast run --request t-1 -- claude",
    ]) {
      expect(markdown.split("\n")).toContain(line);
    }
    await using hf = await store();
    expect(await conversationOfRequest(hf, "t-1", "claude-code")).toBe(id);
    expect(await digest(hf, id)).toContain("| First prompt:\n| question 0\n");
    // What was imported of the same session is more: its calls, turns and sub-agents.
    await importConversation(hf, readClaude(t.text).conversation, { session: "imported", request: "t-1" });
    await mirrored(rich("more", 1));
    expect(await conversationOfRequest(hf, "t-1", "claude-code")).toBe("imported");
  });

  test("CA11 shows messages; other entries are counted, and shown with --all and in JSON", async () => {
    const id = await mirrored(rich("shown", 1));
    const text = await run("messages", id);
    expect(text).toContain("question 0");
    expect(text).not.toContain("queue-operation");
    expect(text).toMatch(/\n\n5 entries that are not messages; --all shows them\n$/);
    const all = await run("messages", id, "--all");
    expect(all).toContain("queue-operation");
    expect(all).not.toContain("nobody said");
    expect(JSON.stringify(await json("messages", id))).toContain("queue-operation");
  });
});

describe("when something was said", () => {
  test("CA7 is what the agent says, not when it was imported; another's `at` is no time", async () => {
    const t = new Transcript("old");
    t.prompt("long ago", { timestamp: "2024-05-06T07:08:09.000Z" });
    {
      await using hf = await store();
      await importConversation(hf, readClaude(t.text).conversation, { session: "old", request: "r" });
      const scope = { session: "old", agent: "somebody" };
      await hf.history.append(scope, { role: "user", content: "now", metadata: { at: 5 } });
      await hf.history.append(scope, { role: "user", content: "now", metadata: { at: "noon" } });
    }
    expect((await run("messages", "old")).match(/^old#\d+ user.*$/gm)).toEqual([
      expect.stringMatching(/ (2024-05-06|\d+ (d|y|months?|years?) ago)/),
      expect.stringMatching(/just now|s ago/),
      expect.stringMatching(/just now|s ago/),
    ]);
    const { stdout } = await cli(["export", "old", "--markdown"]);
    expect(stdout).toContain("## 1. user (claude-code), 2024-05-06 07:08:09Z");
    expect(stdout).not.toContain("1970");
    const mirror = await mirrored(t);
    expect(await run("messages", mirror)).not.toMatch(/user .*(just now|s ago)/);
  });
});

describe("what the agent itself says that a session cost", () => {
  test("SE11 is printed beside the cost, which stays unknown, and never added to it", async () => {
    const t = rich("priced", 1);
    t.raw({ type: "cost-state", totalCostUSD: 0.086 });
    {
      await using hf = await store();
      await importConversation(hf, readClaude(t.text).conversation, { session: "priced", request: "r" });
      await importConversation(hf, readClaude(rich("other", 1).text).conversation, { session: "other", request: "r" });
      await hf.sessions.create({ id: "known" });
      await hf.calls.add("known", { type: "root", costUsd: 1 });
    }
    const told = "reported  $0.086 for 1 session, as the agent itself reports; not part of the cost";
    expect((await run("cost", "priced")).split("\n").map((line) => line.trim())).toEqual(
      expect.arrayContaining([expect.stringMatching(/^cost +unknown$/), told]),
    );
    for (const args of [["priced"], ["priced", "--children"]]) {
      expect(await json("cost", ...args)).toMatchObject({
        total: { costUsd: 0, unknownCosts: 4 },
        reported: [{ session: "priced", costUsd: 0.086 }],
      });
    }
    const all = await run("cost");
    expect(all).toContain("at least $1.00 (8 of 9 calls unknown)");
    expect(all).toContain(told);
    expect(await run("cost", "other")).not.toContain("reported");
  });
});
