// A small `opencode` for tests: the commands that Holdfast uses, over an SQLite file in the data directory, with the
// tables that a session is in and the behaviour that was seen in 1.18.33: imports that are no transaction and change
// nothing that is there, only the first statement of a query, children that stay when a parent goes. FAKE_* variables
// make it fail as the real one does, and FAKE_SCHEMA makes it another version: "1.2", which takes the directory from
// the import, has fewer columns and reads only with `db`; or "new", with an unknown column.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

type Value = Record<string, unknown>;

const env = process.env;
const isOld = env.FAKE_SCHEMA === "1.2";

const LATER = `, path text, agent text, model text, cost real not null default 0, tokens_input integer not null default 0,
    tokens_output integer not null default 0, tokens_reasoning integer not null default 0,
    tokens_cache_read integer not null default 0, tokens_cache_write integer not null default 0, metadata text`;

const SCHEMA = `
  create table if not exists project (id text primary key, worktree text not null, vcs text, sandboxes text not null);
  create table if not exists credential (id text primary key, value text not null);
  create table if not exists session (id text primary key, project_id text not null references project(id) on delete cascade,
    parent_id text, slug text not null, directory text not null, title text not null, version text not null, share_url text,
    summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, revert text,
    permission text, time_created integer not null, time_updated integer not null, time_compacting integer,
    time_archived integer, workspace_id text${isOld ? "" : LATER}${env.FAKE_SCHEMA === "new" ? ", mood text" : ""});
  create table if not exists message (id text primary key, session_id text not null references session(id) on delete cascade,
    time_created integer not null, time_updated integer not null, data text not null);
  create table if not exists part (id text primary key, message_id text not null references message(id) on delete cascade,
    session_id text not null, time_created integer not null, time_updated integer not null, data text not null);
  create table if not exists todo (session_id text not null references session(id) on delete cascade, content text not null,
    status text not null, priority text not null, position integer not null, time_created integer not null,
    time_updated integer not null, primary key (session_id, position));
  create table if not exists session_share (session_id text primary key references session(id) on delete cascade,
    id text not null, secret text not null, url text not null);
  insert into project values ('global', '/', null, '[]') on conflict do nothing`;

const [command, ...args] = process.argv.slice(2);
if (env.FAKE_LOG) appendFileSync(env.FAKE_LOG, `${command} ${args.at(-1)?.split(/\s/)[0]}\n`);
if (env.FAKE_LOCKED_ONCE && command === "export" && !existsSync(env.FAKE_LOCKED_ONCE)) {
  writeFileSync(env.FAKE_LOCKED_ONCE, "");
  process.stderr.write("Error: database is locked\n");
  process.exit(1);
}
if (env.FAKE_HANGS === command) setInterval(() => {}, 1000);
else process.exitCode = main();

function main(): number {
  if (command === "--version") return print("9.9.9\n");
  const database = open();
  if (command === "db" && isOld && !/^\s*(select|with)/i.test(args.at(-1) ?? "")) {
    return fail("attempt to write a readonly database");
  }
  if (command === "db") return print(`${JSON.stringify(database.prepare(args.at(-1) ?? "").all(), null, 2)}\n`);
  if (command === "export") return exportSession(database, String(args[0]));
  if (command === "import") return importSession(database, JSON.parse(readFileSync(String(args[0]), "utf8")));
  if (command === "session" && args[0] === "delete") {
    database.prepare("delete from session where id = ?").run(String(args[1]));
    return print("Session deleted\n");
  }
  return fail(`Unknown command: ${command}`);
}

function open(): DatabaseSync {
  const folder = path.join(env.XDG_DATA_HOME ?? path.join(env.HOME ?? "", ".local", "share"), "opencode");
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(path.join(folder, "opencode.db"));
  database.exec(`pragma busy_timeout = 5000; pragma foreign_keys = on; pragma journal_mode = wal; ${SCHEMA}`);
  return database;
}

