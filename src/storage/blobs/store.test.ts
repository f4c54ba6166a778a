// What the contract suites cannot see of the blob store: rows that change between being read and being deleted, uploads
// that never end, bytes without rows and rows without bytes, memory, and many callers doing everything at once.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Schema, takeSchema } from "../../../test/schemas.ts";
import type { BlobBackend, Blobs } from "../../contracts/blobs.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Commit } from "../../contracts/storage/commit.ts";
import type { BlobRow } from "../../contracts/storage/rows.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { sha256, toRef } from "../../core/bytes.ts";
import { checkRef } from "../../core/check.ts";
import { open } from "../../open.ts";
import { adjustableEnvironment, xorshift128 } from "../../testing/environment.ts";
import { noise, present, prose, range, refOf } from "../../testing/expect.ts";
import { isLong, scaled } from "../../testing/scale.ts";
import type { Driver } from "../sql/driver.ts";
import { migrate } from "../sql/migrations.ts";
import { openSqlite } from "../sql/sqlite/driver.ts";
import { SqlStorage } from "../sql/store.ts";
import { type BlobContext, createByteStore } from "./byte-store.ts";
import { dropBlobs } from "./drop.ts";
import { fileBlobs } from "./file.ts";
import { createPayloads } from "./payloads.ts";
import { createBlobs } from "./store.ts";
import { Upload } from "./upload.ts";

const HOUR_MS = 3600 * 1000;
const SERVER = process.env.HOLDFAST_TEST_POSTGRES;
/** `npm test` has each engine and each place of the bytes, and not each engine with each place. */
const ON_SERVER = scaled({ short: ["postgres"], long: ["postgres", "postgres, files"] });
const KINDS = ["sqlite", "sqlite, files", ...(SERVER === undefined ? [] : ON_SERVER)];

interface Fixture {
  readonly storage: Storage;
  readonly context: BlobContext;
  readonly blobs: Blobs;
  readonly backend: BlobBackend | undefined;
  readonly environment: ReturnType<typeof adjustableEnvironment>;
}

let directory: string;
const opened: { close(): Promise<void> }[] = [];
const outside = () => path.join(directory, "blobs");

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "holdfast-blobs-"));
});
afterEach(async () => {
  // The schema of a store is left when the store is closed.
  for (const one of opened.splice(0).toReversed()) await one.close();
  rmSync(directory, { recursive: true, force: true });
});

/** An empty store that is left when the test ends. */
async function emptySchema(): Promise<Schema> {
  const schema = await takeSchema();
  opened.push({ close: () => schema.leave() });
  return schema;
}

async function connect(kind: string, environment: Fixture["environment"]): Promise<Driver> {
  const shared = { durability: "full", busyMs: 30_000 } as const;
  if (kind.startsWith("sqlite")) return openSqlite({ ...shared, environment, path: path.join(directory, "store.db") });
  return (await emptySchema()).driver({ ...shared, poolSize: 10 });
}

async function fixture(kind: string): Promise<Fixture> {
  const environment = adjustableEnvironment();
  const driver = await connect(kind, environment);
  await migrate(driver, { create: true, migrate: true, environment, target: kind });
  const storage = new SqlStorage(driver, environment);
  opened.push(storage);
  const backend = kind.endsWith("files") ? fileBlobs(outside()) : undefined;
  const context = { storage, byteStore: createByteStore(storage, backend) };
  const blobs = createBlobs(storage, { ttlMs: 7 * 24 * HOUR_MS, ...(backend === undefined ? {} : { backend }) });
  return { storage, context, blobs, backend, environment };
}

async function rowOf({ storage }: Fixture, ref: string): Promise<BlobRow> {
  return present((await storage.query("blob.head", { sha256: checkRef(ref) }))[0]);
}

async function counts({ storage }: Fixture): Promise<Record<string, number>> {
  const tables = ["blobs", "blob_links", "segments", "segment_frames", "blob_segments"];
  const found = (await storage.query("stats.tables", {})).filter((row) => tables.includes(row.name));
  return Object.fromEntries(found.filter((row) => Number(row.rows) > 0).map((row) => [row.name, Number(row.rows)]));
}

function files(): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /[0-9a-f]{64}-/.test(name));
}

async function collect({ blobs, environment }: Fixture, runs = 3): Promise<number> {
  let deleted = 0;
  for (let run = 0; run < runs; run++) {
    await environment.advance(2 * HOUR_MS);
    deleted += (await blobs.gc()).deleted;
  }
  return deleted;
}

