// Blobs suite: large blobs. They stream in and out, and copies that differ in places share what they have in common.
import assert from "node:assert/strict";
import { isSameBytes, noise, present, refOf, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";

const MB = 1_000_000;
/** More than the largest piece of a stream. */
const STREAMED_MB = scaled({ short: 8, long: 40 });

function* pieces(bytes: Uint8Array, size: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

async function* later(source: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const piece of source) {
    await new Promise(setImmediate);
    yield piece;
  }
}

export const blobLargeCases: readonly Case[] = [
  prove(`BL3 ${STREAMED_MB} MB come and go as streams`, ["blobs"], async ({ blobs }) => {
    const bytes = noise(STREAMED_MB * MB, 1);
    const ref = await blobs.store(later(pieces(bytes, 777_777)));
    assert.equal(ref, refOf(bytes));
    let at = 0;
    let largest = 0;
    for await (const piece of blobs.stream(ref)) {
      isSameBytes(piece, bytes.subarray(at, at + piece.byteLength), `the piece at ${at}`);
      at += piece.byteLength;
      largest = Math.max(largest, piece.byteLength);
    }
    assert.equal(at, bytes.byteLength);
    assert.ok(largest <= 16 * MB, `a piece of ${largest} bytes is no stream`);
    isSameBytes(await blobs.resolve(ref), bytes);
    const stat = present(await blobs.stat(ref));
    assert.equal(stat.size, STREAMED_MB * MB);
    assert.ok(stat.compression === "chunks" || stat.compression === "segments", stat.compression);
    assert.deepEqual(await blobs.verify(ref), { ok: true, size: STREAMED_MB * MB });
  }),

  prove("BL3 a large blob given whole, in pieces or in other pieces is one blob", ["blobs", "stats"], async (nouns) => {
    const { blobs, stats } = nouns;
    const bytes = noise(scaled({ short: 3, long: 6 }) * MB, 2);
    const ref = await blobs.store(bytes);
    const once = (await stats()).blobs.storedBytes;
    assert.equal(await blobs.store(pieces(bytes, 65_536)), ref);
    assert.equal(await blobs.store(later(pieces(bytes, 1_234_567))), ref);
    assert.equal((await stats()).blobs.storedBytes, once);
    isSameBytes(await blobs.resolve(ref), bytes);
  }),

  prove("BL3 a copy with a change in the middle shares the rest", ["blobs", "stats"], async ({ blobs, stats }) => {
    const size = scaled({ short: 4, long: 12 }) * MB;
    const middle = Math.floor(size * 0.4);
    const original = noise(size, 3);
    const first = await blobs.store(original);
    const before = (await stats()).blobs.storedBytes;
    const edited = Buffer.concat([original.subarray(0, middle), Buffer.from("inserted"), original.subarray(middle)]);
    const second = await blobs.store(edited);
    const grown = (await stats()).blobs.storedBytes - before;
    assert.ok(grown < size / 4, `eight inserted bytes cost ${grown}`);
    isSameBytes(await blobs.resolve(second), edited);
    assert.equal(await blobs.delete(first), true);
    isSameBytes(await blobs.resolve(second), edited, "what is shared stays with who is left");
    assert.deepEqual(await blobs.verify(second), { ok: true, size: edited.byteLength });
  }),

  prove("BL4 shared parts are collected with their last blob", ["blobs", "stats", "clock"], async (nouns) => {
    const { blobs, stats, clock } = nouns;
    const empty = (await stats()).blobs;
    const original = noise(scaled({ short: 3, long: 8 }) * MB, 4);
    const edited = Buffer.concat([original, noise(10_000, 5)]);
    await blobs.store(original, { ttlMs: 1_000 });
    const kept = await blobs.store(edited, { ttlMs: null });
    const collect = async () => {
      for (let round = 0; round < 8; round++) {
        await clock.advance(3_600_000);
        await blobs.gc();
      }
    };
    await collect();
    assert.equal(await blobs.exists(refOf(original)), false);
    isSameBytes(await blobs.resolve(kept), edited);
    assert.equal(await blobs.delete(kept), true);
    await collect();
    const after = (await stats()).blobs;
    assert.deepEqual([after.count, after.storedBytes], [empty.count, empty.storedBytes]);
  }),

  prove("BL3 leaving a stream early harms nothing", ["blobs"], async ({ blobs }) => {
    const bytes = noise(scaled({ short: 4, long: 8 }) * MB, 6);
    const ref = await blobs.store(bytes);
    for await (const piece of blobs.stream(ref)) {
      assert.ok(piece.byteLength > 0);
      break;
    }
    isSameBytes(await blobs.resolve(ref), bytes);
  }),

  prove("BL3 large blobs of many callers at once do not mix", ["blobs"], async ({ blobs }) => {
    const bodies = [1, 2, 3, 4].map((n) => noise(3 * MB + n, 10 + n));
    const refs = await Promise.all(bodies.map((body) => blobs.store(later(pieces(body, 300_000)))));
    await Promise.all(bodies.map(async (body, n) => isSameBytes(await blobs.resolve(present(refs[n])), body)));
  }),

  prove(
    "ST7 a source that gives something else than bytes is refused",
    ["blobs", "stats"],
    async ({ blobs, stats }) => {
      const before = (await stats()).blobs.count;
      const wrong: readonly unknown[] = [
        ["text"],
        [1, 2, 3],
        [null],
        [[1]],
        later(["text"] as unknown as Uint8Array[]),
      ];
      for (const source of wrong) await refuses("InvalidArgument", () => blobs.store(source as Uint8Array[]));
      const mixed = [noise(10, 1), "text"] as unknown as Uint8Array[];
      await refuses("InvalidArgument", () => blobs.store(mixed));
      assert.equal((await stats()).blobs.count, before);
    },
  ),
];
