// Captures that expire, are swept or are removed, and what stays of them.
import assert from "node:assert/strict";
import { isSameBytes, noise, present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";
import { bare, bytes, captured, ID, readAll, transcript, WEEK } from "./captures-fixture.ts";

export const expiryCases: readonly Case[] = [
  prove(
    "CA5 a capture expires after seven days unless the save sets another time",
    ["captures", "clock"],
    async ({ captures, clock }) => {
      const week = await captures.save(captured());
      const never = await captures.save(captured({ request: "req-2", ttlMs: null }));
      const soon = await captures.save(captured({ request: "req-3", ttlMs: 1000 }));
      assert.equal(present(week.expiresAt) - week.savedAt, WEEK);
      assert.equal(never.expiresAt, null);
      await clock.advance(1001);
      assert.equal(await captures.latest("req-3"), null);
      assert.equal((await captures.list({ request: "req-3" })).items.length, 0);
      assert.equal((await captures.get(soon.id))?.expiresAt, soon.expiresAt);
      await refuses("CaptureExpired", () => captures.files(soon.id));
      await refuses("CaptureExpired", () => readAll(captures, soon.id, `project/${ID}.jsonl`));
      await clock.advance(WEEK);
      assert.equal(await captures.latest("req-1"), null);
      assert.equal((await captures.latest("req-2"))?.id, never.id);
    },
  ),

  prove(
    "CA5 saved again it is kept as long as before, unless that is said anew",
    ["captures", "clock"],
    async ({ captures, clock }) => {
      await captures.save(captured({ ttlMs: null }));
      assert.equal((await captures.save(captured())).expiresAt, null);
      const day = await captures.save(captured({ ttlMs: 86_400_000 }));
      assert.equal(present(day.expiresAt) - day.savedAt, 86_400_000);
      await clock.advance(1000);
      const again = await captures.save(captured());
      assert.equal(present(again.expiresAt) - again.savedAt, 86_400_000);
      const kept = await captures.expire(again.id, again.savedAt + 30 * WEEK);
      const later = await captures.save(captured());
      assert.ok(present(later.expiresAt) >= present(kept.expiresAt), "a save takes nothing from what a person said");
    },
  ),

  prove(
    "CA5 until it is swept its time can be made longer",
    ["captures", "clock", "log"],
    async ({ captures, clock, log }) => {
      const saved = await captures.save(captured({ ttlMs: 1000 }));
      await clock.advance(2000);
      assert.equal((await captures.expire(saved.id, null)).expiresAt, null);
      assert.equal((await captures.latest("req-1"))?.id, saved.id);
      assert.deepEqual((await captures.deleteExpired()).removed, []);
      const items = await log.read(saved.session);
      assert.equal(items.at(-1)?.type, "capture/changed");
    },
  ),

  prove(
    "CA5 what a person says is to be kept stays, also while a sweep is at it",
    ["captures", "another", "clock"],
    async ({ captures, another, clock }) => {
      const other = await another();
      const made = await Promise.all(range(40).map((n) => captures.save(captured({ request: `req-${n}`, ttlMs: 0 }))));
      await clock.advance(10);
      const kept: string[] = [];
      const keeping = made.map(({ id }) =>
        other.captures.expire(id, null).then(
          () => kept.push(id),
          () => {},
        ),
      );
      await Promise.all([captures.deleteExpired(), ...keeping]);
      for (const id of kept) assert.equal((await captures.get(id))?.expiresAt, null, "it was answered that it is kept");
    },
  ),

  prove(
    "CA5 the sweep removes what has expired, says what, and nothing else",
    ["captures", "clock", "stats"],
    async (nouns) => {
      const { captures, clock, stats } = nouns;
      const gone = await captures.save(captured({ ttlMs: 1000, files: [transcript(noise(50_000, 1))] }));
      const kept = await captures.save(captured({ request: "req-2", files: [transcript(noise(50_000, 2))] }));
      const held = (await stats()).blobs.storedBytes;
      assert.deepEqual((await captures.deleteExpired()).removed, []);
      await clock.advance(3_600_001);
      const foreseen = await captures.deleteExpired({ dryRun: true });
      assert.deepEqual(foreseen.removed, [{ id: gone.id, request: "req-1", sessionId: ID }]);
      assert.notEqual(await captures.get(gone.id), null);
      assert.deepEqual(await captures.deleteExpired(), foreseen);
      assert.equal(await captures.get(gone.id), null);
      assert.equal((await captures.latest("req-2"))?.id, kept.id);
      assert.ok(held - (await stats()).blobs.storedBytes >= 50_000, "its bytes are free");
    },
  ),
];

export const removalCases: readonly Case[] = [
  prove(
    "CA5 where the newest has expired, one kept beside it is what there is",
    ["captures", "clock"],
    async ({ captures, clock }) => {
      const first = await captures.save(captured({ basis: null, ttlMs: 1000 }));
      const apart = await captures.save(
        captured({ basis: null, onConflict: "keep", ttlMs: null, files: [transcript(bytes("b\n"))] }),
      );
      assert.equal((await captures.latest("req-1"))?.id, first.id);
      await clock.advance(2000);
      assert.equal((await captures.latest("req-1"))?.id, apart.id);
      assert.equal((await captures.bySession(ID))?.id, apart.id);
    },
  ),

  prove("CA5 a request's captures go together, also those beside the newest", ["captures"], async ({ captures }) => {
    const first = await captures.save(captured({ basis: null }));
    const apart = await captures.save(captured({ basis: null, onConflict: "keep" }));
    const other = await captures.save(captured({ request: "req-2" }));
    const { removed } = await captures.deleteForRequest("req-1");
    assert.deepEqual(removed.map(({ id }) => id).toSorted(), [first.id, apart.id].toSorted());
    assert.deepEqual(
      (await captures.list({ diverged: true })).items.map(({ id }) => id),
      [other.id],
    );
    assert.deepEqual((await captures.deleteForRequest("req-1")).removed, []);
    await refuses("NotFound", () => captures.delete(first.id));
  }),

  prove(
    "CA5 what two captures share stays with the other",
    ["captures", "clock", "blobs"],
    async ({ captures, clock, blobs }) => {
      const content = noise(100_000, 7);
      const one = await captures.save(captured({ files: [transcript(content)] }));
      const two = await captures.save(captured({ request: "req-2", files: [transcript(content)] }));
      await clock.advance(3_600_001);
      await captures.delete(one.id);
      for (const _ of range(4)) await blobs.gc();
      isSameBytes(await readAll(captures, two.id, `project/${ID}.jsonl`), content);
    },
  ),

  prove(
    "LG6 with its session a capture goes, and the report says so",
    ["captures", "sessions"],
    async ({ captures, sessions }) => {
      const saved = await captures.save(captured());
      const erased = present(await sessions.delete(saved.session));
      assert.equal(erased.removed.captures, 1);
      assert.equal(await captures.get(saved.id), null);
      // The agent's session goes on, in one of another name: ids are not used again.
      const next = await captures.save(captured());
      assert.notEqual(next.session, saved.session);
      assert.equal(next.generation, 1);
    },
  ),

  prove(
    "SE10 the checker finds nothing to say about any of it",
    ["captures", "check", "clock"],
    async ({ captures, check, clock }) => {
      const first = await captures.save(captured({ basis: null }));
      await captures.save(captured({ basis: bare(first), files: [transcript(bytes("a\n"))] }));
      const apart = await captures.save(captured({ basis: null, onConflict: "keep" }));
      await captures.prefer(apart.id);
      await captures.expire(first.id, null);
      await captures.save(captured({ request: "req-2", ttlMs: 10 }));
      await clock.advance(11);
      await captures.deleteExpired();
      const report = await check();
      assert.deepEqual(report.issues, []);
    },
  ),
];
