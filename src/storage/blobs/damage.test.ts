// Damage done to the rows and files of blobs: it is noticed, named, and reaches no further than its part.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { open } from "../../open.ts";
import { noise, prose } from "../../testing/expect.ts";
import { fileBlobs } from "./file.ts";
import { SEGMENT_BYTES } from "./segments.ts";

let directory: string;
let store: Holdfast;
const file = () => path.join(directory, "store.db");
const outside = () => path.join(directory, "blobs");

beforeEach(async () => {
  directory = mkdtempSync(path.join(tmpdir(), "holdfast-damage-"));
  store = await open(file());
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

async function useFiles(): Promise<void> {
  await store.close();
  store = await open(file(), { blobs: fileBlobs(outside()) });
}

/** Changes rows behind the store's back. */
function tamper(sql: string, ...params: (string | number | Uint8Array)[]): void {
  const db = new DatabaseSync(file());
  expect(db.prepare(sql).run(...params).changes, `${sql} changed nothing`).toBeGreaterThan(0);
  db.close();
}

/** Flips one bit in the middle of a body. */
function flip(table: string, where: string, ...params: (string | number | Uint8Array)[]): void {
  const db = new DatabaseSync(file());
  const column = table === "events" ? "words" : "body";
  const row = db.prepare(`SELECT rowid AS id, ${column} AS body FROM ${table} WHERE ${where}`).get(...params);
  const body = row?.body as Uint8Array;
  body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 4;
  db.prepare(`UPDATE ${table} SET ${column} = ? WHERE rowid = ?`).run(body, row?.id as number);
  db.close();
}

const CHUNK = "no = (SELECT child_no FROM blob_links WHERE ord = ?)";

async function damageOf(ref: string): Promise<unknown> {
  const error = await store.blobs.resolve(ref).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "BlobCorrupted", details: { ref } });
  expect(await store.blobs.verify(ref)).toMatchObject({ ok: false, reason: expect.stringContaining(ref) });
  return (error as { details: { part: string } }).details.part;
}

async function streamed(ref: string): Promise<{ bytes: Uint8Array; error: unknown }> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of store.blobs.stream(ref)) pieces.push(piece);
    return { bytes: Buffer.concat(pieces), error: null };
  } catch (error) {
    return { bytes: Buffer.concat(pieces), error };
  }
}

