// Blobs suite: how long a ref lives. Refs expire unless pinned or referred to; collection is safe beside writers.
import assert from "node:assert/strict";
import type { Blobs, GcReport } from "../../contracts/blobs.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { isSameBytes, noise, present, range, refOf, refuses } from "../expect.ts";
import { type Case, type Clock, prove } from "../suite.ts";

const HOUR = 3_600_000;

/** More collections than any blob needs to be condemned and then deleted. */
const ROUNDS = 6;

async function collectGarbage(blobs: Blobs, clock: Clock): Promise<GcReport[]> {
  const reports: GcReport[] = [];
  for (const _ of range(ROUNDS)) {
    reports.push(await blobs.gc());
    await clock.advance(HOUR);
  }
  return reports;
}

const total = (reports: readonly GcReport[], field: "condemned" | "deleted" | "bytes") =>
  reports.reduce((sum, report) => sum + report[field], 0);

async function counts(stats: Holdfast["stats"]): Promise<unknown> {
  const { nouns, blobs } = await stats();
  return { nouns, blobs };
}

const expiryCases: readonly Case[] = [
  prove("BL4 a ref expires after its time to live", ["blobs", "clock"], async ({ blobs, clock }) => {
    const ref = await blobs.store(noise(1_000, 1), { ttlMs: HOUR });
    await clock.advance(HOUR - 60_000);
    assert.equal(await blobs.exists(ref), true);
    isSameBytes(await blobs.resolve(ref), noise(1_000, 1));
    await clock.advance(120_000);
    const error = await refuses("BlobExpired", () => blobs.resolve(ref));
    assert.equal(error.details.ref, ref);
    await refuses("BlobExpired", () => blobs.resolveText(ref));
    await refuses("BlobExpired", async () => {
      for await (const _ of blobs.stream(ref)) assert.fail("an expired blob was streamed");
    });
    assert.equal(await blobs.exists(ref), false);
  }),

  prove("BL4 refs expire by default, and never when asked to", ["blobs", "clock"], async ({ blobs, clock }) => {
    const byDefault = await blobs.store("by default");
    const never = await blobs.store("never", { ttlMs: null });
    const { createdAt, expiresAt } = present(await blobs.stat(byDefault));
    assert.equal(expiresAt, createdAt + 7 * 24 * HOUR, "seven days when the store was opened without blobTtlMs");
    assert.equal(present(await blobs.stat(never)).expiresAt, null);
    await clock.advance(8 * 24 * HOUR);
    await refuses("BlobExpired", () => blobs.resolve(byDefault));
    await clock.advance(1_000 * 24 * HOUR);
    assert.equal(await blobs.resolveText(never), "never");
  }),

  prove("BL4 storing bytes again renews their time, and never shortens it", ["blobs", "clock"], async (nouns) => {
    const { blobs, clock } = nouns;
    const ref = await blobs.store("renewed", { ttlMs: 2 * HOUR });
    await clock.advance(HOUR);
    await blobs.store("renewed", { ttlMs: 1_000 });
    await clock.advance(HOUR / 2);
    assert.equal(await blobs.resolveText(ref), "renewed", "the first caller was promised two hours");
    await blobs.store("renewed", { ttlMs: 2 * HOUR });
    await clock.advance(HOUR);
    assert.equal(await blobs.resolveText(ref), "renewed", "and the last two more");
    await blobs.store("renewed", { ttlMs: null });
    await clock.advance(100 * HOUR);
    assert.equal(await blobs.resolveText(ref), "renewed");
  }),

  prove("BL4 bytes stored after they expired are there again", ["blobs", "clock"], async ({ blobs, clock }) => {
    const ref = await blobs.store(noise(100_000, 2), { ttlMs: 1_000 });
    await clock.advance(HOUR);
    await refuses("BlobExpired", () => blobs.resolve(ref));
    assert.equal(await blobs.store(noise(100_000, 2), { ttlMs: HOUR }), ref);
    isSameBytes(await blobs.resolve(ref), noise(100_000, 2));
  }),

  prove("BL4 a pinned ref survives past expiry until it is unpinned", ["blobs", "clock"], async ({ blobs, clock }) => {
    const ref = await blobs.store("pinned", { ttlMs: 1_000 });
    await blobs.pin(ref);
    await blobs.pin(ref);
    assert.equal(present(await blobs.stat(ref)).pinned, true);
    await clock.advance(HOUR);
    assert.equal(await blobs.resolveText(ref), "pinned");
    await blobs.unpin(ref);
    await blobs.unpin(ref);
    await refuses("BlobExpired", () => blobs.resolve(ref));
  }),

  prove("BL4 unpinning before expiry gives the ref back to its time", ["blobs", "clock"], async ({ blobs, clock }) => {
    const ref = await blobs.store("pinned", { ttlMs: HOUR });
    await blobs.pin(ref);
    await blobs.unpin(ref);
    assert.equal(present(await blobs.stat(ref)).pinned, false);
    assert.equal(await blobs.resolveText(ref), "pinned");
    await clock.advance(2 * HOUR);
    await refuses("BlobExpired", () => blobs.resolve(ref));
  }),

  prove(
    "LG6 a vacuum keeps what is in use, and no dry run does it",
    ["blobs", "history"],
    async ({ blobs, history }) => {
      const refs = [await blobs.store(noise(2_000_000, 1)), await blobs.store("small")];
      const scope = { session: "chat", agent: "helper" };
      const message = await history.append(scope, { role: "user", content: "said" });
      await refuses("InvalidArgument", () => blobs.gc({ dryRun: true, vacuum: true }));
      assert.equal((await blobs.gc({ vacuum: true })).dryRun, false);
      for (const ref of refs) assert.equal((await blobs.verify(ref)).ok, true);
      assert.deepEqual(await history.get(scope), [message]);
    },
  ),

  prove("BL4 delete reclaims at once", ["blobs", "stats"], async ({ blobs, stats }) => {
    const before = await counts(stats);
    for (const size of [10, 10_000, 5_000_000]) {
      const ref = await blobs.store(noise(size, 3));
      assert.equal(await blobs.delete(ref), true);
      assert.equal(await blobs.delete(ref), false);
      assert.equal(await blobs.exists(ref), false);
      assert.equal(await blobs.stat(ref), null);
      await refuses("BlobNotFound", () => blobs.resolve(ref));
      assert.equal(await blobs.store(noise(size, 3)), ref);
      isSameBytes(await blobs.resolve(ref), noise(size, 3));
      assert.equal(await blobs.delete(ref), true);
    }
    assert.deepEqual(await counts(stats), before);
  }),

  prove("BL4 what a row refers to is not deleted", ["blobs", "history"], async ({ blobs, history }) => {
    const ref = await blobs.store("in use");
    const scope = { session: "chat", agent: "a" };
    await history.append(scope, { role: "user", content: [{ type: "document", source: { ref } }] });
    const named = await refuses("Conflict", () => blobs.delete(ref));
    assert.match(named.message, /message/, "it says what holds it");
    assert.equal(named.details.references, present(await blobs.stat(ref)).references);
    assert.equal(await blobs.resolveText(ref), "in use");
    const message = present((await history.get(scope))[0]);
    await refuses("Conflict", () => blobs.delete(message.ref));
    assert.equal((await history.get(scope)).length, 1);
  }),
];

