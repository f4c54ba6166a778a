// The suite of the log contract: contiguous seqs, a hash chain that can be recomputed, and reads. The live tail is in
// the file beside.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { LIMITS } from "../../contracts/limits.ts";
import { EVENT_SCHEMA_VERSION, type LogEvent } from "../../contracts/log.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { logTailCases } from "./log-tail.ts";

export function runLogSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `log: ${name}`,
    [...chainCases, ...verifyCases, ...readCases, ...annotationCases, ...logTailCases],
    make,
    options,
  );
}

type Writers = Pick<CaseContext, "sessions" | "history" | "state" | "tasks" | "log">;

const WRITERS = ["sessions", "history", "state", "tasks", "log"] as const;

/** One event of every kind that a session's log can have before the session is erased. */
async function everyKind(store: Writers, session: string): Promise<void> {
  const scope = { session, agent: "helper" };
  await store.sessions.create({ id: session, title: "t" });
  await store.sessions.update(session, { title: "ü" });
  await store.sessions.setAlias(session, `${session}-name`);
  await store.sessions.removeAlias(`${session}-name`);
  await store.history.append(scope, { role: "user", content: "hello, wörld" }, { run: "r1" });
  await store.history.clear(scope);
  await store.state.set(session, { a: 1 });
  await store.state.patch(session, { b: 2 });
  await store.state.clear(session);
  const board = await store.tasks.create(session, ["one"]);
  await store.tasks.create(session, ["two"]);
  const [task] = await store.tasks.add(board.id, ["three"]);
  await store.tasks.move(board.id, present(task).id, "in_progress", { note: "noted" });
  await store.tasks.delete(board.id, present(task).id);
  await store.log.annotate(session, { why: "because" }, { agent: "helper", run: "r1" });
}

const KINDS = [
  "session/created",
  "session/updated",
  "alias/set",
  "alias/removed",
  "message/added",
  "messages/cleared",
  "state/set",
  "state/patched",
  "state/cleared",
  "board/created",
  "board/replaced",
  "task/added",
  "task/updated",
  "task/removed",
  "annotation",
];

/** RFC 8785 for what events hold, written here again on purpose: the suite must not trust the code it proves. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}

/** The bytes that are hashed: every column of the event. What an event does not have is not in its envelope. */
function envelope({ seq, type, at, schemaVersion, agent, run, data, commitments }: LogEvent): string {
  const filled = (object: object) => Object.keys(object).length > 0;
  return canonical({
    ...(agent === undefined ? {} : { agent }),
    ...(run === undefined ? {} : { run }),
    ...(filled(data) ? { data } : {}),
    ...(filled(commitments) ? { commitments } : {}),
    seq,
    type,
    at,
    v: schemaVersion,
  });
}

function chainOf(session: string, events: readonly LogEvent[]): string[] {
  let previous = createHash("sha256").update(`holdfast/1\n${session}`, "utf8").digest();
  return events.map((event) => {
    previous = createHash("sha256").update(previous).update(envelope(event), "utf8").digest();
    return previous.toString("hex");
  });
}

