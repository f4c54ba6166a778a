// Conversations as sessions, on both engines: once, again, in pieces, cut off, rewound.
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { fixture, rich, Transcript } from "../../../test/coding/transcripts.ts";
import { ENGINES, openOn } from "../../../test/engines.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { FENCE, type Fencing } from "../../core/fence.ts";
import { open } from "../../open.ts";
import { fileOf, refuses } from "../../testing/expect.ts";
import { scaled } from "../../testing/scale.ts";
import { readClaude, withSubagents } from "./claude.ts";
import type { Conversation } from "./conversation.ts";
import { importConversation } from "./import.ts";
import { readOpenCode } from "./opencode.ts";

const claude = (t: Transcript) => readClaude(t.text).conversation;

/** What a session shows of a conversation, without numbers that depend on how often it was imported. */
async function shown(hf: Holdfast, session: string): Promise<unknown> {
  const view = await hf.sessions.at({ session });
  const calls = await view.calls();
  const invocations = await view.invocations();
  return {
    messages: (await hf.history.session(session)).map(({ key, role, content, metadata }) => ({
      key,
      role,
      content,
      metadata,
    })),
    calls: calls
      .map(({ status, model, inputTokens, outputTokens, cachedTokens, costUsd, responseRef }) => ({
        status,
        model,
        inputTokens,
        outputTokens,
        cachedTokens,
        costUsd,
        responseRef,
      }))
      .toSorted((a, b) => String(a.responseRef).localeCompare(String(b.responseRef))),
    turns: (await view.turns()).map(({ status }) => status),
    invocations: invocations.map(({ callee, status, label }) => ({ status, label, of: callee?.split("/").at(-1) })),
    children: await Promise.all(invocations.map(({ callee }) => shown(hf, callee ?? ""))),
  };
}

/** The same store, whose commits fail from the n-th write on: what came before is there, as after a crash. */
function crashing(hf: Holdfast, after: number): Holdfast {
  let left = after;
  const WRITES: Readonly<Record<string, readonly string[]>> = {
    history: ["appendMany"],
    calls: ["add", "start", "finish"],
    turns: ["begin", "finish"],
    heads: ["publish", "compact"],
    invocations: ["start", "finish"],
    sessions: ["create", "update", "rewind"],
  };
  const noun = (name: string, of: object): object =>
    new Proxy(Object.create(null), {
      get: (_, verb) => {
        const found = Reflect.get(of, verb);
        if (typeof found !== "function" || !WRITES[name]?.includes(String(verb))) return found;
        return async (...args: unknown[]) => {
          if (left-- <= 0) throw new Error("crashed");
          return found.apply(of, args);
        };
      },
    });
  const store = (of: object): Holdfast =>
    new Proxy(Object.create(null), {
      get: (_, name) => {
        const found = Reflect.get(of, name);
        if (name === FENCE) return fencing(found);
        return WRITES[String(name)] === undefined ? found : noun(String(name), found as object);
      },
    });
  const fencing = (fenceOf: Fencing[typeof FENCE]) => async (session: string) => {
    const fence = await fenceOf(session);
    const stores = Object.entries(fence.stores).map(([name, of]) => [name, noun(name, of)]);
    return { ...fence, stores: Object.fromEntries(stores) };
  };
  return store(hf);
}