describe.each(KINDS)("BL4 collection (%s)", (kind) => {
  /** What callers may do between the moment a row is read as garbage and the moment it would be deleted. */
  const rescues: Record<string, (given: Fixture, ref: string, bytes: Uint8Array) => Promise<unknown>> = {
    "stored again": ({ blobs }, _, bytes) => blobs.store(bytes),
    pinned: async ({ storage }, ref) =>
      storage.commit({ writes: [{ op: "run", statement: "blob.pin", params: [1, 1, checkRef(ref)] }] }),
    "named by a payload": async ({ storage, backend }, ref) => {
      const child = checkRef(ref);
      return createPayloads(storage, backend).preparing(async (prepare) => {
        const made = await prepare(Buffer.from(`names ${ref}`), { media: "text/plain", utf8: true, children: [child] });
        return storage.commit({ blobs: made.blobs, writes: made.writes, uses: [[child, 0]] });
      });
    },
    "a row's payload": async ({ storage, backend }, _, bytes) => {
      return createPayloads(storage, backend).preparing(async (prepare) => {
        const made = await prepare(bytes, { media: "text/plain", utf8: true });
        return storage.commit({ blobs: made.blobs, writes: made.writes });
      });
    },
  };

  test.each(Object.keys(rescues))("does not delete a row that was %s since it was read", async (name) => {
    const given = await fixture(kind);
    for (const size of [500, 1_500_000]) {
      const bytes = noise(size, 1);
      const ref = await given.blobs.store(bytes, { ttlMs: 0 });
      const stale = await rowOf(given, ref);
      const bystander = await given.blobs.store(`bystander of ${size}`, { ttlMs: 0 });
      const other = await rowOf(given, bystander);
      await present(rescues[name])(given, ref, bytes);
      expect((await dropBlobs(given.context, [stale, other])).blobs).toBe(1);
      expect(await given.blobs.verify(ref)).toEqual({ ok: true, size });
      expect(await given.blobs.stat(bystander)).toBeNull();
    }
  });

  test("counts what goes exactly as its dry run predicted, shared chunks and segments too", async () => {
    const given = await fixture(kind);
    const { blobs, environment } = given;
    const shared = noise(2_000_000, 2);
    await blobs.store(Buffer.concat([shared, noise(300_000, 3)]), { ttlMs: 0 });
    await blobs.store(Buffer.concat([shared, noise(300_000, 4)]), { ttlMs: 0 });
    const kept = await blobs.store(shared, { ttlMs: null });
    const text = prose(200_000, 5);
    const growsFrom = await blobs.store(text.subarray(0, 100_000), { ttlMs: HOUR_MS });
    await blobs.store(text, { growsFrom, ttlMs: HOUR_MS });
    await blobs.store("small", { ttlMs: 0 });
    await environment.advance(2 * HOUR_MS);
    const predicted = await blobs.gc({ dryRun: true });
    expect(predicted).toMatchObject({ deleted: 5, condemned: 5 });
    const before = (await given.storage.query("stats.blobs", {})).reduce((sum, row) => sum + row.stored, 0);
    const reports = [await blobs.gc(), await blobs.gc(), await blobs.gc()];
    const after = (await given.storage.query("stats.blobs", {})).reduce((sum, row) => sum + row.stored, 0);
    expect(reports.reduce((sum, report) => sum + report.deleted, 0)).toBe(5);
    expect(reports.reduce((sum, report) => sum + report.bytes, 0)).toBe(predicted.bytes);
    expect(before - after).toBe(predicted.bytes);
    expect(await blobs.gc({ dryRun: true })).toMatchObject({ deleted: 0, bytes: 0 });
    expect(await blobs.verify(kept)).toEqual({ ok: true, size: 2_000_000 });
    if (kind.endsWith("files")) expect(files()).toHaveLength(((await counts(given)).blobs ?? 0) - 1);
  });

  test("keeps what was condemned while the clock was ahead", async () => {
    const { blobs, environment } = await fixture(kind);
    const refs = [await blobs.store("a week"), await blobs.store(noise(1_200_000, 6))];
    environment.jump(1000 * 24 * HOUR_MS);
    await blobs.gc();
    expect((await blobs.gc()).condemned).toBe(2);
    environment.jump(-1000 * 24 * HOUR_MS);
    for (let run = 0; run < 3; run++) expect((await blobs.gc()).deleted).toBe(0);
    for (const ref of refs) expect((await blobs.verify(ref)).ok).toBe(true);
    environment.jump(-5000 * 24 * HOUR_MS);
    for (let run = 0; run < 4; run++) expect((await blobs.gc()).deleted).toBe(0);
    for (const ref of refs) expect((await blobs.verify(ref)).ok).toBe(true);
  });

  test("frees what a payload alone named, and its chunks, when the payload has gone", async () => {
    const given = await fixture(kind);
    const { storage, blobs, backend } = given;
    const named = checkRef(await blobs.store(noise(1_300_000, 7), { ttlMs: 0 }));
    const options = { media: "text/plain", utf8: true, children: [named] };
    await createPayloads(storage, backend).preparing(async (prepare) => {
      const made = await prepare(Buffer.from("a message"), options);
      const refsZero = made.blobs.map((blob) => ({ ...blob, refs: 0 }));
      await storage.commit({ blobs: refsZero, writes: made.writes, uses: [[named, 0]] });
    });
    expect(await blobs.gc({ dryRun: true })).toMatchObject({ deleted: 2 });
    expect(await collect(given, 6)).toBe(2);
    expect(await counts(given)).toEqual({});
    expect(files()).toEqual([]);
  });

  test("removes an upload that never ended, and tells one that went on too late", async () => {
    const given = await fixture(kind);
    const upload = new Upload(given.context);
    await upload.add([noise(100_000, 8), noise(100_000, 9), noise(100_000, 8)]);
    await upload.add([noise(100_000, 10)]);
    await given.blobs.gc();
    await given.blobs.gc();
    await given.blobs.gc();
    await upload.add([noise(100_000, 11)]);
    expect(await counts(given)).toEqual({ blobs: 5, blob_links: 5 });
    expect(await collect(given)).toBe(0);
    expect(await counts(given)).toEqual({});
    expect(files()).toEqual([]);
    await expect(upload.add([noise(10, 12)])).rejects.toMatchObject({ code: "Conflict", retryable: true });
  });

  test("removes links and segments whose blob was deleted without them", async () => {
    const given = await fixture(kind);
    const { storage, blobs } = given;
    const large = await blobs.store(noise(1_500_000, 13));
    const growsFrom = await blobs.store("grows");
    const grown = await blobs.store("grows on", { growsFrom });
    for (const ref of [large, growsFrom, grown]) {
      await storage.commit({ writes: [{ op: "run", statement: "blob.drop", params: [checkRef(ref)] }] });
    }
    await collect(given, 4);
    expect(await counts(given)).toEqual({});
    expect(files()).toEqual([]);
  });
});

