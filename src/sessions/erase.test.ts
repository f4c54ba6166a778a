// Erased texts are in no row, in no free page of the file and not in the WAL; content that other rows still name stays.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import { ownDatabase, whyUnreadable } from "../../test/server-files.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { adjustableEnvironment } from "../testing/environment.ts";

/** Hardly compressible, so that the marks stand in the file as they are. */
function marked(bytes: number, mark: string): Uint8Array {
  const data = Buffer.alloc(bytes);
  for (let i = 0; i < data.length; i += 4) data.writeUInt32LE(Math.imul(i + 7, 2654435761) >>> 0, i);
  for (let at = 0; at < data.length; at += 50_000) data.write(mark, at);
  return new Uint8Array(data);
}

describe("erasing on SQLite", () => {
  let directory: string;
  let file: string;
  let hf: Holdfast;
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), "holdfast-erase-"));
    file = join(directory, "store.db");
    hf = await open(file);
  });
  afterEach(async () => {
    await hf.close();
    rmSync(directory, { recursive: true, force: true });
  });

  /** How often the word occurs in the files. */
  const times = (word: string) =>
    [file, `${file}-wal`]
      .filter((path) => existsSync(path))
      .map((path) => readFileSync(path).toString("latin1").split(word).length - 1)
      .reduce((a, b) => a + b, 0);

  test("LG6 texts of cleared messages and of a deleted session are in no file", async () => {
    const scope = { session: "chat", agent: "helper" };
    for (let i = 0; i < 40; i++) {
      await hf.history.append(scope, { role: "user", content: `xyzzy-cleared ${i}` });
      await hf.history.append({ ...scope, agent: "other" }, { role: "user", content: `plugh-kept ${i}` });
    }
    expect(times("xyzzy-cleared")).toBeGreaterThan(0);
    await hf.history.clear(scope);
    expect(times("xyzzy-cleared")).toBe(0);
    expect(times("plugh-kept")).toBeGreaterThanOrEqual(40);
    await hf.state.set("chat", { note: "plover-state" });
    await hf.log.annotate("chat", { note: "y2-note" });
    await hf.tasks.create("chat", ["foobar-task"]);
    await hf.sessions.update("chat", { title: "quux-title" });
    expect(["plover-state", "y2-note", "foobar-task", "quux-title"].every((word) => times(word) > 0)).toBe(true);
    await hf.sessions.delete("chat");
    const words = ["plugh-kept", "plover-state", "y2-note", "foobar-task", "quux-title"];
    expect(words.filter((word) => times(word) > 0)).toEqual([]);
  });

  test("LG6 an attachment of several megabytes goes with its message, every part of it", async () => {
    const scope = { session: "chat", agent: "helper" };
    const image = {
      type: "image",
      source: { data: marked(3_000_000, "grue-attached"), mediaType: "image/png" },
    } as const;
    await hf.history.append(scope, { role: "user", content: [image] });
    expect(times("grue-attached")).toBeGreaterThan(10);
    await hf.history.clear(scope);
    expect(times("grue-attached")).toBe(0);
    expect((await hf.stats()).blobs.count).toBe(0);
  });

  /** Puts a word where SQLite leaves one when it moves a row: between a page's list of its rows and the first row. */
  function plant(word: string): void {
    const bytes = readFileSync(file);
    const pageBytes = bytes.readUInt16BE(16);
    const TABLE_LEAF = 13;
    for (let page = pageBytes; page < bytes.length; page += pageBytes) {
      const gapStart = 8 + 2 * bytes.readUInt16BE(page + 3);
      const gapEnd = bytes.readUInt16BE(page + 5);
      if (bytes[page] !== TABLE_LEAF || gapEnd - gapStart < word.length) continue;
      bytes.write(word, page + gapEnd - word.length, "latin1");
      writeFileSync(file, bytes);
      return;
    }
    expect.unreachable("no page has a gap");
  }

  test("LG6 a vacuum also removes what SQLite left in the gaps of pages, and nothing else", async () => {
    const scope = { session: "chat", agent: "helper" };
    const kept = await hf.history.append(scope, { role: "user", content: "kept" });
    await hf.close();
    plant("grue-moved");
    hf = await open(file);
    await hf.blobs.gc();
    expect(times("grue-moved")).toBe(1);
    const reader = await open(file);
    await hf.blobs.gc({ vacuum: true });
    expect(times("grue-moved")).toBe(0);
    expect(await reader.history.get(scope)).toEqual([kept]);
    await reader.close();
    expect(await hf.history.append(scope, { role: "user", content: "more" })).toMatchObject({ seq: kept.seq + 1 });
    expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
    const db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare("PRAGMA integrity_check").get()?.integrity_check).toBe("ok");
    expect(db.prepare("PRAGMA auto_vacuum").get()?.auto_vacuum, "still incremental").toBe(2);
    db.close();
  });

  test("LG6 a vacuum that cannot get rid of the old pages says so", async () => {
    await hf.history.append({ session: "chat", agent: "helper" }, { role: "user", content: "kept" });
    await hf.close();
    hf = await open(file, { busyMs: 50 });
    const reader = new DatabaseSync(file);
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM events").get();
    await expect(hf.blobs.gc({ vacuum: true })).rejects.toMatchObject({ code: "StoreBusy", retryable: true });
    reader.exec("COMMIT");
    reader.close();
    await hf.blobs.gc({ vacuum: true });
  });

  test("LG6 clearing removes the salt, so that a guess cannot be confirmed", async () => {
    const scope = { session: "chat", agent: "helper" };
    const { ref } = await hf.history.append(scope, { role: "user", content: "yes" });
    expect(await hf.blobs.exists(ref)).toBe(true);
    await hf.history.clear(scope);
    const db = new DatabaseSync(file, { readOnly: true });
    const [row] = db.prepare("SELECT sha256, words, content, salt, key, erased_seq FROM events WHERE seq = 2").all();
    const refs = db.prepare("SELECT count(*) AS n FROM word_refs").get();
    db.close();
    const gone = { sha256: null, words: null, content: null, salt: null, key: null };
    expect({ ...row }).toEqual({ ...gone, erased_seq: 3 });
    expect(refs?.n).toBe(0);
    expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
  });
});