describe("BL3 damage", () => {
  test.each([100, 20_000, 500_000])("of a blob of %i bytes in one row is noticed", async (size) => {
    for (const bytes of [noise(size, 1), prose(size, 2)]) {
      const ref = await store.blobs.store(bytes);
      const sha256 = Buffer.from(ref.slice(7), "hex");
      flip("blobs", "sha256 = ?", sha256);
      expect(await damageOf(ref)).toBe("bytes");
      tamper("UPDATE blobs SET body = x'' WHERE sha256 = ?", sha256);
      expect(await damageOf(ref)).toBe("bytes");
      tamper("UPDATE blobs SET body = NULL WHERE sha256 = ?", sha256);
      expect(await damageOf(ref)).toBe("bytes");
    }
  });

  test("of a chunk names the chunk, and what comes before it can still be streamed", async () => {
    const bytes = noise(3_000_000, 3);
    const ref = await store.blobs.store(bytes);
    flip("blobs", CHUNK, 7);
    expect(await damageOf(ref)).toBe("chunk 8");
    const { bytes: read, error } = await streamed(ref);
    expect(error).toMatchObject({ code: "BlobCorrupted", details: { part: "chunk 8" } });
    expect(read.length).toBeGreaterThan(100_000);
    expect(Buffer.compare(read, bytes.subarray(0, read.length))).toBe(0);
  });

  test("of a chunk does not reach a blob that shares other chunks", async () => {
    const shared = noise(2_000_000, 4);
    const first = await store.blobs.store(Buffer.concat([noise(1_000_000, 5), shared]));
    const second = Buffer.concat([noise(1_000_000, 6), shared]);
    const other = await store.blobs.store(second);
    flip("blobs", CHUNK, 0);
    expect(await damageOf(first)).toBe("chunk 1");
    expect(Buffer.compare(await store.blobs.resolve(other), second)).toBe(0);
  });

  test("that leaves every chunk whole but not their order or number is noticed", async () => {
    const ref = await store.blobs.store(noise(2_000_000, 7));
    tamper("UPDATE blob_links SET ord = 1000 WHERE ord = 3");
    expect(await damageOf(ref)).toBe("whole");
    tamper("DELETE FROM blob_links WHERE ord = 1000");
    expect(await damageOf(ref)).toBe("whole");
    tamper("DELETE FROM blob_links");
    expect(await damageOf(ref)).toBe("whole");
  });

  test("of a sealed segment stays in it", async () => {
    const bytes = prose(2 * SEGMENT_BYTES + 500_000, 8);
    const first = await store.blobs.store(bytes.subarray(0, SEGMENT_BYTES - 100_000));
    const last = await store.blobs.store(bytes, { growsFrom: first });
    flip("segment_frames", "segment_id = (SELECT segment_id FROM blob_segments WHERE ord = 1)");
    expect(await damageOf(last)).toBe("segment 2");
    expect((await streamed(last)).error).toMatchObject({ details: { part: "segment 2" } });
    expect(await store.blobs.verify(first)).toEqual({ ok: true, size: SEGMENT_BYTES - 100_000 });
  });

  test("of a frame spoils what was appended after it and nothing before", async () => {
    const bytes = prose(300_000, 9);
    let growsFrom = await store.blobs.store(bytes.subarray(0, 100_000));
    const refs = [growsFrom];
    for (const length of [150_000, 200_000, 300_000]) {
      growsFrom = await store.blobs.store(bytes.subarray(0, length), { growsFrom });
      refs.push(growsFrom);
    }
    flip("segment_frames", "start = 150000");
    expect((await store.blobs.verify(refs[0] ?? "")).ok).toBe(true);
    expect((await store.blobs.verify(refs[1] ?? "")).ok).toBe(true);
    expect(await damageOf(refs[2] ?? "")).toBe("segment 1");
    expect(await damageOf(refs[3] ?? "")).toBe("segment 1");
    // Growing on from it, and collecting beside it, neither fails nor pretends that all is well.
    const next = await store.blobs.store(prose(310_000, 9), { growsFrom: refs[3] ?? "" });
    expect(await damageOf(next)).toBe("segment 1");
    await expect(store.blobs.seal(next)).rejects.toMatchObject({ code: "BlobCorrupted" });
    await store.blobs.gc();
    expect((await store.blobs.verify(refs[1] ?? "")).ok).toBe(true);
  });

  test("of sizes that rows declare exhausts nothing", async () => {
    const ref = await store.blobs.store(prose(10_000, 10));
    for (const size of [0, 9_999, 10_001, 1_900_000_000]) {
      tamper("UPDATE blobs SET size = ?", size);
      expect(await damageOf(ref)).toBe("bytes");
    }
    tamper("UPDATE blobs SET size = ?", -1);
    expect(await damageOf(ref)).toBe("bytes");
    const large = await store.blobs.store(noise(2_000_000, 13));
    tamper("UPDATE blobs SET size = -1 WHERE form = 2");
    await expect(store.blobs.resolve(large)).rejects.toMatchObject({ code: "BlobCorrupted" });
    tamper("UPDATE blobs SET size = ?", 2 ** 52);
    await expect(store.blobs.resolve(ref)).rejects.toMatchObject({ code: "LimitExceeded" });
  });

  test("of a message's payload is BlobCorrupted", async () => {
    const scope = { session: "s", agent: "a" };
    for (const [table, text] of [
      ["events", "short"],
      ["blobs", "long ".repeat(1000)],
    ] as const) {
      const { ref } = await store.history.append(scope, { role: "user", content: text });
      flip(table, "sha256 = ?", Buffer.from(ref.slice(7), "hex"));
      await expect(store.blobs.resolve(ref)).rejects.toMatchObject({ code: "BlobCorrupted" });
      await expect(store.history.get(scope, { last: 1 })).rejects.toMatchObject({
        code: "BlobCorrupted",
        details: { ref },
      });
    }
  });

  test("of a row that names a blob which is not there is told, not passed over", async () => {
    const scope = { session: "s", agent: "a" };
    const { ref } = await store.history.append(scope, { role: "user", content: "long ".repeat(1000) });
    tamper("DELETE FROM blobs");
    await expect(store.history.get(scope)).rejects.toMatchObject({
      code: "StoreCorrupted",
      details: { kind: "message", session: "s", column: "content" },
    });
    expect(await store.blobs.exists(ref)).toBe(false);
    // What is damaged can still be cleared, and is counted.
    expect((await store.history.clear(scope)).removed.messages).toBe(1);
    expect(await store.history.get(scope)).toEqual([]);
  });

  test("of files is noticed, and so are files that are gone", async () => {
    await useFiles();
    const small = await store.blobs.store(noise(1_000, 11));
    const large = await store.blobs.store(noise(2_000_000, 12));
    const scope = { session: "s", agent: "a" };
    const message = await store.history.append(scope, { role: "user", content: "kept outside ".repeat(100) });
    const files = readdirSync(outside(), { recursive: true, encoding: "utf8" }).filter((name) =>
      /[0-9a-f]{64}-/.test(name),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const name of files) {
      const bytes = readFileSync(path.join(outside(), name));
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      writeFileSync(path.join(outside(), name), bytes);
    }
    expect(await damageOf(small)).toBe("bytes");
    expect(await damageOf(large)).toBe("chunk 1");
    await expect(store.history.get(scope)).rejects.toMatchObject({
      code: "BlobCorrupted",
      details: { ref: message.ref },
    });
    for (const name of files) rmSync(path.join(outside(), name));
    expect(await damageOf(small)).toBe("bytes");
    expect(await damageOf(large)).toBe("chunk 1");
    expect(await store.blobs.delete(large)).toBe(true);
  });

  test("is not what a store without its backend reports", async () => {
    await useFiles();
    const ref = await store.blobs.store("outside");
    await store.close();
    store = await open(file());
    await expect(store.blobs.resolve(ref)).rejects.toMatchObject({ code: "StoreUnreachable" });
    await expect(store.blobs.verify(ref)).rejects.toMatchObject({ code: "StoreUnreachable" });
    expect(await store.blobs.exists(ref)).toBe(true);
  });
});
