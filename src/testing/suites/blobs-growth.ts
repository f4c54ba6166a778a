// Blobs suite: append-only blobs. growsFrom says that bytes begin with another blob's; about what was added is stored.
import assert from "node:assert/strict";
import type { Blobs } from "../../contracts/blobs.ts";
import { isSameBytes, noise, present, prose, range, refOf, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";

const text = prose(6_000_000, 77);

/** The first so many bytes of one long transcript. */
const upTo = (length: number) => text.subarray(0, length);

async function grow(blobs: Blobs, lengths: readonly number[]): Promise<string[]> {
  const refs: string[] = [];
  for (const length of lengths) {
    const growsFrom = refs.at(-1);
    refs.push(await blobs.store(upTo(length), growsFrom === undefined ? {} : { growsFrom }));
  }
  return refs;
}

async function holds(blobs: Blobs, lengths: readonly number[], refs: readonly string[]): Promise<void> {
  for (const [n, length] of lengths.entries()) {
    const ref = present(refs[n]);
    assert.equal(ref, refOf(upTo(length)));
    isSameBytes(await blobs.resolve(ref), upTo(length), `the first ${length} bytes`);
  }
}

export const blobGrowthCases: readonly Case[] = [
  prove("BL3 every length a blob had can still be read", ["blobs"], async ({ blobs }) => {
    const lengths = [0, 1, 100, 5_000, 5_001, 70_000, 1_000_000, 4_194_304, 4_194_305, 4_300_000, 6_000_000];
    await holds(blobs, lengths, await grow(blobs, lengths));
  }),

  prove("BL3 appending stores about what was appended", ["blobs", "stats"], async ({ blobs, stats }) => {
    const appends = scaled({ short: 15, long: 49 });
    const lengths = range(appends + 1).map((n) => 1_000_000 + n * 20_000);
    const refs = await grow(blobs, lengths.slice(0, 1));
    const first = (await stats()).blobs.storedBytes;
    for (const length of lengths.slice(1)) {
      refs.push(await blobs.store(upTo(length), { growsFrom: present(refs.at(-1)) }));
    }
    const added = (await stats()).blobs.storedBytes - first;
    assert.ok(added < appends * 20_400, `${appends} appends of 20,000 bytes cost ${added} bytes`);
    await holds(blobs, lengths, refs);
  }),

  prove("BL3 growth given as a stream is growth too", ["blobs", "stats"], async ({ blobs, stats }) => {
    const refs = await grow(blobs, [2_000_000]);
    const before = (await stats()).blobs.storedBytes;
    const whole = upTo(2_010_000);
    const ref = await blobs.store([whole.subarray(0, 999_999), whole.subarray(999_999)], {
      growsFrom: present(refs[0]),
    });
    assert.equal(ref, refOf(whole));
    isSameBytes(await blobs.resolve(ref), whole);
    const added = (await stats()).blobs.storedBytes - before;
    assert.ok(added < 200_000, `10,000 appended bytes cost ${added} bytes`);
  }),

  prove("BL3 bytes that do not begin with that blob are kept exactly all the same", ["blobs"], async ({ blobs }) => {
    const old = await blobs.store(upTo(50_000));
    const changed = Uint8Array.from(upTo(60_000));
    changed[25_000] = 0;
    for (const bytes of [changed, noise(60_000, 1), upTo(10_000), new Uint8Array(0), upTo(50_000)]) {
      const ref = await blobs.store(bytes, { growsFrom: old });
      assert.equal(ref, refOf(bytes));
      isSameBytes(await blobs.resolve(ref), bytes);
    }
    isSameBytes(await blobs.resolve(old), upTo(50_000));
  }),

  prove("BL3 growth from a blob that is not there is refused or kept exactly", ["blobs"], async ({ blobs }) => {
    const bytes = upTo(5_000);
    try {
      const ref = await blobs.store(bytes, { growsFrom: refOf("never stored") });
      isSameBytes(await blobs.resolve(ref), bytes);
    } catch (error) {
      await refuses("BlobNotFound", () => Promise.reject(error));
      assert.equal(await blobs.exists(refOf(bytes)), false);
    }
  }),

  prove("BL3 two that grow from one blob do not disturb each other", ["blobs"], async ({ blobs }) => {
    const growsFrom = await blobs.store(upTo(100_000));
    const bodies = range(6).map((n) => Buffer.concat([upTo(100_000), noise(5_000, n)]));
    const refs = await Promise.all(bodies.map((body) => blobs.store(body, { growsFrom })));
    for (const [n, body] of bodies.entries()) isSameBytes(await blobs.resolve(present(refs[n])), body);
    isSameBytes(await blobs.resolve(growsFrom), upTo(100_000));
    const further = Buffer.concat([present(bodies[0]), noise(7_000, 9)]);
    const ref = await blobs.store(further, { growsFrom: present(refs[0]) });
    isSameBytes(await blobs.resolve(ref), further);
  }),

  prove("BL3 sealing keeps every length readable, and the blob can grow afterwards", ["blobs"], async ({ blobs }) => {
    const lengths = [100_000, 120_000, 4_250_000, 4_260_000];
    const refs = await grow(blobs, lengths);
    await blobs.seal(present(refs.at(-1)));
    await blobs.seal(present(refs.at(-1)));
    await holds(blobs, lengths, refs);
    const ref = await blobs.store(upTo(4_300_000), { growsFrom: present(refs.at(-1)) });
    await holds(blobs, [...lengths, 4_300_000], [...refs, ref]);
    for (const one of refs) assert.equal((await blobs.verify(one)).ok, true);
  }),

  prove("BL3 sealing what never grew changes nothing", ["blobs"], async ({ blobs }) => {
    for (const bytes of [noise(10, 1), noise(3_000_000, 2)]) {
      const ref = await blobs.store(bytes);
      await blobs.seal(ref);
      isSameBytes(await blobs.resolve(ref), bytes);
    }
  }),

  prove("BL4 collecting the older lengths leaves the newest whole", ["blobs", "clock"], async ({ blobs, clock }) => {
    const step = scaled({ short: 1_700_000, long: 700_000 });
    const lengths = range(10)
      .map((n) => 900_000 + n * step)
      .filter((length) => length <= 6_000_000);
    const refs: string[] = [];
    for (const length of lengths) {
      const growsFrom = refs.at(-1);
      refs.push(await blobs.store(upTo(length), { ttlMs: 60_000, ...(growsFrom === undefined ? {} : { growsFrom }) }));
    }
    const newest = present(refs.at(-1));
    await blobs.pin(newest);
    for (const _ of range(8)) {
      await clock.advance(3_600_000);
      await blobs.gc();
    }
    for (const ref of refs.slice(0, -1)) assert.equal(await blobs.exists(ref), false);
    isSameBytes(await blobs.resolve(newest), upTo(present(lengths.at(-1))));
    assert.equal((await blobs.verify(newest)).ok, true);
  }),
];