function exportSession(database: DatabaseSync, id: string): number {
  const all = (sql: string, ...values: SQLInputValue[]): Value[] => database.prepare(sql).all(...values);
  const session = all("select * from session where id = ?", id)[0];
  if (session === undefined) return fail(`Session not found: ${id}`);
  const messages = all("select * from message where session_id = ? order by id", id).map((message) => ({
    info: { ...JSON.parse(String(message.data)), id: message.id, sessionID: id },
    parts: all("select * from part where message_id = ? order by id", String(message.id)).map((part) => ({
      ...JSON.parse(String(part.data)),
      id: part.id,
      sessionID: id,
      messageID: message.id,
    })),
  }));
  const info = {
    id,
    projectID: session.project_id,
    directory: session.directory,
    ...(session.parent_id === null ? {} : { parentID: session.parent_id }),
    slug: session.slug,
    title: session.title,
    version: session.version,
    ...(session.share_url === null ? {} : { share: { url: session.share_url, ...secretOf(database, id) } }),
    time: { created: session.time_created, updated: session.time_updated },
  };
  const whole = JSON.stringify({ info, messages }, null, 2);
  if (env.FAKE_EXPORT === "garbage") return print("Performing one time database migration...\n");
  if (env.FAKE_EXPORT === "cut") return print(whole.slice(0, whole.length / 2));
  if (env.FAKE_EXPORT === "fewer") return print(JSON.stringify({ info, messages: messages.slice(1) }));
  if (env.FAKE_EXPORT === "other") return print(JSON.stringify({ info: { ...info, id: "ses_other" }, messages }));
  return print(whole);
}

/** What no export should have. */
function secretOf(database: DatabaseSync, id: string): Value {
  if (env.FAKE_SCHEMA !== "new") return {};
  return database.prepare("select secret from session_share where session_id = ?").get(id) ?? {};
}

function importSession(database: DatabaseSync, { info, messages }: { info: Value; messages: Value[] }): number {
  const run = (sql: string, ...values: unknown[]) => database.prepare(sql).run(...values.map(sqlValue));
  const time = (info.time ?? {}) as Value;
  const values: Value = {
    id: info.id,
    project_id: "global",
    parent_id: info.parentID,
    slug: info.slug ?? "fake-slug",
    directory: (isOld ? info.directory : undefined) ?? process.cwd(),
    title: info.title,
    version: info.version,
    share_url: (info.share as Value | undefined)?.url,
    time_created: time.created ?? 500,
    time_updated: time.updated ?? 1000,
    ...(isOld ? {} : { path: process.cwd().slice(1) }),
  };
  const names = Object.keys(values);
  const moved = isOld ? ["project_id"] : ["project_id", "directory", "path"];
  run(
    `insert into session (${names.join(", ")}) values (${names.map(() => "?").join(", ")}) on conflict (id) do update set
      ${moved.map((name) => `${name} = excluded.${name}`).join(", ")}, time_updated = time_updated + 1`,
    ...Object.values(values),
  );
  const secret = (info.share as Value | undefined)?.secret;
  if (secret !== undefined) run("insert into session_share values (?, 'share', ?, '')", info.id, secret);
  for (const [i, message] of messages.entries()) {
    const fails = env.FAKE_IMPORT_FAILS === info.id && i === Math.floor(messages.length / 2);
    if (fails) return fail('Unexpected error\n\nExpected Message, got {"role":"bogus"}');
    const { id, sessionID, ...data } = message.info as Value;
    if (env.FAKE_IMPORT_DROPS === id) continue;
    run("insert into message values (?, ?, 1, 1, ?) on conflict do nothing", id, sessionID, JSON.stringify(data));
    for (const part of message.parts as Value[]) {
      const { id: partId, sessionID: of, messageID, ...rest } = part;
      if (env.FAKE_IMPORT_DROPS === partId) continue;
      const text = JSON.stringify(rest);
      run("insert into part values (?, ?, ?, 1, 1, ?) on conflict do nothing", partId, messageID, of, text);
    }
  }
  return print(`Imported session: ${info.id}\n`);
}

function sqlValue(value: unknown): SQLInputValue {
  return typeof value === "number" || typeof value === "string" ? value : null;
}

function print(text: string): number {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
  return 0;
}

function fail(why: string): number {
  process.stderr.write(`\u001b[91m\u001b[1mError: \u001b[0m${why}\n`);
  return 1;
}
