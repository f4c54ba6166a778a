// Growing blobs on the disk: what 50 versions of a transcript cost, what happens to two that diverge, and what is left
// when the longest is deleted.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { constants, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ordinaryTranscript, repetitiveTranscript, versions } from "../../../bench/transcripts.ts";
import { testLong } from "../../../test/long-test.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { compressesLarge } from "../../core/zstd-platform.ts";
import { open } from "../../open.ts";
import { adjustableEnvironment } from "../../testing/environment.ts";
import { noise, prose } from "../../testing/expect.ts";
import { isLong } from "../../testing/scale.ts";
import { fileBlobs } from "./file.ts";
import { hasDictionaries, SEGMENT_BYTES, usesDictionaries } from "./segments.ts";

const HOUR_MS = 3600 * 1000;
let directory: string;
let store: Holdfast;
let environment: ReturnType<typeof adjustableEnvironment>;
const file = () => path.join(directory, "store.db");
const outside = () => path.join(directory, "blobs");
const ofKind = (kind: string) => (kind === "files" ? { blobs: fileBlobs(outside()) } : {});

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "holdfast-growth-"));
  environment = adjustableEnvironment();
  store = await open(file(), { environment });
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

async function use(kind: string): Promise<void> {
  await store.close();
  store = await open(file(), { environment, ...ofKind(kind) });
}

/** All bytes on disk: the database with its log, and the files beside it. */
function onDisk(): number {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(path.join(directory, name)))
    .reduce((sum, found) => sum + (found.isFile() ? found.size : 0), 0);
}

async function growAll(all: readonly Uint8Array[], options: { ttlMs?: number } = {}): Promise<string[]> {
  const refs: string[] = [];
  for (const bytes of all) {
    const growsFrom = refs.at(-1);
    refs.push(await store.blobs.store(bytes, { ...options, ...(growsFrom === undefined ? {} : { growsFrom }) }));
  }
  return refs;
}

async function holds(ref: string | undefined, bytes: Uint8Array): Promise<void> {
  expect(Buffer.compare(await store.blobs.resolve(ref ?? ""), bytes)).toBe(0);
}

function rows(table: string): number {
  const db = new DatabaseSync(file(), { readOnly: true });
  const count = Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  db.close();
  return count;
}

describe("BL3 fifty versions of a 12 MB transcript", () => {
  const corpora = { ordinary: ordinaryTranscript, repetitive: repetitiveTranscript };
  const cases = Object.keys(corpora).flatMap((name) => ["database", "files"].map((kind) => [name, kind] as const));

  // In `npm test` each text in one place, and each place with one text.
  test.each(cases.filter((_, i) => isLong || i === 0 || i === 3))(
    "that is %s, kept in the %s, end near the zstd of the last",
    async (name, kind) => {
      await use(kind);
      await store.blobs.gc();
      const empty = onDisk();
      const full = corpora[name as keyof typeof corpora](12_000_000);
      const level = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
      const zstd = zstdCompressSync(full, level).length;
      const all = versions(full, 50);
      const refs = await growAll(all, { ttlMs: HOUR_MS });
      expect((await store.stats()).blobs.storedBytes).toBeLessThan(1.3 * zstd);
      for (const i of [0, 1, 17, 33, 48]) await holds(refs[i], all[i] ?? new Uint8Array(0));
      const last = refs.at(-1) ?? "";
      await store.blobs.pin(last);
      await store.blobs.seal(last);
      await environment.advance(2 * HOUR_MS);
      const reports = [await store.blobs.gc(), await store.blobs.gc(), await store.blobs.gc()];
      expect(reports.map((report) => report.deleted)).toEqual([0, 0, 49]);
      expect((onDisk() - empty) / zstd).toBeLessThan(1.3);
      await holds(last, full);
      expect(rows("segments")).toBe(3);
      expect(rows("segment_frames")).toBe(3);
    },
  );
});