describe.each(KINDS)("BL4 delete (%s)", (kind) => {
  test("takes all parts at once, and only those that no other blob shares", async () => {
    const given = await fixture(kind);
    const { blobs } = given;
    const shared = noise(1_500_000, 14);
    const first = await blobs.store(shared);
    const second = await blobs.store(Buffer.concat([shared, noise(500_000, 15)]));
    expect(await blobs.delete(first)).toBe(true);
    expect((await blobs.verify(second)).ok).toBe(true);
    await blobs.pin(second);
    expect(await blobs.delete(second)).toBe(true);
    expect(await counts(given)).toEqual({});
    expect(files()).toEqual([]);
  });

  test("of one blob leaves an upload of another that shares its chunks whole", async () => {
    const { blobs } = await fixture(kind);
    const shared = noise(6_000_000, 16);
    const doomed = await blobs.store(shared);
    const tail = noise(1_000_000, 17);
    async function* source() {
      yield shared;
      expect(await blobs.delete(doomed)).toBe(true);
      yield tail;
    }
    const ref = await blobs.store(source());
    expect(ref).toBe(refOf(Buffer.concat([shared, tail])));
    expect(await blobs.verify(ref)).toEqual({ ok: true, size: 7_000_000 });
  });

  test("beside readers gives them whole bytes or BlobNotFound", async () => {
    const { blobs } = await fixture(kind);
    const bytes = noise(3_000_000, 18);
    for (let round = 0; round < scaled({ short: 2, long: 3 }); round++) {
      const ref = await blobs.store(bytes);
      const reads = range(4).map(() => blobs.resolve(ref).catch((error: unknown) => error));
      await blobs.delete(ref);
      for (const read of await Promise.all(reads)) {
        if (read instanceof Uint8Array) expect(Buffer.compare(read, bytes)).toBe(0);
        else expect(read).toMatchObject({ code: "BlobNotFound" });
      }
    }
  });
});