const chainCases: readonly Case[] = [
  prove("LG1 seqs are contiguous from 1 over all kinds of events", WRITERS, async (store) => {
    await everyKind(store, "chat");
    const events = await store.log.read("chat");
    assert.deepEqual(
      events.map(({ seq }) => seq),
      range(events.length).map((n) => n + 1),
    );
    assert.ok(
      events.every(({ session, schemaVersion }) => session === "chat" && schemaVersion === EVENT_SCHEMA_VERSION),
    );
    const kinds = new Set(events.map(({ type }) => type));
    assert.deepEqual([...kinds].toSorted(), KINDS.toSorted());
  }),

  prove("LG2 the chain can be computed again from the events and the session's id", WRITERS, async (store) => {
    for (const session of ["chat", "öther\u202e😀 'session'"]) {
      await everyKind(store, session);
      const events = await store.log.read(session);
      assert.deepEqual(
        events.map(({ hash }) => hash),
        chainOf(session, events),
      );
      const { seq, chain } = present(await store.sessions.get(session));
      assert.equal(seq, events.length, "the session row holds the length");
      assert.equal(chain, events.at(-1)?.hash, "and the head");
    }
  }),

  prove("LG2 equal payloads have different commitments", ["history", "log"], async ({ history, log }) => {
    const scope = { session: "chat", agent: "helper" };
    for (const _ of range(3)) await history.append(scope, { role: "user", content: "yes" });
    const added = await log.read("chat", { types: ["message/added"] });
    const commitments = added.flatMap((event) => Object.values(event.commitments));
    assert.equal(commitments.length, 3);
    assert.equal(new Set(commitments).size, 3, "an erased short text cannot be confirmed by guessing");
    for (const one of commitments) assert.match(one, /^[A-Za-z0-9_-]{43}$/);
  }),

  prove("LG5 events are compact and repeat no text", WRITERS, async (store) => {
    const secret = "zanzibar ".repeat(2_000);
    const scope = { session: "chat", agent: "helper" };
    await store.history.append(scope, { role: "user", content: secret, metadata: { secret } });
    await store.state.set("chat", { key: secret });
    await store.log.annotate("chat", { secret });
    const board = await store.tasks.create("chat", ["zanzibar"]);
    await store.tasks.move(board.id, present(board.tasks[0]).id, "blocked", { note: "zanzibar" });
    const text = JSON.stringify(await store.log.read("chat"));
    assert.ok(!text.includes("zanzibar"));
    assert.ok(text.length < 6 * 1_000, `six events take ${text.length} characters`);
  }),

  prove("LG1 writers of every kind at once leave one contiguous, true chain", WRITERS, async (store) => {
    const scope = { session: "chat", agent: "helper" };
    const board = await store.tasks.create("chat", ["one"]);
    const work = range(10).flatMap((n) => [
      store.history.append(scope, { role: "user", content: `${n}` }),
      store.state.patch("chat", { [`k${n}`]: n }),
      store.tasks.add(board.id, [`t${n}`]),
      store.log.annotate("chat", { n }),
      store.sessions.update("chat", { title: `${n}` }),
    ]);
    await Promise.all(work);
    const events = await store.log.read("chat");
    assert.deepEqual(
      events.map(({ seq }) => seq),
      range(events.length).map((n) => n + 1),
    );
    assert.deepEqual(
      events.map(({ hash }) => hash),
      chainOf("chat", events),
    );
    assert.equal((await store.log.verify("chat")).ok, true);
  }),

  prove("LG2 two handles that write at once leave one true chain", ["history", "log", "another"], async (nouns) => {
    const other = await nouns.another();
    const scope = { session: "chat", agent: "helper" };
    const append = (history: typeof nouns.history) =>
      Promise.all(range(30).map((n) => history.append(scope, { role: "user", content: `${n}` })));
    await Promise.all([append(nouns.history), append(other.history)]);
    const events = await nouns.log.read("chat");
    assert.equal(events.length, 61);
    assert.deepEqual(
      events.map(({ hash }) => hash),
      chainOf("chat", events),
    );
    assert.equal((await other.log.verify("chat")).ok, true);
  }),
];

const scope = { session: "chat", agent: "helper" };

const verifyCases: readonly Case[] = [
  prove("LG4 verify answers with the length and the head", ["history", "log"], async ({ history, log }) => {
    await history.appendMany(
      scope,
      range(20).map((n) => ({ role: "user", content: `${n}` })),
    );
    const head = present((await log.read("chat")).at(-1));
    assert.deepEqual(await log.verify("chat"), { ok: true, session: "chat", events: 21, seq: 21, hash: head.hash });
    assert.deepEqual(await log.anchor("chat"), { session: "chat", seq: 21, hash: head.hash });
  }),

  prove("LG4 verify from a trusted point covers what follows it", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, { role: "user", content: "one" });
    const from = await log.anchor("chat");
    const nothing = await log.verify("chat", { from });
    assert.deepEqual(nothing, { ok: true, session: "chat", events: 0, seq: from.seq, hash: from.hash });
    await history.append(scope, { role: "user", content: "two" });
    await history.append(scope, { role: "user", content: "three" });
    const report = await log.verify("chat", { from });
    assert.ok(report.ok);
    assert.equal(report.events, 2);
    assert.equal(report.seq, from.seq + 2);
    const lie = await log.verify("chat", { from: { ...from, hash: "0".repeat(64) } });
    assert.equal(lie.ok, false, "a point that never was does not lead to what is there");
  }),

  prove("LG4 an anchor kept elsewhere must still hold", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, { role: "user", content: "one" });
    const anchor = await log.anchor("chat");
    await history.append(scope, { role: "user", content: "two" });
    assert.equal((await log.verify("chat", { anchor })).ok, true);
    const lie = await log.verify("chat", { anchor: { ...anchor, hash: "f".repeat(64) } });
    assert.ok(!lie.ok && lie.badSeq === anchor.seq, JSON.stringify(lie));
    const beyond = await log.verify("chat", { anchor: { ...anchor, seq: 99 } });
    assert.ok(!beyond.ok, "a log that ends before the anchor was cut off");
  }),

  prove("LG4 an anchor before the trusted point must hold too", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, { role: "user", content: "one" });
    const anchor = await log.anchor("chat");
    await history.append(scope, { role: "user", content: "two" });
    const from = await log.anchor("chat");
    await history.append(scope, { role: "user", content: "three" });
    assert.equal((await log.verify("chat", { from, anchor })).ok, true);
    assert.equal((await log.verify("chat", { from, anchor: from })).ok, true);
    for (const point of [anchor, from]) {
      const lie = await log.verify("chat", { from, anchor: { ...point, hash: "f".repeat(64) } });
      assert.equal(lie.ok, false, `an anchor at ${point.seq} was not looked at`);
    }
  }),

  prove("ST7 a session that is not there has nothing to verify", ["log", "sessions"], async ({ log, sessions }) => {
    await refuses("NotFound", () => log.verify("nobody"));
    await refuses("NotFound", () => log.anchor("nobody"));
    assert.equal(await sessions.get("nobody"), null);
  }),
];

