// The context of a model call: repaired, compacted, without what was erased, cut to a budget.
import assert from "node:assert/strict";
import type { ContextMessage } from "../../contracts/context.ts";
import type { ContentBlockInput, MessageInput } from "../../contracts/messages.ts";
import { present, refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "history"] as const;
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

const AGENT = "ada";

async function append({ history }: Nouns, session: string, ...messages: readonly MessageInput[]): Promise<void> {
  await history.appendMany({ session, agent: AGENT }, messages);
}

const user = (content: string): MessageInput => ({ role: "user", content });
const uses = (...ids: readonly string[]): MessageInput => ({
  role: "assistant",
  content: ids.map((id): ContentBlockInput => ({ type: "tool_use", id, name: "look", input: {} })),
});
const result = (toolUseId: string, content = `${toolUseId} done`): MessageInput => ({
  role: "tool",
  content: [{ type: "tool_result", toolUseId, content }],
});

/** Short for what a case compares. */
function brief(messages: readonly ContextMessage[]): readonly string[] {
  return messages.map(({ role, content }) => {
    const blocks = content.map((block) => {
      if (block.type === "text") return block.text;
      if (block.type === "tool_use") return `use ${block.id}`;
      return block.type === "tool_result" ? `${block.toolUseId}: ${String(block.content)}` : block.type;
    });
    return `${role} ${blocks.join(" | ")}`;
  });
}