const trouble = await whyUnreadable();
const onPostgres = "erasing on PostgreSQL";

describe.skipIf(trouble !== null)(trouble === null ? onPostgres : `${onPostgres} (skipped: ${trouble})`, () => {
  test("LG6 what cleared messages left is vacuumed at once, and attachments leave the tables' files", async () => {
    const database = await ownDatabase();
    const hf = await open(database.url);
    try {
      const scope = { session: "chat", agent: "helper" };
      const source = { data: marked(400_000, "grue-attached"), mediaType: "image/png" };
      await hf.history.append(scope, { role: "user", content: [{ type: "image", source }] });
      const said = "xyzzy-cleared ".repeat(100);
      for (let i = 0; i < 100; i++) await hf.history.append(scope, { role: "user", content: `${said} ${i}` });
      expect(await database.times("xyzzy-cleared")).toBeGreaterThanOrEqual(100);
      const vacuums = await database.vacuums("events");
      expect(await database.times("grue-attached")).toBeGreaterThan(3);
      await hf.history.clear(scope);
      // Inline content is overwritten by vacuum; blobs, which have their own rows, are removed at once.
      expect(await database.vacuums("events")).toBeGreaterThan(vacuums);
      expect(await database.times("xyzzy-cleared")).toBe(0);
      expect(await database.times("grue-attached")).toBe(0);
    } finally {
      await hf.close();
      await database.end();
    }
  });
});

