// The suite of the event stream and the trace: what happened, what it was about, and what it was caused by.
import assert from "node:assert/strict";
import type { TraceEvent } from "../../contracts/trace.ts";
import { fillStore } from "../everything.ts";
import { present, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";

export function runTraceSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`trace: ${name}`, cases, make, options);
}

const NEEDS = [
  "trace",
  "causes",
  "agents",
  "sessions",
  "history",
  "state",
  "tasks",
  "memory",
  "blobs",
  "log",
  "lineage",
] as const;

function typed(events: readonly TraceEvent[], type: string): readonly TraceEvent[] {
  return events.filter((event) => event.type === type);
}

const kinds = ({ causes }: TraceEvent) => causes.map(({ kind }) => kind);

const cases: readonly Case[] = [
  prove("SE9 the trace is the event stream, each with summary, row and causes", NEEDS, async (nouns) => {
    const { chat } = await fillStore(nouns);
    const stream = await nouns.log.read(chat);
    const traced = await nouns.trace(chat);
    const bare = traced.map(({ id, branch, summary, row, causes, causeEventIds, ...event }) => event);
    assert.deepEqual(bare, stream);
    for (const { id, seq, summary, causes, causeEventIds } of traced) {
      assert.equal(id, `${chat}#${seq}`);
      assert.ok(
        summary.length > 0 && summary.length <= 120 && !summary.includes("\n") && !/undefined/.test(summary),
        summary,
      );
      assert.ok(causeEventIds.length <= causes.length);
    }
    const some = await nouns.trace(chat, { after: 5, limit: 2, types: ["call/put", "eval/added"] });
    const wanted = stream.filter(({ seq, type }) => seq > 5 && (type === "call/put" || type === "eval/added"));
    assert.deepEqual(
      some.map(({ seq }) => seq),
      wanted.slice(0, 2).map(({ seq }) => seq),
    );
    const inPages: TraceEvent[] = [];
    for (let after = 0; after < traced.length; after += 3)
      inPages.push(...(await nouns.trace(chat, { after, limit: 3 })));
    assert.deepEqual(inPages, traced, "a page knows what was before it");
  }),

  prove("SE9 the event stream can be read by seq and type", NEEDS, async (nouns) => {
    const { chat } = await fillStore(nouns);
    const all = await nouns.log.read(chat);
    assert.deepEqual(
      all.map(({ seq }) => seq),
      all.map((_, i) => i + 1),
    );
    const heads = await nouns.log.read(chat, { types: ["head/created"], after: 1, limit: 2 });
    assert.deepEqual(heads, all.filter(({ type }) => type === "head/created").slice(0, 2));
  }),

  prove("SE9 rows name what caused them", NEEDS, async (nouns) => {
    const filled = await fillStore(nouns);
    const events = await nouns.trace(filled.chat);
    const [asked] = typed(events, "message/added");
    assert.deepEqual(asked?.causes, [{ kind: "turn", id: filled.turn }]);
    assert.deepEqual(asked?.row, { kind: "message", id: asked?.id, facts: { key: "k-1", role: "user" } });
    const [started] = typed(events, "call/started");
    const [put, leaf] = typed(events, "call/put");
    assert.deepEqual([started?.id, put?.row?.id, leaf?.row?.id], [filled.rootCall, filled.rootCall, filled.leafCall]);
    assert.deepEqual(put?.causes, [
      { kind: "call", id: filled.rootCall },
      { kind: "turn", id: filled.turn },
    ]);
    assert.deepEqual(put?.causeEventIds, [filled.rootCall, filled.turn]);
    const [ran] = typed(events, "eval/started");
    assert.deepEqual(ran?.causes, [
      { kind: "message", id: asked?.id },
      { kind: "turn", id: filled.turn },
    ]);
    const heads = typed(events, "head/created");
    assert.deepEqual(kinds(present(heads[0])), ["turn", "snapshot", "event"]);
    const [, saved] = typed(events, "snapshot/added");
    assert.equal(heads[0]?.causes[1]?.id, saved?.id, "the variables stored with it");
    assert.equal(heads[0]?.causes[2]?.id, `${filled.chat}#${present(saved).seq - 1}`, "what happened last before that");
    assert.equal(heads[0]?.row?.facts.status, "complete");
    assert.deepEqual(heads[1]?.causes[1], { kind: "head", id: filled.heads[0] });
    assert.ok(heads[1]?.causeEventIds.includes(present(heads[0]).id));
    // On what it was made, the summary that a compaction wrote, and the last that happened before that.
    const summary = present(typed(events, "message/added").find(({ seq }) => seq === present(heads[3]).seq - 1));
    assert.deepEqual(heads[3]?.causes, [
      { kind: "head", id: filled.heads[0] },
      { kind: "message", id: summary.id },
      { kind: "event", id: `${filled.chat}#${summary.seq - 1}` },
    ]);
    for (const event of typed(events, "branch/begun")) assert.deepEqual(kinds(event), ["head", "event"]);
    const [back] = typed(events, "head/moved");
    assert.deepEqual(back?.causes.slice(0, 2), [
      { kind: "head", id: filled.heads[0] },
      { kind: "head", id: filled.heads[3] },
    ]);
    const after = typed(events, "message/added").at(-1);
    assert.deepEqual(after?.causes, [], "no turn was open");
    const erased = typed(events, "message/added").filter(({ row }) => row?.facts.erased === true);
    assert.equal(erased.length, 2);
    const [derived] = typed(await nouns.trace(filled.fork), "derivation/added");
    assert.deepEqual(derived?.causes, [{ kind: "head", id: filled.heads[3] }]);
    assert.deepEqual(derived?.causeEventIds, [present(heads[3]).id], "of another session");
    const [inFork] = typed(await nouns.trace(filled.fork), "head/created");
    assert.deepEqual(
      inFork?.causes[0],
      { kind: "head", id: filled.heads[3] },
      "the first of a fork, on what it continues",
    );
    const [split] = typed(await nouns.trace(filled.split), "head/created");
    assert.deepEqual(split?.causes[0], { kind: "event", id: `${filled.chat}#5` }, "or on the message it was cut at");
  }),

  prove("SE9 the error of an invocation says whose it is, and is caused by it", NEEDS, async (nouns) => {
    await nouns.sessions.create({ id: "caller" });
    const failing = nouns.lineage.invocations.spawn("caller", { session: { id: "callee" } }, async () => {
      throw new Error("no luck");
    });
    await assert.rejects(failing, /no luck/);
    await nouns.log.annotate("caller", { of: "the caller" }, { agent: "ada" });
    const traced = await nouns.trace("caller");
    const [started] = typed(traced, "invocation/started");
    const [error, note] = typed(traced, "annotation");
    assert.equal(error?.summary, `the error of invocation caller#${started?.seq}`);
    assert.deepEqual(error?.causes, [{ kind: "invocation", id: started?.id }]);
    assert.equal(note?.summary, "a note of ada");
    const { causes } = await nouns.causes(error?.id ?? "");
    assert.ok(causes.some(({ id }) => id === started?.id));
  }),

  prove("SE9 causes are walked breadth first, across sessions, each once and within a limit", NEEDS, async (nouns) => {
    const filled = await fillStore(nouns);
    const head = present(typed(await nouns.trace(filled.fork), "head/created")[0]);
    const { event, causes, more } = await nouns.causes(head.id);
    assert.deepEqual(event, head);
    assert.equal(more, false);
    const ids = causes.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const events = await nouns.trace(filled.chat);
    const first = present(typed(events, "head/created")[0]);
    const [root] = (await nouns.causes(`${filled.fork}#1`)).causes;
    assert.equal(root?.session, filled.chat);
    const derived = await nouns.causes(`${filled.fork}#2`);
    assert.ok(
      derived.causes.some(({ id }) => id === first.id),
      "the basis of the head it was forked from",
    );
    assert.ok(
      derived.causes.some(({ id }) => id === filled.turn),
      "the turn of that",
    );
    const near = await nouns.causes(`${filled.fork}#2`, { limit: 1 });
    assert.deepEqual(near, { event: derived.event, causes: derived.causes.slice(0, 1), more: true });
    await nouns.sessions.delete(filled.chat);
    assert.deepEqual((await nouns.causes(`${filled.fork}#2`)).causes, [], "what was erased is left out");
  }),

  prove("SE9 the trace never holds text or payloads", NEEDS, async (nouns) => {
    const { chat } = await fillStore(nouns);
    const said = JSON.stringify(await nouns.trace(chat));
    for (const text of ["hello", "word after word", "1 + 1", "by hand", "be kind", "thrown", "in short", "All of it"]) {
      assert.ok(!said.includes(text), `the trace says ${text}`);
    }
  }),

  prove("SE9 what is asked of a trace must make sense", NEEDS, async (nouns) => {
    await fillStore(nouns);
    await refuses("NotFound", () => nouns.trace("nobody"));
    await refuses("LimitExceeded", () => nouns.trace("chat", { limit: 10_001 }));
    await refuses("InvalidArgument", () => nouns.trace("chat", { before: 3 } as never));
    await refuses("InvalidArgument", () => nouns.causes("chat"));
    await refuses("NotFound", () => nouns.causes("chat#9999"));
    await refuses("NotFound", () => nouns.causes("nobody#1"));
    await refuses("LimitExceeded", () => nouns.causes("chat#1", { limit: 1001 }));
    await refuses("SessionDeleted", () => nouns.trace("gone"));
  }),
];
