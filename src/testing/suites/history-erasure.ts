// History suite: clear and clearRun. They remove exactly what they name, say so, and leave the log verifiable.
import assert from "node:assert/strict";
import { present, prose, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const scope = { session: "chat", agent: "helper" };
const other = { session: "chat", agent: "other" };
const say = (content: string) => ({ role: "user", content }) as const;

export const historyErasureCases: readonly Case[] = [
  prove("HI1 clear touches only that agent's messages in that session", ["history"], async ({ history }) => {
    await history.appendMany(scope, [say("one"), say("two")]);
    const kept = await history.append(other, say("kept"));
    const elsewhere = await history.append({ ...scope, session: "chat-2" }, say("elsewhere"));
    const erasure = await history.clear(scope);
    assert.equal(erasure.removed.messages, 2);
    assert.deepEqual(await history.get(scope), []);
    assert.equal(await history.count(scope), 0);
    assert.deepEqual(await history.get(other), [kept]);
    assert.deepEqual(await history.session("chat"), [kept]);
    assert.deepEqual(await history.byAgent("helper"), [elsewhere]);
  }),

  prove("HI1 clearRun removes exactly that run's messages of that agent", ["history"], async ({ history }) => {
    const before = await history.append(scope, say("before"));
    await history.appendMany(scope, [say("r1 a"), say("r1 b")], { run: "r1" });
    const r2 = await history.append(scope, say("r2"), { run: "r2" });
    const others = await history.append(other, say("other's r1"), { run: "r1" });
    const erasure = await history.clearRun(scope, "r1");
    assert.equal(erasure.removed.messages, 2);
    assert.deepEqual(await history.get(scope), [before, r2]);
    assert.deepEqual(await history.get(scope, { run: "r1" }), []);
    assert.equal(await history.count(scope, { run: "r1" }), 0);
    assert.deepEqual(await history.get(other), [others]);
    assert.deepEqual(await history.session("chat"), [before, r2, others]);
  }),

  prove("HI1 clearing what is not there removes nothing", ["history"], async ({ history }) => {
    assert.equal((await history.clear(scope)).removed.messages ?? 0, 0);
    const kept = await history.append(scope, say("kept"), { run: "r1" });
    assert.equal((await history.clearRun(scope, "r2")).removed.messages ?? 0, 0);
    assert.equal((await history.clear(other)).removed.messages ?? 0, 0);
    assert.deepEqual(await history.get(scope), [kept]);
  }),

  prove("LG6 seqs continue after a clear, and ranges skip what was cleared", ["history"], async ({ history }) => {
    const old = await history.appendMany(
      scope,
      range(5).map((n) => say(`old ${n}`)),
    );
    await history.clear(scope);
    const fresh = await history.appendMany(
      scope,
      range(3).map((n) => say(`new ${n}`)),
    );
    assert.ok(present(fresh[0]).seq > present(old.at(-1)).seq, "a seq is never used twice");
    assert.deepEqual(await history.get(scope), fresh);
    assert.deepEqual(await history.get(scope, { limit: 1 }), fresh.slice(0, 1));
    assert.deepEqual(await history.get(scope, { offset: 1 }), fresh.slice(1));
    assert.deepEqual(await history.get(scope, { last: 5 }), fresh);
    assert.deepEqual(await history.get(scope, { after: present(old[0]).seq }), fresh);
    assert.equal(await history.count(scope), 3);
  }),

  prove("LG6 clear leaves the chain verifiable and is an event itself", ["history", "log"], async (nouns) => {
    const { history, log } = nouns;
    await history.appendMany(
      scope,
      range(5).map((n) => say(`secret ${n}`)),
      { run: "r1" },
    );
    const anchor = await log.anchor("chat");
    await history.append(scope, say("kept"));
    await history.clearRun(scope, "r1");
    await history.clear(scope);
    const report = await log.verify("chat", { anchor });
    assert.equal(report.ok, true, JSON.stringify(report));
    const events = await log.read("chat");
    assert.equal(events.filter(({ type }) => type === "message/added").length, 6, "events are insert-only");
    assert.equal(events.filter(({ type }) => type === "messages/cleared").length, 2);
    assert.ok(!JSON.stringify(events).includes("secret"));
  }),

  prove("LG6 a session's count of messages follows", ["history", "sessions"], async ({ history, sessions }) => {
    await history.appendMany(scope, [say("one"), say("two")], { run: "r1" });
    await history.append(scope, say("three"));
    await history.append(other, say("four"));
    assert.equal(present(await sessions.get("chat")).messages, 4);
    await history.clearRun(scope, "r1");
    assert.equal(present(await sessions.get("chat")).messages, 2);
    await history.clear(scope);
    assert.equal(present(await sessions.get("chat")).messages, 1);
  }),

  prove("LG6 the words of a cleared message are gone", ["history", "blobs"], async ({ history, blobs }) => {
    const gone = await history.append(scope, say("forget me"));
    const kept = await history.append(scope, say("said twice"));
    const twin = await history.append(other, say("said twice"));
    assert.equal(kept.ref, twin.ref);
    const erasure = await history.clear(scope);
    assert.ok((erasure.removed.bytes ?? 0) >= 1, JSON.stringify(erasure));
    await refuses(["BlobNotFound", "BlobExpired"], () => blobs.resolve(gone.ref));
    assert.ok((await blobs.resolve(twin.ref)).byteLength > 0);
    assert.deepEqual(await history.get(other), [twin]);
  }),

  prove(
    "LG6 a message that was sent twice is erased whole",
    ["history", "blobs", "stats", "another"],
    async (nouns) => {
      const { history, blobs, stats, another } = nouns;
      const { history: elsewhere } = await another();
      for (const size of [2_000, 1_500_000]) {
        const message = { role: "user", key: "once", content: Buffer.from(prose(size, 1)).toString() } as const;
        const sent = await Promise.all([history.append(scope, message), elsewhere.append(scope, message)]);
        sent.push(await history.append(scope, message));
        assert.equal(new Set(sent.map(({ seq }) => seq)).size, 1, "it is one message");
        await refuses("Conflict", () =>
          history.append(scope, { ...message, content: Buffer.from(prose(size, 2)).toString() }),
        );
        assert.deepEqual((await history.clear(scope)).kept, { blobs: 0 });
        for (const { ref } of sent) assert.equal(await blobs.exists(ref), false);
        assert.equal((await stats()).blobs.storedBytes, 0, `of ${size}`);
      }
    },
  ),

  prove("LG6 appends and clears at once end in one order", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, say("first"));
    const work = range(30).map((n) => (n % 10 === 9 ? history.clear(scope) : history.append(scope, say(`${n}`))));
    await Promise.all(work);
    const cleared = (await log.read("chat", { types: ["messages/cleared"] })).at(-1);
    const left = await history.get(scope);
    assert.ok(
      left.every(({ seq }) => seq > present(cleared).seq),
      "what came before the last clear is gone",
    );
    const added = await log.read("chat", { types: ["message/added"], after: present(cleared).seq });
    assert.deepEqual(
      left.map(({ seq }) => seq),
      added.map(({ seq }) => seq),
      "what came after it is there",
    );
    assert.equal(await history.count(scope), left.length);
  }),

  prove("LG6 a deleted session takes no more messages and shows none", ["history", "sessions"], async (nouns) => {
    const { history, sessions } = nouns;
    const elsewhere = await history.append({ ...scope, session: "chat-2" }, say("elsewhere"));
    await history.append(scope, say("gone"));
    await sessions.delete("chat");
    assert.deepEqual(await history.get(scope), []);
    assert.equal(await history.count(scope), 0);
    assert.deepEqual(await history.session("chat"), []);
    assert.deepEqual(await history.byAgent("helper"), [elsewhere]);
    await refuses("SessionDeleted", () => history.append(scope, say("again")));
    await refuses("SessionDeleted", () => history.appendMany(scope, [say("again")]));
  }),
];