describe("BL3 blobs that grow apart", () => {
  const text = prose(600_000, 1);
  const ending = (length: number, end: string) => Buffer.concat([text.subarray(0, length), Buffer.from(end)]);

  test("keep their own bytes, and the first one the segment", async () => {
    const [, base] = await growAll([text.subarray(0, 1000), text.subarray(0, 400_000)]);
    const left = ending(400_000, "left".repeat(1000));
    const right = ending(400_000, "right".repeat(1000));
    const growsFrom = base ?? "";
    const refs = [await store.blobs.store(left, { growsFrom }), await store.blobs.store(right, { growsFrom })];
    await holds(refs[0], left);
    await holds(refs[1], right);
    await holds(base, text.subarray(0, 400_000));
    expect(rows("segments")).toBe(2);
    const further = Buffer.concat([left, noise(1000, 2)]);
    await holds(await store.blobs.store(further, { growsFrom: refs[0] ?? "" }), further);
    expect(rows("segments")).toBe(2);
  });

  test("lose nothing when eight do it at once through two handles", async () => {
    const [, base] = await growAll([text.subarray(0, 1000), text.subarray(0, 300_000)]);
    const other = await open(file(), { environment });
    const bodies = Array.from({ length: 8 }, (_, i) => ending(300_000, `${i}`.repeat(5_000)));
    const handles = [store, other];
    const refs = await Promise.all(
      bodies.map((body, i) => (handles[i % 2] ?? store).blobs.store(body, { growsFrom: base ?? "" })),
    );
    for (const [i, body] of bodies.entries()) await holds(refs[i], body);
    await holds(base, text.subarray(0, 300_000));
    await other.close();
  });

  test("may grow from any earlier length: what is the same is found again", async () => {
    const refs = await growAll([100, 200_000, 300_000, 400_000].map((length) => text.subarray(0, length)));
    const stored = (await store.stats()).blobs.storedBytes;
    const between = await store.blobs.store(text.subarray(0, 350_000), { growsFrom: refs[1] ?? "" });
    const beyond = await store.blobs.store(text.subarray(0, 420_000), { growsFrom: refs[1] ?? "" });
    await holds(between, text.subarray(0, 350_000));
    await holds(beyond, text.subarray(0, 420_000));
    expect((await store.stats()).blobs.storedBytes - stored).toBeLessThan(10_000);
    expect(rows("segments")).toBe(1);
  });

  test("over the end of a segment, from a length inside it", async () => {
    const long = prose(SEGMENT_BYTES + 300_000, 3);
    const lengths = [1000, SEGMENT_BYTES - 5000, SEGMENT_BYTES + 1000];
    const refs = await growAll(lengths.map((length) => long.subarray(0, length)));
    const whole = await store.blobs.store(long, { growsFrom: refs[1] ?? "" });
    const apart = Buffer.concat([long.subarray(0, SEGMENT_BYTES - 5000), noise(9000, 4)]);
    const other = await store.blobs.store(apart, { growsFrom: refs[1] ?? "" });
    await holds(whole, long);
    await holds(other, apart);
    for (const [i, length] of lengths.entries()) await holds(refs[i], long.subarray(0, length));
  });
});

describe.each(["database", "files"])("BL3 a blob that starts to grow, kept in the %s", (kind) => {
  beforeEach(() => use(kind));

  test.each([0, 10, 5_000, 900_000, 3_000_000])("from %i bytes is kept once, with what it grows from", async (size) => {
    const text = prose(size + 10_000, 5);
    const base = await store.blobs.store(text.subarray(0, size));
    const before = (await store.stats()).blobs.storedBytes;
    const grown = await store.blobs.store(text, { growsFrom: base });
    expect((await store.stats()).blobs.storedBytes - before).toBeLessThan(15_000);
    await holds(base, text.subarray(0, size));
    await holds(grown, text);
    expect((await store.blobs.stat(base))?.compression).toBe("segments");
    expect(rows("blobs")).toBe(2);
    expect(rows("blob_links")).toBe(0);
    expect(await store.blobs.delete(base)).toBe(true);
    await holds(grown, text);
    expect(await store.blobs.delete(grown)).toBe(true);
    for (const table of ["blobs", "segments", "segment_frames", "blob_segments"]) expect(rows(table), table).toBe(0);
  });

  const testHere = kind === "database" ? test : testLong;
  testHere("of 20 MB that do not compress goes in several commits and leaves no helper behind", {}, async () => {
    const bytes = noise(20_000_000, 6);
    const base = await store.blobs.store(bytes.subarray(0, 15_000_000));
    const grown = await store.blobs.store(bytes, { growsFrom: base });
    await holds(grown, bytes);
    await holds(base, bytes.subarray(0, 15_000_000));
    expect(rows("blobs")).toBe(2);
    expect(rows("segments")).toBe(Math.ceil(20_000_000 / SEGMENT_BYTES));
  });

  test("appends of a few bytes are merged, so that reading stays quick", async () => {
    const text = prose(150_000, 7);
    const lengths = Array.from({ length: 150 }, (_, i) => (i + 1) * 1000);
    const refs = await growAll(lengths.map((length) => text.subarray(0, length)));
    expect(rows("segment_frames")).toBeLessThanOrEqual(64);
    for (const i of [0, 5, 70, 149]) await holds(refs[i], text.subarray(0, (i + 1) * 1000));
    if (kind === "files") expect(keptFiles()).toBe(rows("segment_frames"));
    await store.blobs.seal(refs.at(-1) ?? "");
    expect(rows("segment_frames")).toBe(1);
    if (kind === "files") expect(keptFiles()).toBe(1);
  });
});