describe("BL2 bytes outside the database", () => {
  test("without a row are removed when they are old, and counted", async () => {
    const given = await fixture("sqlite, files");
    const ref = await given.blobs.store("kept");
    const backend = present(given.backend);
    const orphan = `ab/cd/${"ab".repeat(32)}-00`;
    const young = `ab/cd/${"ab".repeat(32)}-01`;
    await backend.put(orphan, Buffer.from("nobody's"));
    await backend.put(young, Buffer.from("of a commit under way"));
    writeFileSync(path.join(outside(), "tmp", "half-written"), "ha");
    const old = new Date(Date.now() - 2 * HOUR_MS);
    for (const name of [orphan, "tmp/half-written", ...files().filter((name) => !name.includes("ab/cd"))]) {
      utimesSync(path.join(outside(), name.replace(/^blobs\//, "")), old, old);
    }
    expect(await given.blobs.gc({ dryRun: true })).toMatchObject({ orphans: 2, bytes: 10 });
    expect(await given.blobs.gc()).toMatchObject({ orphans: 2, bytes: 10, deleted: 0 });
    expect(await given.blobs.gc()).toMatchObject({ orphans: 0 });
    expect(await backend.get(young)).not.toBeNull();
    expect(await given.blobs.resolveText(ref)).toBe("kept");
  });

  test("are not written again for what is there, nor left behind by the second writer", async () => {
    const given = await fixture("sqlite, files");
    const bytes = noise(50_000, 19);
    await Promise.all(range(6).map(() => given.blobs.store(bytes)));
    expect(files()).toHaveLength(1);
    const payloads = createPayloads(given.storage, given.backend);
    await payloads.preparing(async (prepare) => {
      const made = await prepare(bytes, { media: "image/png", utf8: false });
      expect(files()).toHaveLength(1);
      await given.storage.commit({ blobs: made.blobs, writes: made.writes });
    });
    expect(await counts(given)).toEqual({ blobs: 1 });
    expect((await given.blobs.stat(refOf(bytes)))?.references).toBe(1);
  });

  test("of a message that two handles send at once are one file, and leave with it", async () => {
    const url = path.join(directory, "store.db");
    const [one, two] = [
      await open(url, { blobs: fileBlobs(outside()) }),
      await open(url, { blobs: fileBlobs(outside()) }),
    ];
    opened.push(one, two);
    const scope = { session: "s", agent: "a" };
    for (const key of range(10).map(String)) {
      const message = { role: "user", key, content: `${key} ${"words ".repeat(500)}` } as const;
      await Promise.all([one.history.append(scope, message), two.history.append(scope, message)]);
    }
    expect(files()).toHaveLength(10);
    await one.sessions.delete("s");
    expect(files()).toEqual([]);
  });

  test("that the backend did not keep are never committed", async () => {
    const given = await fixture("sqlite");
    mkdirSync(outside(), { recursive: true });
    const wrong: BlobBackend = { ...fileBlobs(outside()), put: async () => {} };
    const blobs = createBlobs(given.storage, { ttlMs: null, backend: wrong });
    for (const bytes of [noise(10, 1), noise(2_000_000, 1)]) {
      await expect(blobs.store(bytes)).rejects.toMatchObject({ code: "StoreUnreachable" });
      expect(await blobs.exists(refOf(bytes))).toBe(false);
    }
    expect(await counts(given)).toEqual({});
  });
});

describe.each(KINDS)("BL2 payloads of rows (%s)", (kind) => {
  test("of any size come back and count one reference", async () => {
    const given = await fixture(kind);
    const payloads = createPayloads(given.storage, given.backend);
    const largest = isLong || !kind.endsWith("files") ? [9_000_000] : [];
    for (const size of [0, 900, 100_000, 1_048_576, ...largest]) await comesBack(given, payloads, size);
  });

  async function comesBack(given: Fixture, payloads: ReturnType<typeof createPayloads>, size: number): Promise<void> {
    const bytes = prose(size, 20);
    const options = { media: "application/json", utf8: true };
    for (const references of [1, 2]) {
      const copy = new Uint8Array(bytes);
      const made = await payloads.preparing(async (prepare) => {
        const prepared = prepare(copy, options);
        expect(prepared instanceof Promise).toBe(size >= 1_048_576 || kind.endsWith("files"));
        const ready = await prepared;
        copy.fill(0);
        expect(ready.salt).toHaveLength(16);
        const outcome = await given.storage.commit({ blobs: ready.blobs, writes: ready.writes });
        expect(outcome.ok).toBe(true);
        return ready;
      });
      expect((await given.blobs.stat(toRef(made.sha256)))?.references).toBe(references);
      const row = present((await given.storage.query("blob.get", { sha256: made.sha256 }))[0]);
      const read = payloads.read({ ...row, blob_key: row.key });
      expect(Buffer.compare(await read, bytes)).toBe(0);
    }
    await expect(given.blobs.delete(refOf(bytes))).rejects.toMatchObject({ code: "Conflict" });
    const uploads = (await given.storage.query("stats.blobs", {})).filter((row) => row.form === 4);
    expect(uploads, "no holder is left").toEqual([]);
  }

  test("of any size that no commit took are gone, and others' stay", async () => {
    const given = await fixture(kind);
    const payloads = createPayloads(given.storage, given.backend);
    for (const size of [900, 100_000, 3_000_000]) await leavesNothing(given, payloads, size);
  });

  async function leavesNothing(
    given: Fixture,
    payloads: ReturnType<typeof createPayloads>,
    size: number,
  ): Promise<void> {
    const options = { media: "application/json", utf8: true };
    const unused = (bytes: Uint8Array) => payloads.preparing(async (prepare) => void (await prepare(bytes, options)));
    await unused(noise(size, 1));
    expect(await counts(given)).toEqual({});
    expect(files()).toEqual([]);

    const kept = noise(size, 2);
    const ref = await given.blobs.store(kept, { ttlMs: null });
    const [before, beforeOutside] = [await counts(given), files()];
    await unused(kept);
    await expect(
      payloads.preparing(async (prepare) => {
        await prepare(kept, options);
        throw new HoldfastError("Conflict", "decided otherwise");
      }),
    ).rejects.toMatchObject({ code: "Conflict" });
    expect(await counts(given)).toEqual(before);
    expect(files()).toEqual(beforeOutside);
    expect(Buffer.compare(await given.blobs.resolve(ref), kept)).toBe(0);
    await given.blobs.delete(ref);
  }

  test("are left alone while it is unknown whether their commit happened", async () => {
    const given = await fixture(kind);
    const payloads = createPayloads(given.storage, given.backend);
    const bytes = noise(3_000_000, 3);
    let late: Commit = {};
    const lost = payloads.preparing(async (prepare) => {
      late = await prepare(bytes, { media: "application/json", utf8: true });
      throw new HoldfastError("StoreUnreachable", "the answer was lost");
    });
    await expect(lost).rejects.toMatchObject({ code: "StoreUnreachable" });
    const { blobs = [], writes = [], uses = [] } = late;
    expect(await given.storage.commit({ blobs, writes, uses })).toMatchObject({ ok: true });
    expect(Buffer.compare(await given.blobs.resolve(refOf(bytes)), bytes)).toBe(0);
  });

  test("that waited until their parts were collected are refused", async () => {
    const given = await fixture(kind);
    // In chunks, and, where bytes are outside the database, those that are there already.
    for (const bytes of [noise(1_500_000, 24), ...(kind.endsWith("files") ? [noise(50_000, 25)] : [])]) {
      await given.blobs.store(bytes, { ttlMs: 0 });
      const payloads = createPayloads(given.storage, given.backend);
      const outcome = await payloads.preparing(async (prepare) => {
        const { blobs, writes, uses } = await prepare(bytes, { media: "text/plain", utf8: false });
        await collect(given, 6);
        return given.storage.commit({ blobs, writes, uses });
      });
      expect(outcome).toMatchObject({ ok: false, refused: { reason: "parts-missing" } });
      expect(await given.blobs.stat(refOf(bytes))).toBeNull();
    }
  });
});

describe("BL5 a blob of 300 MB", () => {
  test("comes and goes as a stream in bounded memory", { timeout: 240_000 }, async () => {
    const store = await open(path.join(directory, "store.db"), { durability: "normal" });
    opened.push(store);
    const base = noise(1_000_000, 21);
    const hash = createHash("sha256");
    let most = 0;
    const look = () => {
      most = Math.max(most, process.memoryUsage().rss);
    };
    function* pieces(): Generator<Uint8Array> {
      for (let n = 0; n < 300; n++) {
        const piece = Buffer.from(base);
        for (let at = 0; at < piece.length; at += 4096) piece.writeUInt32LE((n * 7919 + at) >>> 0, at);
        hash.update(piece);
        look();
        yield piece;
      }
    }
    const before = process.memoryUsage().rss;
    const ref = await store.blobs.store(pieces());
    expect(ref).toBe(`sha256:${hash.digest("hex")}`);
    let size = 0;
    for await (const piece of store.blobs.stream(ref)) {
      size += piece.length;
      look();
    }
    expect(size).toBe(300_000_000);
    expect((most - before) / 1e6).toBeLessThan(250);
  });
});

describe.each(KINDS)("BL4 everything at once (%s)", (kind) => {
  const small = range(6).map((n) => prose(300 + n * 4000, n + 1));
  const base = noise(1_200_000, 22);
  const large = range(4).map((n) =>
    Buffer.concat([base.subarray(0, n * 300_000), Buffer.of(n), base.subarray(n * 300_000)]),
  );
  const text = prose(400_000, 23);
  const expected = ["BlobNotFound", "BlobExpired", "Conflict"];

  test("gives right bytes or a typed refusal, and leaves nothing behind", { timeout: 180_000 }, async () => {
    const environment = adjustableEnvironment();
    const target = kind.startsWith("sqlite") ? path.join(directory, "store.db") : (await emptySchema()).url;
    const options = { environment, ...(kind.endsWith("files") ? { blobs: fileBlobs(outside()) } : {}) };
    const handles: Holdfast[] = [];
    for (const _ of range(3)) handles.push(await open(target, options));
    opened.push(...handles);
    const next = xorshift128(7);
    const pick = <T>(items: readonly T[]): T => present(items[next() % items.length]);
    const contents = new Map<string, Uint8Array>();
    const stored = async (blobs: Blobs, bytes: Uint8Array, growsFrom?: string) => {
      const ref = toRef(sha256(bytes));
      contents.set(ref, bytes);
      await blobs.store(bytes, {
        ttlMs: next() % 3 === 0 ? null : 1000,
        ...(growsFrom === undefined ? {} : { growsFrom }),
      });
    };
    const someRef = () => pick([refOf("never"), ...contents.keys()]);
    const grown = () => {
      const end = next() % 4 === 0 ? [Buffer.of(next() % 3)] : [];
      return Buffer.concat([text.subarray(0, 1000 + (next() % 390_000)), ...end]);
    };
    const acts: ((store: Holdfast) => Promise<unknown>)[] = [
      ({ blobs }) => stored(blobs, pick(small)),
      ({ blobs }) => stored(blobs, pick(large)),
      ({ blobs }) => stored(blobs, grown(), someRef()),
      ({ blobs }) =>
        stored(
          blobs,
          grown(),
          pick(
            [...contents]
              .filter(([, one]) => text[0] === one[0])
              .map(([ref]) => ref)
              .concat(refOf("none")),
          ),
        ),
      ({ blobs }) => blobs.delete(someRef()),
      ({ blobs }) => blobs.pin(someRef()),
      ({ blobs }) => blobs.unpin(someRef()),
      ({ blobs }) => blobs.seal(someRef()),
      ({ blobs }) => blobs.gc({ dryRun: next() % 4 === 0 }),
      async ({ blobs }) => {
        const ref = someRef();
        expect(Buffer.compare(await blobs.resolve(ref), present(contents.get(ref)))).toBe(0);
      },
    ];
    for (let round = 0; round < scaled({ short: 3, long: 25 }); round++) {
      const work = range(10).map(() => pick(acts)(pick(handles)));
      for (const outcome of await Promise.allSettled(work)) {
        if (outcome.status === "fulfilled") continue;
        expect(outcome.reason).toBeInstanceOf(HoldfastError);
        expect(expected, String(outcome.reason?.stack)).toContain(outcome.reason.code);
      }
      if (round % 3 === 0) await environment.advance(next() % 4000);
    }
    const { blobs, stats } = present(handles[0]);
    for (const [ref, bytes] of contents) {
      const check = await blobs.verify(ref);
      if (!check.ok) expect(check.reason).toMatch(/no blob|expired/);
      else expect(check.size).toBe(bytes.length);
      await blobs.unpin(ref).catch(() => {});
      await blobs.delete(ref);
    }
    for (const handle of handles) {
      await environment.advance(2 * HOUR_MS);
      await handle.blobs.gc();
    }
    await blobs.gc();
    const { nouns } = await stats();
    for (const noun of ["blobs", "blob_links", "segments", "segment_frames", "blob_segments"]) {
      expect(nouns[noun], noun).toEqual({ rows: 0 });
    }
    expect(files()).toEqual([]);
  });
});