const readCases: readonly Case[] = [
  prove("LG1 read pages by seq", ["history", "log"], async ({ history, log }) => {
    await history.appendMany(
      scope,
      range(30).map((n) => ({ role: "user", content: `${n}` })),
    );
    const all = await log.read("chat");
    assert.equal(all.length, 31);
    assert.deepEqual(await log.read("chat", { after: 10 }), all.slice(10));
    assert.deepEqual(await log.read("chat", { limit: 5 }), all.slice(0, 5));
    assert.deepEqual(await log.read("chat", { after: 10, limit: 5 }), all.slice(10, 15));
    assert.deepEqual(await log.read("chat", { after: 31 }), []);
    assert.deepEqual(await log.read("chat", { after: 1_000_000 }), []);
    await refuses("LimitExceeded", () => log.read("chat", { limit: LIMITS.eventsPage + 1 }));
  }),

  prove("LG1 read by type counts only what it gives", ["history", "state", "log"], async ({ history, state, log }) => {
    for (const n of range(6)) {
      await history.append(scope, { role: "user", content: `${n}` });
      await state.patch("chat", { n });
    }
    const all = await log.read("chat");
    const patched = all.filter(({ type }) => type === "state/patched");
    assert.deepEqual(await log.read("chat", { types: ["state/patched"] }), patched);
    assert.deepEqual(await log.read("chat", { types: ["state/patched"], limit: 3 }), patched.slice(0, 3));
    const after = present(patched[2]).seq;
    assert.deepEqual(await log.read("chat", { types: ["state/patched"], after, limit: 2 }), patched.slice(3, 5));
    assert.deepEqual(await log.read("chat", { types: ["state/patched", "message/added"] }), all.slice(1));
    assert.deepEqual(await log.read("chat", { types: ["no/such"] }), []);
  }),

  prove("LG5 an event says who, in which run, and when", ["history", "log", "clock"], async (nouns) => {
    const { history, log, clock } = nouns;
    const before = clock.now();
    const message = await history.append(scope, { role: "user", content: "hi" }, { run: "r1" });
    const event = present((await log.read("chat", { types: ["message/added"] }))[0]);
    assert.equal(event.seq, message.seq);
    assert.equal(event.agent, "helper");
    assert.equal(event.run, "r1");
    assert.equal(event.at, message.at);
    assert.ok(event.at >= before && event.at <= clock.now());
    const plain = present((await log.read("chat", { types: ["session/created"] }))[0]);
    assert.ok(!("run" in plain));
  }),

  prove(
    "LG6 the log of a deleted session is gone",
    ["history", "sessions", "log"],
    async ({ history, sessions, log }) => {
      await history.append(scope, { role: "user", content: "hi" });
      await sessions.delete("chat");
      const left = await log
        .read("chat")
        .catch((error) => refuses(["NotFound", "SessionDeleted"], () => Promise.reject(error)));
      if (Array.isArray(left))
        assert.ok(
          left.every(({ type }) => type === "session/erased"),
          JSON.stringify(left),
        );
    },
  ),
];

const annotationCases: readonly Case[] = [
  prove("LG5 an annotation is an event with a payload of its own", ["log", "sessions"], async ({ log, sessions }) => {
    await sessions.create({ id: "chat" });
    const event = await log.annotate("chat", { seen: "by a person" }, { agent: "ops", run: "r9" });
    assert.equal(event.type, "annotation");
    assert.deepEqual(await log.note("chat", event.seq), { seen: "by a person" });
    assert.equal(await log.note("chat", 1), null);
    assert.equal(await log.note("chat", 1_000), null);
    await refuses("NotFound", () => log.note("nowhere", 1));
    assert.equal(event.seq, 2);
    assert.equal(event.agent, "ops");
    assert.equal(event.run, "r9");
    assert.equal(Object.keys(event.commitments).length, 1);
    assert.ok(!JSON.stringify(event).includes("by a person"));
    assert.deepEqual(await log.read("chat", { after: 1 }), [event]);
    assert.equal((await log.verify("chat")).ok, true);
  }),

  prove("ST8 an annotation that is no JSON object, or too large, is refused", ["log", "sessions"], async (nouns) => {
    const { log, sessions } = nouns;
    await sessions.create({ id: "chat" });
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    await refuses("InvalidJson", () => log.annotate("chat", cycle as Record<string, never>));
    await refuses("LimitExceeded", () => log.annotate("chat", { text: "x".repeat(LIMITS.messageBytes + 1) }));
    assert.equal((await log.read("chat")).length, 1);
  }),
];