export const contextCases: readonly Case[] = [
  prove("SE8 a sound transcript is the context as it is", NEEDS, async (nouns) => {
    await append(nouns, "chat", user("hi"), uses("a", "b"), result("a"), result("b"), user("thanks"));
    const { messages, leftOut, tokens, compaction } = await nouns.lineage.sessions.context("chat");
    const stored = await nouns.history.session("chat");
    assert.deepEqual(
      messages.map(({ id, role, content, agent, repaired }) => ({ id, role, content, agent, repaired })),
      stored.map(({ id, role, content, agent }) => ({ id, role, content, agent, repaired: false })),
    );
    assert.deepEqual([leftOut, compaction, tokens > 0], [{ messages: 0 }, null, true]);
  }),

  prove("SE8 a call without a result is shown as interrupted, directly behind the call", NEEDS, async (nouns) => {
    await append(nouns, "chat", user("hi"), uses("a", "b"), result("b"), user("still there?"), uses("c"));
    const { messages } = await nouns.lineage.sessions.context("chat");
    assert.deepEqual(brief(messages), [
      "user hi",
      "assistant use a | use b",
      "tool a: interrupted, no result",
      "tool b: b done",
      "user still there?",
      "assistant use c",
      "tool c: interrupted, no result",
    ]);
    const made = messages.filter(({ id }) => id === null);
    assert.deepEqual(
      made.map(({ repaired, content: [block] }) => [repaired, block?.type === "tool_result" && block.isError]),
      [
        [true, true],
        [true, true],
      ],
    );
    assert.equal((await nouns.history.session("chat")).length, 5, "the store is as it was");
  }),

  prove("SE8 a late result joins its call; one whose call is gone is shown as text", NEEDS, async (nouns) => {
    await append(nouns, "chat", result("lost"), uses("a"), user("hurry"), result("a"), result("a", "again"));
    const { messages } = await nouns.lineage.sessions.context("chat");
    assert.deepEqual(brief(messages), [
      "user [result of an earlier tool call]\nlost done",
      "assistant use a",
      "tool a: a done",
      "user hurry",
      "user [result of an earlier tool call]\nagain",
    ]);
  }),

  prove("SE8 a context is that of the head named, through forks and branches", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await append(nouns, "chat", user("one"), uses("a"));
    const head = await heads.publish("chat");
    await append(nouns, "chat", result("a"), user("two"));
    await sessions.fork("chat", { id: "fork" });
    await append(nouns, "fork", user("own"));
    const shown = async (at: string) => brief((await sessions.context(at)).messages);
    const cut = ["user one", "assistant use a", "tool a: interrupted, no result"];
    assert.deepEqual(await shown(`chat@${head.id}`), cut);
    assert.deepEqual(await shown("chat"), ["user one", "assistant use a", "tool a: a done", "user two"]);
    assert.deepEqual(await shown("fork"), [...cut, "user own"]);
    await sessions.rewind(`chat@${head.id}`);
    assert.deepEqual(await shown("chat"), cut);
  }),

  prove("SE8 a compaction stands before what follows it, and holds until the next", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await append(nouns, "chat", user("a"), uses("t"), result("t"), user("b"));
    const before = await heads.publish("chat");
    const head = await heads.compact("chat", { agent: AGENT, summary: "in short", keep: 2 });
    await append(nouns, "chat", user("c"));
    const shown = async (at: string) => brief((await sessions.context(at)).messages);
    const kept = ["user in short", "user [result of an earlier tool call]\nt done", "user b"];
    assert.deepEqual(await shown("chat"), [...kept, "user c"]);
    assert.deepEqual((await sessions.context("chat")).compaction, head.compaction);
    assert.deepEqual(await shown(`chat@${head.id}`), kept);
    assert.deepEqual((await shown(`chat@${before.id}`)).length, 4);
    await heads.publish("chat");
    await sessions.fork("chat", { id: "fork" });
    await append(nouns, "fork", user("d"));
    assert.deepEqual(await shown("fork"), [...kept, "user c", "user d"]);
    await heads.compact("fork", { agent: AGENT, summary: "shorter" });
    assert.deepEqual(await shown("fork"), ["user shorter"]);
    await append(nouns, "fork", user("e"));
    assert.deepEqual(await shown("fork"), ["user shorter", "user e"]);
    assert.deepEqual(await shown("chat"), [...kept, "user c"]);
  }),

  prove("SE8 what was erased is not in a context", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await append(nouns, "chat", uses("a"));
    await nouns.history.append({ session: "chat", agent: "other" }, result("a", "secret"));
    const head = await heads.publish("chat");
    await nouns.history.clear({ session: "chat", agent: "other" });
    const wanted = ["assistant use a", "tool a: interrupted, no result"];
    assert.deepEqual(brief((await sessions.context(`chat@${head.id}`)).messages), wanted);
    assert.deepEqual(brief((await sessions.context("chat")).messages), wanted);
  }),

  prove("SE8 a context can be that of one agent", NEEDS, async (nouns) => {
    const { sessions, heads } = nouns.lineage;
    await append(nouns, "chat", user("one"));
    await nouns.history.append({ session: "chat", agent: "other" }, user("two"));
    assert.deepEqual(brief((await sessions.context("chat", { agent: "other" })).messages), ["user two"]);
    await heads.compact("chat", { agent: AGENT, summary: "both", keep: 1 });
    assert.deepEqual(brief((await sessions.context("chat", { agent: "other" })).messages), ["user both", "user two"]);
  }),

  prove(
    "SE8 a budget cuts the oldest first, never a call from its results, never the summary",
    NEEDS,
    async (nouns) => {
      const { sessions, heads } = nouns.lineage;
      await append(nouns, "chat", user("old"));
      await heads.compact("chat", { agent: AGENT, summary: "in short" });
      await append(nouns, "chat", user("a"), uses("t", "u"), result("t"), user("b"), user("c"));
      const tokenizer = () => 10;
      const at = async (budget: number) => {
        const { messages, leftOut, tokens } = await sessions.context("chat", { budget, tokenizer });
        return { shown: brief(messages), leftOut, tokens };
      };
      const call = ["assistant use t | use u", "tool u: interrupted, no result", "tool t: t done"];
      const all = ["user in short", "user a", ...call, "user b", "user c"];
      const none = { messages: 0 };
      assert.deepEqual(await at(70), { shown: all, leftOut: none, tokens: 70 });
      assert.deepEqual(await at(69), {
        shown: [...all.slice(0, 1), ...all.slice(2)],
        leftOut: { messages: 1 },
        tokens: 60,
      });
      for (const budget of [59, 40, 30]) {
        assert.deepEqual(await at(budget), {
          shown: ["user in short", "user b", "user c"],
          leftOut: { messages: 3 },
          tokens: 30,
        });
      }
      assert.deepEqual(await at(0), {
        shown: ["user in short"],
        leftOut: { messages: 5 },
        tokens: 10,
      });
      const estimated = await sessions.context("chat", { budget: 20 });
      assert.ok(estimated.tokens <= 20 && estimated.leftOut.messages > 0);
    },
  ),

  prove("ST7 a budget or tokenizer that is none, and places that are not there, are refused", NEEDS, async (nouns) => {
    const { sessions } = nouns.lineage;
    await append(nouns, "chat", user("one"));
    await refuses("InvalidArgument", () => sessions.context("chat", { budget: -1 }));
    await refuses("InvalidArgument", () => sessions.context("chat", { tokenizer: 4 as never }));
    await refuses("InvalidArgument", () => sessions.context("chat", { tokenizer: () => Number.NaN }));
    await refuses("InvalidArgument", () => sessions.context("chat", { limit: 1 } as never));
    await refuses("NotFound", () => sessions.context("nobody"));
    await refuses("NotFound", () => sessions.context(`chat@hd-${"0".repeat(64)}`));
    assert.equal(present((await sessions.context("chat")).messages[0]).role, "user");
  }),
];
