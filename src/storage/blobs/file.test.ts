// The file backend keeps whole files or none, never leaves its directory, and lists what a crash left behind.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isHoldfastError } from "../../contracts/errors.ts";
import { fileBlobs } from "./file.ts";

const KEY = `ab/cd/abcd${"0".repeat(60)}-1234`;
const HOUR_MS = 3600 * 1000;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "holdfast-file-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function listed(): Promise<{ key: string; bytes: number; ageMs: number }[]> {
  const found = [];
  for await (const entry of fileBlobs(directory).list()) found.push(entry);
  return found;
}

describe("BL2 bytes as files", () => {
  test("come back, are replaced by nothing, and go", async () => {
    const blobs = fileBlobs(path.join(directory, "not", "there", "yet"));
    await expect(blobs.get(KEY)).rejects.toMatchObject({ code: "MissingDirectory" });
    for await (const entry of blobs.list()) expect.unreachable(`listed ${entry.key}`);
    for (const bytes of [new Uint8Array(0), Uint8Array.of(0, 255, 10, 13), new Uint8Array(3_000_000).fill(7)]) {
      await blobs.put(KEY, bytes);
      expect(Buffer.compare((await blobs.get(KEY)) ?? Buffer.of(1), bytes)).toBe(0);
    }
    await blobs.delete(KEY);
    await blobs.delete(KEY);
    expect(await blobs.get(KEY)).toBeNull();
  });

  test("are written beside and renamed, readable by their owner alone", async () => {
    await fileBlobs(directory).put(KEY, Buffer.from("words"));
    expect(readdirSync(path.join(directory, "tmp"))).toEqual([]);
    expect(statSync(path.join(directory, KEY)).mode & 0o777).toBe(0o600);
    for (const folder of ["ab", "ab/cd", "tmp"])
      expect(statSync(path.join(directory, folder)).mode & 0o777).toBe(0o700);
  });

  test("of many callers at once do not mix, also in a directory that has to be made", async () => {
    const blobs = fileBlobs(path.join(directory, "new"));
    const keys = Array.from({ length: 40 }, (_, i) => `a${i % 3}/b${i % 2}/${i}-x`);
    await Promise.all(keys.map((key) => blobs.put(key, Buffer.from(key.repeat(1000)))));
    for (const key of keys) expect(String(await blobs.get(key))).toBe(key.repeat(1000));
  });

  test("survive a directory that was removed under way", async () => {
    const blobs = fileBlobs(directory);
    await blobs.put(KEY, Buffer.from("one"));
    rmSync(path.join(directory, "ab"), { recursive: true });
    rmSync(path.join(directory, "tmp"), { recursive: true });
    await blobs.put(KEY, Buffer.from("two"));
    expect(String(await blobs.get(KEY))).toBe("two");
  });

  test("that a crash left half-written are never given out, and are listed for collection", async () => {
    const blobs = fileBlobs(directory);
    mkdirSync(path.join(directory, "tmp"));
    const leftover = path.join(directory, "tmp", KEY.replaceAll("/", "_"));
    writeFileSync(leftover, "hal");
    utimesSync(leftover, new Date(), new Date(Date.now() - 2 * HOUR_MS));
    expect(await blobs.get(KEY)).toBeNull();
    const [entry] = await listed();
    expect(entry?.ageMs).toBeGreaterThan(HOUR_MS);
    await blobs.delete(entry?.key ?? "");
    expect(await listed()).toEqual([]);
    writeFileSync(leftover, "hal");
    await blobs.put(KEY, Buffer.from("whole"));
    expect(String(await blobs.get(KEY))).toBe("whole");
    expect((await listed()).map(({ key }) => key)).toEqual([KEY]);
  });

  test("are listed with their sizes and their ages by the file system's own clock", async () => {
    const blobs = fileBlobs(directory);
    await blobs.put(KEY, Buffer.from("young"));
    await blobs.put(`${KEY}2`, Buffer.from("older"));
    utimesSync(path.join(directory, `${KEY}2`), new Date(), new Date(Date.now() - HOUR_MS));
    const found = new Map((await listed()).map((entry) => [entry.key, entry]));
    expect([...found.keys()].sort()).toEqual([KEY, `${KEY}2`]);
    expect(found.get(KEY)?.bytes).toBe(5);
    expect(found.get(KEY)?.ageMs).toBeLessThan(60_000);
    expect(found.get(`${KEY}2`)?.ageMs).toBeGreaterThanOrEqual(HOUR_MS - 1000);
  });
});

describe("ST7 the file backend", () => {
  test("never leaves its directory", async () => {
    const blobs = fileBlobs(path.join(directory, "inside"));
    const outside = path.join(directory, "outside");
    writeFileSync(outside, "secret");
    const hostile = [
      "../outside",
      "a/../../outside",
      "/etc/passwd",
      "",
      ".",
      "..",
      "a//b",
      "a/",
      "a\\b",
      "a\0b",
      ".hidden",
    ];
    for (const key of hostile) {
      for (const call of [() => blobs.get(key), () => blobs.put(key, Buffer.of(1)), () => blobs.delete(key)]) {
        await expect(call(), JSON.stringify(key)).rejects.toMatchObject({ code: "InvalidArgument" });
      }
    }
    expect(existsSync(outside)).toBe(true);
    await blobs.put(KEY, Buffer.of(1));
    rmSync(path.join(directory, "inside", KEY));
    symlinkSync(outside, path.join(directory, "inside", KEY));
    await expect(blobs.get(KEY)).rejects.toSatisfy(isHoldfastError);
  });

  test("refuses what is no directory when it is made", () => {
    for (const wrong of ["", "a\0b", 7, null, undefined]) {
      expect(() => fileBlobs(wrong as string)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
    }
  });

  test("says what the disk refused", async () => {
    const file = path.join(directory, "file");
    writeFileSync(file, "");
    await expect(fileBlobs(file).put(KEY, Buffer.of(1))).rejects.toSatisfy(isHoldfastError);
    if (process.getuid?.() === 0) return; // root may write everywhere
    const locked = path.join(directory, "locked");
    mkdirSync(locked, { mode: 0o500 });
    await expect(fileBlobs(locked).put(KEY, Buffer.of(1))).rejects.toMatchObject({ code: "PermissionDenied" });
    chmodSync(locked, 0o700);
  });
});