function keptFiles(): number {
  return readdirSync(outside(), { recursive: true, encoding: "utf8" }).filter((name) => /[0-9a-f]{64}-/.test(name))
    .length;
}

describe("BL3 growth and rows", () => {
  test("from a message's own payload leaves the payload as it is", async () => {
    const scope = { session: "s", agent: "a" };
    const { ref } = await store.history.append(scope, { role: "user", content: "hello" });
    const bytes = Buffer.concat([await store.blobs.resolve(ref), Buffer.from(" and more")]);
    await holds(await store.blobs.store(bytes, { growsFrom: ref }), bytes);
    expect((await store.blobs.stat(ref))?.compression).toBe("none");
    await store.history.clear(scope);
    expect(await store.blobs.exists(ref)).toBe(false);
  });

  test("of a blob that is also a chunk of another harms neither", async () => {
    const chunk = noise(16_384, 8);
    const large = Buffer.concat([prose(3_000_000, 9), chunk]);
    const parent = await store.blobs.store(large);
    const db = new DatabaseSync(file(), { readOnly: true });
    const last = db
      .prepare("SELECT b.sha256 FROM blob_links l JOIN blobs b ON b.no = l.child_no ORDER BY l.ord DESC")
      .get();
    db.close();
    const base = `sha256:${Buffer.from(last?.sha256 as Uint8Array).toString("hex")}`;
    const bytes = await store.blobs.resolve(base);
    await store.blobs.store(bytes);
    const grown = Buffer.concat([bytes, Buffer.from("more")]);
    await holds(await store.blobs.store(grown, { growsFrom: base }), grown);
    expect((await store.blobs.stat(base))?.compression).toBe("segments");
    await holds(parent, large);
    await expect(store.blobs.delete(base)).rejects.toMatchObject({ code: "Conflict" });
    expect(await store.blobs.delete(parent)).toBe(true);
    await holds(base, bytes);
  });
});

describe("LG6 what was only in a deleted length", () => {
  test.each(["delete", "collection"])("leaves the segment by %s", async (way) => {
    const text = prose(100_000, 10);
    const secret = Buffer.from("the launch code is 0000 ".repeat(20));
    const [, base] = await growAll([text.subarray(0, 1000), text]);
    const longer = await store.blobs.store(Buffer.concat([text, secret]), { growsFrom: base ?? "", ttlMs: 1_000 });
    if (way === "delete") expect(await store.blobs.delete(longer)).toBe(true);
    else {
      await environment.advance(HOUR_MS);
      for (let run = 0; run < 3; run++) await store.blobs.gc();
    }
    expect(await store.blobs.exists(longer)).toBe(false);
    const db = new DatabaseSync(file(), { readOnly: true });
    expect(db.prepare("SELECT size, sealed FROM segments").all()).toEqual([{ size: 100_000, sealed: 1 }]);
    db.close();
    await holds(base, text);
    const again = Buffer.concat([text, Buffer.from("other words")]);
    await holds(await store.blobs.store(again, { growsFrom: base ?? "" }), again);
  });
});

describe("BL3 a platform without zstd dictionaries", () => {
  test("is told from one with them", () => {
    expect(hasDictionaries()).toBe(true);
    expect(usesDictionaries()).toBe(true);
    expect(hasDictionaries((bytes) => zstdCompressSync(bytes))).toBe(false);
    expect(compressesLarge()).toBe(true);
    const small = (bytes: Uint8Array) => {
      if (bytes.byteLength > 32_768) throw new Error("Unexpected end of file");
      return bytes;
    };
    expect(compressesLarge(small)).toBe(false);
  });
});