const collectionCases: readonly Case[] = [
  prove("BL4 collection takes what expired and nothing else", ["blobs", "history", "clock"], async (nouns) => {
    const { blobs, history, clock } = nouns;
    const expired = await blobs.store(noise(10_000, 4), { ttlMs: 1_000 });
    const alive = await blobs.store(noise(10_000, 5), { ttlMs: 1_000 * HOUR });
    const pinned = await blobs.store(noise(10_000, 6), { ttlMs: 1_000 });
    await blobs.pin(pinned);
    const named = await blobs.store(noise(10_000, 7), { ttlMs: 1_000 });
    const scope = { session: "chat", agent: "a" };
    const content = [{ type: "image", source: { ref: named } }] as const;
    const message = await history.append(scope, { role: "user", content });
    await clock.advance(HOUR);
    const reports = await collectGarbage(blobs, clock);
    assert.equal(total(reports, "deleted"), 1);
    assert.ok(total(reports, "bytes") >= 10_000, "the report says what came back");
    await refuses("BlobNotFound", () => blobs.resolve(expired));
    for (const [seed, ref] of [
      [5, alive],
      [6, pinned],
      [7, named],
    ] as const) {
      isSameBytes(await blobs.resolve(ref), noise(10_000, seed));
    }
    assert.deepEqual(await history.get(scope), [message]);
  }),

  prove("BL4 a dry run says what would go and changes nothing", ["blobs", "stats", "clock"], async (nouns) => {
    const { blobs, stats, clock } = nouns;
    const ref = await blobs.store(noise(10_000, 8), { ttlMs: 1_000 });
    await clock.advance(HOUR);
    let promised = 0;
    for (const _ of range(ROUNDS)) {
      const before = await counts(stats);
      const dry = await blobs.gc({ dryRun: true });
      assert.equal(dry.dryRun, true);
      promised = Math.max(promised, dry.bytes);
      assert.deepEqual(await blobs.gc({ dryRun: true }), dry, "a dry run changes nothing");
      assert.deepEqual(await counts(stats), before);
      const real = await blobs.gc();
      assert.equal(real.dryRun, false);
      await clock.advance(HOUR);
    }
    assert.ok(promised >= 10_000, `dry runs promised ${promised} bytes`);
    assert.equal(await blobs.stat(ref), null);
  }),

  prove("BL4 bytes put again while condemned survive the sweep", ["blobs", "clock"], async ({ blobs, clock }) => {
    for (const size of [1_000, 300_000]) {
      const bytes = noise(size, 9);
      const ref = await blobs.store(bytes, { ttlMs: 1_000 });
      await clock.advance(HOUR);
      for (const round of range(ROUNDS)) {
        if ((await blobs.gc()).condemned > 0) break;
        assert.ok(round < ROUNDS - 1, "the blob was never condemned");
        await clock.advance(HOUR);
      }
      assert.equal(await blobs.store(bytes, { ttlMs: 1_000 * HOUR }), ref);
      await collectGarbage(blobs, clock);
      isSameBytes(await blobs.resolve(ref), bytes);
      assert.deepEqual(await blobs.verify(ref), { ok: true, size });
    }
  }),

  prove(
    "BL4 a message that names a condemned blob keeps it or is refused",
    ["blobs", "history", "clock"],
    async (nouns) => {
      const { blobs, history, clock } = nouns;
      const ref = await blobs.store(noise(1_000, 10), { ttlMs: 3 * HOUR });
      for (const _ of range(ROUNDS)) {
        await clock.advance(HOUR);
        await blobs.gc();
        const source = { ref };
        const scope = { session: "chat", agent: "a" };
        try {
          await history.append(scope, { role: "user", content: [{ type: "image", source }] });
        } catch (error) {
          await refuses(["BlobNotFound", "BlobExpired"], () => Promise.reject(error));
          assert.deepEqual(await history.get(scope), []);
          continue;
        }
        isSameBytes(await blobs.resolve(ref), noise(1_000, 10));
        await history.clear(scope);
      }
    },
  ),

  prove("BL4 collection beside writers loses nothing that was put", ["blobs", "clock"], async ({ blobs, clock }) => {
    const bodies = range(12).map((n) => noise(20_000, 100 + n));
    for (const body of bodies) await blobs.store(body, { ttlMs: 1_000 });
    await clock.advance(HOUR);
    for (const round of range(8)) {
      const [refs] = await Promise.all([
        Promise.all(bodies.map((body, n) => (n % 8 === round ? blobs.store(body, { ttlMs: null }) : refOf(body)))),
        blobs.gc(),
      ]);
      await clock.advance(HOUR);
      for (const [n, body] of bodies.entries()) {
        if (n % 8 <= round) isSameBytes(await blobs.resolve(present(refs[n])), body);
      }
    }
  }),

  prove("BL4 collection is safe when the clock jumps", ["blobs", "clock"], async ({ blobs, clock }) => {
    const ref = await blobs.store("kept for an hour", { ttlMs: HOUR });
    clock.jump(-1_000 * HOUR);
    for (const _ of range(ROUNDS)) await blobs.gc();
    assert.equal(await blobs.resolveText(ref), "kept for an hour");
    clock.jump(1_000 * HOUR);
    for (const _ of range(ROUNDS)) await blobs.gc();
    assert.equal(await blobs.resolveText(ref), "kept for an hour");
  }),
];

export const blobLifetimeCases: readonly Case[] = [...expiryCases, ...collectionCases];