for (const engine of ENGINES) {
  describe(`erasing on ${engine.name}`, () => {
    test("LG6 content that another message names or contains stays, and is removed with the last one", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      try {
        const bytes = new TextEncoder().encode("shared attachment");
        const image = { type: "image", source: { data: bytes, mediaType: "image/png" } } as const;
        const scopes = ["a", "b"].map((session) => ({ session, agent: "helper" }));
        const refs = [];
        for (const scope of scopes) {
          // Another text beside the same picture, and the same text in both.
          const [one, two] = await hf.history.appendMany(scope, [
            { role: "user", content: [{ type: "text", text: scope.session }, image] },
            { role: "user", content: "the same words" },
          ]);
          const source = one?.content[1]?.type === "image" ? one.content[1].source : undefined;
          refs.push(source?.ref ?? "", two?.ref ?? "");
        }
        await hf.history.clear({ session: "a", agent: "helper" });
        for (const ref of refs) expect((await hf.blobs.verify(ref)).ok).toBe(true);
        expect(await hf.history.count({ session: "b", agent: "helper" })).toBe(2);
        expect(await hf.history.get({ session: "b", agent: "helper" })).toHaveLength(2);
        await hf.sessions.delete("b");
        for (const ref of refs) expect(await hf.blobs.exists(ref)).toBe(false);
      } finally {
        await hf.close();
        await ground.end();
      }
    });

    test("LG6 an attachment that another handle names at that moment is not removed", async () => {
      const ground = await engine.fresh();
      const [one, two] = [await open(ground.url), await open(ground.url)];
      try {
        for (let round = 0; round < 25; round++) {
          const source = { data: new TextEncoder().encode(`picture ${round}`), mediaType: "image/png" };
          const image = { type: "image", source } as const;
          const say = (hf: Holdfast, session: string) =>
            hf.history.append(
              { session, agent: "a" },
              { role: "user", content: [{ type: "text", text: session }, image] },
            );
          await say(one, `gone${round}`);
          const [, kept] = await Promise.all([
            one.history.clear({ session: `gone${round}`, agent: "a" }),
            say(two, `kept${round}`),
          ]);
          const block = kept.content[1];
          const ref = block?.type === "image" ? (block.source.ref ?? "") : "";
          expect(await two.blobs.resolveText(ref)).toBe(`picture ${round}`);
        }
      } finally {
        await one.close();
        await two.close();
        await ground.end();
      }
    });

    test("LG6 a vacuum rewrites the tables, and loses no rows of concurrent writers", async () => {
      const ground = await engine.fresh();
      const [hf, writer] = [await open(ground.url), await open(ground.url)];
      const scope = { session: "chat", agent: "helper" };
      const place = async () =>
        engine.name === "sqlite"
          ? null
          : (
              await ground.driver.read(
                "SELECT pg_relation_filenode('events') AS n, pg_relation_filenode('blobs') AS b",
                [],
              )
            )[0];
      try {
        await hf.history.append(scope, { role: "user", content: "first" });
        const before = await place();
        const writing = (async () => {
          for (let i = 0; i < 40; i++) await writer.history.append(scope, { role: "user", content: `${i}` });
        })();
        await hf.blobs.gc({ vacuum: true });
        await writing;
        if (before !== null) expect(await place()).not.toEqual(before);
        expect(await hf.history.count(scope)).toBe(41);
        expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
      } finally {
        await hf.close();
        await writer.close();
        await ground.end();
      }
    });

    test("LG6 a clock that went back keeps no erased content alive", async () => {
      const ground = await engine.fresh();
      const environment = adjustableEnvironment();
      const hf = await open(ground.url, { environment });
      try {
        environment.advance(3_600_000);
        const message = await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "ahead" });
        const behind = await open(ground.url);
        await behind.history.clear({ session: "s", agent: "a" });
        expect(await behind.blobs.exists(message.ref)).toBe(false);
        await behind.close();
      } finally {
        await hf.close();
        await ground.end();
      }
    });

    test("LG6 a clear removes the messages that existed at the call; messages appended meanwhile stay", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      const scope = { session: "chat", agent: "helper" };
      try {
        let cleared = 0;
        let appended = 0;
        const writing = (async () => {
          for (; appended < 60; appended++) await hf.history.append(scope, { role: "user", content: `${appended}` });
        })();
        for (let i = 0; i < 6; i++) cleared += (await hf.history.clear(scope)).removed.messages ?? 0;
        await writing;
        expect(cleared + (await hf.history.count(scope))).toBe(60);
        expect((await hf.sessions.get("chat"))?.messages).toBe(await hf.history.count(scope));
        expect(await hf.log.verify("chat")).toMatchObject({ ok: true });
      } finally {
        await hf.close();
        await ground.end();
      }
    });
  });
}
