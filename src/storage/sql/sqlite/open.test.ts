// Opening a file that is a store already only reads it: it waits for no lock and writes nothing.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { open } from "../../../open.ts";

describe("opening a SQLite store", () => {
  let folder: string;
  let file: string;
  const digest = () => createHash("sha256").update(readFileSync(file)).digest("hex");
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "holdfast-open-"));
    file = path.join(folder, "store.db");
    const hf = await open(file);
    await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "hello" });
    await hf.close();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("ST11 waits for no writer, and neither does reading", async () => {
    const writer = new DatabaseSync(file);
    writer.exec("BEGIN IMMEDIATE");
    try {
      const hf = await open(file, { busyMs: 0 });
      expect(await hf.history.session("s")).toHaveLength(1);
      expect(await hf.log.verify("s")).toMatchObject({ ok: true });
      await hf.close();
    } finally {
      writer.exec("ROLLBACK");
      writer.close();
    }
  });

  test("ST11 and reading leave the file as it is, byte for byte", async () => {
    const before = digest();
    const hf = await open(file);
    await hf.history.session("s");
    await hf.log.verify("s");
    await hf.stats();
    await hf.close();
    expect(digest()).toBe(before);
  });

  test("ST4 another application's file is refused and stays as it is, byte for byte", async () => {
    file = path.join(folder, "other.db");
    const db = new DatabaseSync(file);
    db.exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    db.close();
    const before = digest();
    for (const options of [{}, { create: false }, { migrate: false }]) {
      await expect(open(file, options)).rejects.toMatchObject({ code: "NotAStore" });
    }
    expect(digest()).toBe(before);
    expect(readdirSync(folder).filter((name) => name.startsWith("other"))).toEqual(["other.db"]);
  });

  test("ST4 an empty file stays empty unless a store may be made of it", async () => {
    file = path.join(folder, "empty.db");
    writeFileSync(file, "");
    await expect(open(file, { create: false })).rejects.toMatchObject({ code: "NotFound" });
    expect(readFileSync(file)).toHaveLength(0);
    const hf = await open(file);
    await hf.close();
    expect(digest()).not.toBe(createHash("sha256").digest("hex"));
  });

  test("LG6 a new store is one whose free pages can be given back", () => {
    const db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare("PRAGMA auto_vacuum").get()?.auto_vacuum).toBe(2);
    expect(db.prepare("PRAGMA journal_mode").get()?.journal_mode).toBe("wal");
    db.close();
  });
});