describe.each(ENGINES)("a conversation as a session on $name", (engine) => {
  let hf: Holdfast;
  let n = 0;
  const to = () => ({ session: `s${++n}`, request: "r" });
  beforeAll(async () => {
    const opened = await openOn(engine);
    hf = opened.hf;
    return opened.close;
  });

  const keys = async (session: string) => (await hf.history.session(session)).map(({ key }) => key);

  test("CA7 a real conversation of Claude Code: messages, calls, turns, compaction and its sub-agent; again adds nothing", async () => {
    const id = "agent-af11a538400b63651";
    const meta = JSON.parse(fixture(`claude-2.1.325-${id}.meta.json`).toString());
    const sub = readClaude(fixture(`claude-2.1.325-${id}.jsonl`)).conversation;
    const main = readClaude(fixture("claude-2.1.325.jsonl")).conversation;
    const conversation = withSubagents(main, [{ id, meta, conversation: sub }]);
    const at = to();
    const child = `${at.session}/${id}`;
    expect(await importConversation(hf, conversation, at)).toEqual({
      session: at.session,
      messages: 27,
      calls: 10,
      rewound: false,
      subagents: [{ session: child, messages: 4, calls: 2, rewound: false, subagents: [] }],
    });
    const before = await hf.sessions.get(at.session);
    expect(await importConversation(hf, conversation, at)).toMatchObject({ messages: 0, calls: 0 });
    const after = await hf.sessions.get(at.session);
    expect(after).toEqual(before);
    expect(after).toMatchObject({ agent: "claude-code", request: "r", metadata: { coding: { version: "2.1.325" } } });

    const view = await hf.sessions.at(at.session);
    expect((await view.turns()).map(({ status }) => status)).toEqual(["done", "done", "done", "done"]);
    expect(await view.invocations()).toMatchObject([{ callee: child, status: "done", label: "look around" }]);
    expect((await hf.sessions.cost(at.session)).total).toMatchObject({ calls: 10, costUsd: 0, unknownCosts: 10 });
    const { messages, compaction } = await hf.sessions.context(at.session);
    expect(messages[0]?.content[0]).toMatchObject({ text: expect.stringContaining("Fake summary") });
    expect(compaction).not.toBeNull();
    expect(messages.some(({ repaired }) => repaired)).toBe(false);

    const archive = await fileOf(hf, at.session);
    await using fresh = await open(":memory:");
    await fresh.sessions.import([archive]);
    expect(await fresh.history.session(at.session)).toEqual(await hf.history.session(at.session));
    const find = `[:find ?c :in $ ?s :where [?c :call/session ?s] [?c :call/model "claude-sonnet-4-5"]]`;
    const asked = await hf.query(find, [at.session]);
    expect(asked).toHaveLength(10);
    expect(JSON.stringify(await hf.sessions.tree(at.session))).toContain(child);
  });

  test("CA7 QU1 the tools that were called can be asked for, also those of a later import", async () => {
    const t = new Transcript("tools");
    t.prompt("go");
    t.tools("Bash", "Read", "Bash");
    const at = to();
    await hf.sessions.create({ id: at.session, request: at.request, tags: ["mine"] });
    await importConversation(hf, claude(t), at);
    t.tools("mcp__db__query");
    t.answer([{ type: "tool_use", id: "h", name: "\0\ud800", input: {} }]);
    for (let i = 0; i < 300; i++) t.answer([{ type: "tool_use", id: `m${i}`, name: `many-${i}`, input: {} }]);
    await importConversation(hf, claude(t), at);
    const before = await hf.sessions.get(at.session);
    await importConversation(hf, claude(t), at);
    expect(await hf.sessions.get(at.session)).toEqual(before);
    expect(before?.tags.slice(0, 4)).toEqual(["mine", "tool:Bash", "tool:Read", "tool:mcp__db__query"]);
    expect(before?.tags).toHaveLength(101);
    const asked = await hf.query(
      `[:find ?id :in $ ?r ?t :where [?s :session/request ?r] [?s :session/tag ?t] [?s :session/id ?id]]`,
      ["r", "tool:mcp__db__query"],
    );
    expect(asked).toEqual([[at.session]]);
  });

  test("CA7 a real conversation of OpenCode, with its child", async () => {
    const read = readOpenCode(fixture("opencode-1.18.33.json"), [fixture("opencode-1.18.33-child.json")]);
    const at = to();
    expect(await importConversation(hf, read.conversation, at)).toMatchObject({ messages: 16, calls: 7 });
    expect(await importConversation(hf, read.conversation, at)).toMatchObject({ messages: 0, calls: 0 });
    expect(await shown(hf, at.session)).toMatchObject({ invocations: [{ status: "done" }], turns: ["done", "done"] });
  });

  test("CA7 in any number of increments it is what it is when it is imported at once", async () => {
    const t = rich("inc", 2);
    const agent = rich("agent", 1);
    const launch = { type: "tool_use", id: "go", name: "Agent", input: { prompt: "look" } };
    t.prompt("with help");
    t.answer([launch]);
    t.result("go", "found");
    t.say("all done");
    const side = agent.text.replaceAll('"isSidechain":false', '"isSidechain":true');
    const part = (mainLines: number, agentLines: number): Conversation => {
      const main = readClaude(
        t.lines
          .slice(0, mainLines)
          .map((line) => `${line}\n`)
          .join(""),
      ).conversation;
      const own = readClaude(side.split("\n").slice(0, agentLines).join("\n")).conversation;
      const meta = { toolUseId: "go", description: "help" };
      return agentLines === 0 ? main : withSubagents(main, [{ id: "agent-1", meta, conversation: own }]);
    };
    const all = part(t.lines.length, agent.lines.length);
    const once = to();
    await importConversation(hf, all, once);
    const expected = await shown(hf, once.session);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(t.lines.length), { maxLength: 5 }), async (cuts) => {
        const at = to();
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          const launched = Math.max(0, cut - (t.lines.length - 3));
          await importConversation(hf, part(cut, Math.min(launched * 4, agent.lines.length)), at);
        }
        await importConversation(hf, all, at);
        expect(await shown(hf, at.session)).toEqual(expected);
        expect(await importConversation(hf, all, at)).toMatchObject({ messages: 0, calls: 0, rewound: false });
      }),
      { numRuns: scaled({ short: engine.name === "sqlite" ? 5 : 2, long: 12 }) },
    );
  });

  test("CA7 cut off between any two commits, the next import completes it", async () => {
    const t = rich("crash", 2);
    const conversation = withSubagents(claude(t), [
      {
        id: "agent-1",
        meta: { toolUseId: t.text.match(/toolu_crash_\d+_Bash/)?.[0] },
        conversation: claude(rich("sub", 1)),
      },
    ]);
    const once = to();
    await importConversation(hf, conversation, once);
    const expected = await shown(hf, once.session);
    const step = scaled({ short: engine.name === "sqlite" ? 2 : 4, long: 1 });
    for (let writes = 0; ; writes += step) {
      const at = to();
      const cut = await importConversation(crashing(hf, writes), conversation, at).then(
        () => false,
        (error: Error) => error.message === "crashed" || Promise.reject(error),
      );
      await importConversation(hf, conversation, at);
      expect(await shown(hf, at.session)).toEqual(expected);
      if (!cut) {
        expect(writes).toBeGreaterThan(15);
        break;
      }
    }
  });

  test("CA7 where the agent went back, the session does too; what it left stays, and is paid for once", async () => {
    const t = new Transcript("back");
    t.prompt("one");
    const first = t.say("first");
    t.prompt("two");
    t.tools("Bash");
    const inTurn = t.leaf;
    t.say("second");
    const at = to();
    await importConversation(hf, claude(t), at);
    const old = await hf.heads.current(at.session);
    const was = await keys(at.session);

    // To the end of a turn.
    t.leaf = first;
    t.prompt("another two");
    t.say("another second");
    expect(await importConversation(hf, claude(t), at)).toMatchObject({ messages: 2, calls: 1, rewound: true });
    expect(await keys(at.session)).toEqual(claude(t).messages.map(({ key }) => key));
    const left = await (await hf.sessions.at({ session: at.session, head: old?.id ?? "" })).messages();
    expect(left.map((message) => ("key" in message ? message.key : null))).toEqual(was);

    // Into the middle of a turn on the line that was left: what is said again there is not paid for again.
    t.leaf = inTurn;
    t.say("third");
    expect(await importConversation(hf, claude(t), at)).toMatchObject({ calls: 1, rewound: true });
    expect(await keys(at.session)).toEqual(claude(t).messages.map(({ key }) => key));
    expect((await hf.sessions.cost(at.session)).total.calls).toBe(5);

    // To the very beginning, and cut off between going back and going on.
    t.leaf = null;
    t.prompt("from scratch");
    await importConversation(crashing(hf, 1), claude(t), at).catch(() => undefined);
    await importConversation(hf, claude(t), at);
    expect(await keys(at.session)).toEqual([t.leaf]);
    expect(await importConversation(hf, claude(t), at)).toMatchObject({ messages: 0, calls: 0, rewound: false });
  });

  test("CA7 what an import that was cut off had brought stays reachable when the agent goes back", async () => {
    const t = new Transcript("unpublished");
    t.prompt("one");
    const first = t.say("first");
    const at = to();
    await importConversation(hf, claude(t), at);
    t.prompt("two");
    // Its turn and its message are there, and no head.
    await importConversation(crashing(hf, 2), claude(t), at).catch(() => undefined);
    const was = await keys(at.session);
    expect(was).toHaveLength(3);
    t.leaf = first;
    t.prompt("another two");
    await importConversation(hf, claude(t), at);
    const heads = (await hf.heads.list(at.session)).items;
    const lines = await Promise.all(
      heads.map(async ({ id }) => (await hf.sessions.at({ session: at.session, head: id })).messages()),
    );
    expect(lines.map((line) => line.map((one) => ("key" in one ? one.key : null)))).toContainEqual(was);
  });

  test("CA7 a sub-agent in the background has a result at once, and is over when it has come to rest", async () => {
    const t = new Transcript("async");
    t.prompt("go");
    t.answer([{ type: "tool_use", id: "bg", name: "Agent", input: {} }]);
    t.result("bg", "launched");
    t.say("it is on its way");
    const agent = new Transcript("bg");
    agent.prompt("look");
    agent.answer([{ type: "tool_use", id: "ls", name: "Bash", input: {} }]);
    const both = () =>
      withSubagents(claude(t), [{ id: "agent-1", meta: { toolUseId: "bg" }, conversation: claude(agent) }]);
    const at = to();
    await importConversation(hf, both(), at);
    expect(await shown(hf, at.session)).toMatchObject({ invocations: [{ status: "running" }] });
    agent.result("ls", "a.txt");
    agent.say("a.txt");
    expect(await importConversation(hf, both(), at)).toMatchObject({ messages: 0, subagents: [{ messages: 2 }] });
    expect(await shown(hf, at.session)).toMatchObject({ invocations: [{ status: "done" }] });
  });

  test("CA7 an older capture takes nothing back", async () => {
    const t = rich("older", 2);
    const at = to();
    await importConversation(hf, claude(t), at);
    const all = await keys(at.session);
    const older = readClaude(
      t.lines
        .slice(0, 12)
        .map((line) => `${line}\n`)
        .join(""),
    ).conversation;
    expect(await importConversation(hf, older, at)).toMatchObject({ messages: 0, rewound: false });
    expect(await keys(at.session)).toEqual(all);
  });

  test("CA7 killed in the middle of a tool, the call is open, and its turn", async () => {
    const t = rich("killed", 1);
    t.prompt("run it");
    t.answer([{ type: "tool_use", id: "forever", name: "Bash", input: { command: "sleep 1d" } }]);
    const at = to();
    await importConversation(hf, claude(t), at);
    expect(await shown(hf, at.session)).toMatchObject({ turns: ["done", "open"] });
    const { messages } = await hf.sessions.context(at.session);
    expect(messages.at(-1)).toMatchObject({ repaired: true, content: [{ toolUseId: "forever", isError: true }] });
    t.result("forever", "[interrupted]");
    t.say("sorry");
    expect(await importConversation(hf, claude(t), at)).toMatchObject({ messages: 2, calls: 1, rewound: false });
    expect(await shown(hf, at.session)).toMatchObject({ turns: ["done", "done"] });
  });

  test("CA7 a call that is under way is recorded, and ends with the rest of its answer", async () => {
    const t = new Transcript("way");
    t.prompt("go");
    const early = { id: "m1", stop_reason: null, usage: { input_tokens: 5, output_tokens: 1 } };
    t.answer([{ type: "thinking", thinking: "…" }], early);
    const at = to();
    await importConversation(hf, claude(t), at);
    expect(await shown(hf, at.session)).toMatchObject({ calls: [{ status: "started", outputTokens: null }] });
    t.answer([{ type: "text", text: "done" }], {
      ...early,
      stop_reason: "end_turn",
      usage: { input_tokens: 5, output_tokens: 9 },
    });
    expect(await importConversation(hf, claude(t), at)).toMatchObject({ messages: 1, calls: 0 });
    expect(await shown(hf, at.session)).toMatchObject({ calls: [{ status: "done", outputTokens: 9, costUsd: null }] });
  });

  test("CA7 what was erased is not brought back, nor is a deleted sub-agent", async () => {
    const t = rich("erased", 1);
    const conversation = withSubagents(claude(t), [{ id: "agent-1", conversation: claude(rich("gone", 1)) }]);
    const at = to();
    await importConversation(hf, conversation, at);
    await hf.history.clear({ session: at.session, agent: "claude-code" });
    await hf.sessions.delete(`${at.session}/agent-1`);
    t.prompt("more");
    const more = withSubagents(claude(t), [{ id: "agent-1", conversation: claude(rich("gone", 1)) }]);
    expect(await importConversation(hf, more, at)).toMatchObject({ messages: 1, subagents: [] });
    expect(await keys(at.session)).toEqual([t.leaf]);
  });

  test("CA7 hostile text is kept as it is, and the store is sound after all of this", async () => {
    const t = new Transcript("hostile");
    t.prompt("NUL \0, half \ud83d, esc \u001b[2J", { cwd: "/\ud800\0" });
    t.answer([{ type: "tool_use", id: "\0\ud800", name: "\u202e", input: { "\0": "\udfff" } }], { model: "\0" });
    t.result("\0\ud800", [{ type: "tool_result", tool_use_id: "x", content: [{ type: "text", text: "\0" }] }]);
    const at = to();
    await importConversation(hf, claude(t), at);
    const [first] = await hf.history.session(at.session);
    expect(first?.content).toEqual([{ type: "text", text: "NUL \0, half \ud83d, esc \u001b[2J" }]);
    const fork = await hf.sessions.fork(at.session);
    await refuses("InvalidArgument", () => importConversation(hf, claude(t), { session: fork.id, request: "r" }));
    expect(await hf.check()).toMatchObject({ status: "ok", issueCount: 0 });
  });
});
