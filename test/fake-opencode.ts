// A small `opencode` for tests: the commands that Holdfast uses, over an SQLite file in the data directory, with the
// behaviour that was seen in 1.18.33: imports that are no transaction and change nothing that is there, only the first
// statement of a query, children that stay when a parent goes. FAKE_* variables make it fail as the real one does.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import * as path from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";

type Value = Record<string, unknown>;

const SCHEMA = `
  create table if not exists session (id text primary key, project_id text not null, parent_id text, directory text not null,
    path text, title text not null, version text not null, share text, time_created integer not null,
    time_updated integer not null);
  create table if not exists message (id text primary key, session_id text not null references session(id) on delete cascade,
    data text not null);
  create table if not exists part (id text primary key, message_id text not null references message(id) on delete cascade,
    session_id text not null, data text not null);
  create table if not exists todo (session_id text not null references session(id) on delete cascade, content text not null,
    status text not null, priority text not null, position integer not null, time_created integer not null,
    time_updated integer not null, primary key (session_id, position));`;

const env = process.env;
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
  if (command === "db") return print(`${JSON.stringify(database.prepare(args.at(-1) ?? "").all(), null, 2)}\n`);
  if (command === "export") return exportSession(database, String(args[0]));
  if (command === "import") return importSession(database, JSON.parse(readFileSync(String(args[0]), "utf8")));
  return fail(`Unknown command: ${command}`);
}

function open(): DatabaseSync {
  const folder = path.join(env.XDG_DATA_HOME ?? path.join(env.HOME ?? "", ".local", "share"), "opencode");
  mkdirSync(folder, { recursive: true });
  const database = new DatabaseSync(path.join(folder, "opencode.db"));
  database.exec(`pragma busy_timeout = 5000; pragma foreign_keys = on; ${SCHEMA}`);
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
    title: session.title,
    version: session.version,
    ...(session.share === null ? {} : { share: JSON.parse(String(session.share)) }),
    time: { created: session.time_created, updated: session.time_updated },
  };
  const whole = JSON.stringify({ info, messages }, null, 2);
  if (env.FAKE_EXPORT === "garbage") return print("Performing one time database migration...\n");
  if (env.FAKE_EXPORT === "cut") return print(whole.slice(0, whole.length / 2));
  if (env.FAKE_EXPORT === "fewer") return print(JSON.stringify({ info, messages: messages.slice(1) }));
  if (env.FAKE_EXPORT === "other") return print(JSON.stringify({ info: { ...info, id: "ses_other" }, messages }));
  return print(whole);
}

function importSession(database: DatabaseSync, { info, messages }: { info: Value; messages: Value[] }): number {
  const run = (sql: string, ...values: unknown[]) => database.prepare(sql).run(...values.map(sqlValue));
  const share = info.share === undefined ? null : JSON.stringify(info.share);
  run(
    `insert into session values (?, 'global', ?, ?, ?, ?, ?, ?, ?, 1000) on conflict (id) do update set
      directory = excluded.directory, path = excluded.path, time_updated = time_updated + 1`,
    ...[info.id, info.parentID, process.cwd(), process.cwd().slice(1), info.title, info.version, share, 500],
  );
  for (const [i, message] of messages.entries()) {
    const fails = env.FAKE_IMPORT_FAILS === info.id && i === Math.floor(messages.length / 2);
    if (fails) return fail('Unexpected error\n\nExpected Message, got {"role":"bogus"}');
    const { id, sessionID, ...data } = message.info as Value;
    if (env.FAKE_IMPORT_DROPS === id) continue;
    run("insert into message values (?, ?, ?) on conflict do nothing", id, sessionID, JSON.stringify(data));
    for (const part of message.parts as Value[]) {
      const { id: partId, sessionID: of, messageID, ...rest } = part;
      if (env.FAKE_IMPORT_DROPS === partId) continue;
      run("insert into part values (?, ?, ?, ?) on conflict do nothing", partId, messageID, of, JSON.stringify(rest));
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
