// Reads OpenCode's database while OpenCode uses it: whatever its state is, nothing is changed, and no writer waits.
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, watch, writeFileSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { exported, type Machine, newMachine, removeMachines } from "../../../test/opencode-machine.ts";
import { locateDatabase, readDatabase, UnknownDatabase, writeDatabase } from "./database.ts";
import { locateStorage } from "./locate-storage.ts";
import { listSessions, readTree } from "./rows.ts";

afterAll(removeMachines);

async function withSession(schema?: "1.2" | "new"): Promise<Machine & { readonly file: string }> {
  const machine = newMachine(schema);
  const json = path.join(machine.root, "put.json");
  writeFileSync(json, JSON.stringify(exported("ses_root", 3)));
  await machine.with({}).text(["import", json]);
  return { ...machine, file: path.join(machine.dataDir, "opencode.db") };
}

const filesOf = (file: string) =>
  readdirSync(path.dirname(file))
    .filter((name) => name.startsWith("opencode.db"))
    .map((name) => {
      const { ino, size } = statSync(path.join(path.dirname(file), name));
      return { name, ino, size };
    });

const messagesIn = async (file: string) =>
  (await readDatabase(file, (opened) => readTree(opened, "ses_root")))?.sessions[0]?.messageIds.length;

describe("a database", () => {
  test("CA9 that nobody has open is read without a file beside it", async () => {
    const { file } = await withSession();
    const before = filesOf(file);
    expect(before.map(({ name }) => name)).toEqual(["opencode.db"]);
    expect(await messagesIn(file)).toBe(3);
    expect(filesOf(file)).toEqual(before);
  });

  test("CA9 that nobody may write, in a folder that nobody may write, is read", async () => {
    const { file } = await withSession();
    chmodSync(file, 0o400);
    chmodSync(path.dirname(file), 0o500);
    expect(await messagesIn(file)).toBe(3);
    chmodSync(path.dirname(file), 0o700);
  });

  test("CA9 that OpenCode is writing to is read as it was committed, and the writer waits for nobody", async () => {
    const { file } = await withSession();
    const writer = new DatabaseSync(file);
    writer.exec("pragma busy_timeout = 0; pragma wal_autocheckpoint = 0");
    const add = writer.prepare("insert into message values (?, 'ses_root', 1, 1, '{}')");
    add.run("msg_committed");
    writer.exec("begin immediate");
    add.run("msg_not_yet");
    const before = filesOf(file);
    const seen = await readDatabase(file, (opened) => {
      const count = () => readTree(opened, "ses_root")?.sessions[0]?.messageIds.length;
      const first = count();
      // In the middle of the reading, without waiting: it would fail with SQLITE_BUSY.
      writer.exec("commit");
      add.run("msg_later");
      return [first, count()];
    });
    expect(seen).toEqual([4, 4]);
    expect(await messagesIn(file)).toBe(6);
    expect(filesOf(file).map(({ name, ino }) => ({ name, ino }))).toEqual(
      before.map(({ name, ino }) => ({ name, ino })),
    );
    writer.close();
  });

  test("CA9 whose OpenCode was killed is read with what is only in its WAL, which stays", async () => {
    const { file, root } = await withSession();
    const writer = new DatabaseSync(file);
    writer.exec("pragma wal_autocheckpoint = 0");
    writer.exec("insert into message values ('msg_wal', 'ses_root', 1, 1, '{}')");
    const copy = path.join(root, "killed", "opencode.db");
    mkdirSync(path.dirname(copy));
    for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${copy}${end}`);
    writer.close();
    const [database, wal] = ["", "-wal"].map((end) => readFileSync(`${copy}${end}`));
    expect(await messagesIn(copy)).toBe(4);
    expect(["", "-wal"].map((end) => readFileSync(`${copy}${end}`))).toEqual([database, wal]);
    // The index of the WAL, which every reader needs and any reader makes again.
    expect(filesOf(copy).map(({ name }) => name)).toEqual(["opencode.db", "opencode.db-shm", "opencode.db-wal"]);
    expect(new DatabaseSync(copy).prepare("select count(*) as n from message").get()).toEqual({ n: 4 });
  });

  test("CA9 is written all or nothing, and waits for a writer", async () => {
    const { file } = await withSession();
    const failing = writeDatabase(file, ({ database }) => {
      database.exec("delete from session");
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await messagesIn(file)).toBe(3);
    await writeDatabase(file, ({ database }) => database.exec("delete from session"));
    expect(await readDatabase(file, listSessions)).toEqual([]);
  });
});

describe("a database that is not known", () => {
  const changed = async (sql: string) => {
    const { file } = await withSession();
    const database = new DatabaseSync(file);
    database.exec(sql);
    database.close();
    return file;
  };
  const cases: Readonly<Record<string, readonly [sql: string, why: string]>> = {
    "a column more in session": ["alter table session add mood text", "its table session also has mood"],
    "a column more in part": ["alter table part add seq integer", "its table part also has seq"],
    "a column that is gone": ["alter table todo drop column priority", "its table todo has no priority"],
    "a table of sessions": ["create table session_mood (session_id text)", "it has a table session_mood"],
    "a table of parts": ["create table part_blob (part_id text, data blob)", "it has a table part_blob"],
    "a trigger": ["create trigger t after delete on part begin select 1; end", "it has a trigger t"],
    "another journal": ["pragma journal_mode = delete", "it is not in WAL mode"],
  };

  test.each(Object.keys(cases))("CA9 because of %s is for the program", async (name) => {
    const [sql = "", why = ""] = cases[name] ?? [];
    const file = await changed(sql);
    await expect(readDatabase(file, () => null)).rejects.toThrow(new UnknownDatabase(why));
    await expect(writeDatabase(file, () => null)).rejects.toThrow(why);
  });

  test("CA9 because OpenCode still creates its tables has no session yet, and is not for the program", async () => {
    const { runner, dataDir, file } = await withSession();
    writeFileSync(file, "");
    expect(await locateStorage(runner, dataDir), "an empty file").toEqual({ kind: "none" });
    const database = new DatabaseSync(file);
    database.exec("pragma journal_mode = wal; create table project (id text)");
    expect(await locateStorage(runner, dataDir), "no table of sessions").toEqual({ kind: "none" });
    database.exec("create table session (id text)");
    expect(await locateStorage(runner, dataDir), "no session").toEqual({ kind: "none" });
    const copy = path.join(dataDir, "copy");
    mkdirSync(copy);
    database.exec("pragma wal_checkpoint(truncate)");
    copyFileSync(file, path.join(copy, "opencode.db"));
    const alone = path.join(copy, "opencode.db");
    chmodSync(copy, 0o700);
    const made: string[] = [];
    const watcher = watch(copy, (_, name) => made.push(String(name)));
    expect(await locateStorage(runner, copy), "no session, and nobody has it open").toEqual({ kind: "none" });
    await new Promise((next) => setTimeout(next, 50));
    watcher.close();
    expect(made, "files that were made beside it").toEqual([]);
    expect(filesOf(alone).map(({ name }) => name)).toEqual(["opencode.db"]);
    database.exec("insert into session values ('ses_1')");
    expect(await locateStorage(runner, dataDir)).toMatchObject({ kind: "program" });
    database.close();
  });

  test("CA9 because it is none is for the program", async () => {
    const { file, dataDir, runner } = await withSession();
    writeFileSync(file, "not a database".padEnd(200));
    await expect(readDatabase(file, () => null)).rejects.toThrow("it is not an SQLite database");
    expect(await locateDatabase(runner.options.env, dataDir)).toEqual({ kind: "file", file });
    writeFileSync(path.join(dataDir, "opencode-dev.db"), "");
    expect(await locateDatabase(runner.options.env, dataDir)).toMatchObject({ kind: "unclear" });
    const given = path.join(dataDir, "opencode-dev.db");
    expect(await locateDatabase({ OPENCODE_DB: "opencode-dev.db" }, dataDir)).toEqual({ kind: "file", file: given });
    expect(await locateDatabase({ OPENCODE_DB: given }, "/none")).toEqual({ kind: "file", file: given });
    expect(await locateDatabase({ OPENCODE_DB: ":memory:" }, dataDir)).toEqual({ kind: "none" });
  });
});
