// A session of OpenCode as it is on this machine, as its own export writes it, with every session below it, their tasks, plans and
// spilled output. The rows are read from its database; the program is started only where the schema is not known. The database is
// never copied: the same file holds tokens and credentials.
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import * as path from "node:path";
import type { CaptureRole } from "../../contracts/captures.ts";
import type { FoundFile, FoundSession } from "../../contracts/coding.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import { readDatabase } from "./database.ts";
import {
  type ExportedSession,
  type OpenCodeSessionInfo,
  readExport,
  type SessionTree,
  withoutShareSecret,
} from "./export.ts";
import { listFileSessions, readFileSessions, type Unreadable } from "./file-storage.ts";
import { locateStorage } from "./locate-storage.ts";
import { findPlan, isPlainFile, planNameOf } from "./plan-files.ts";
import { listSessions, readTree, sessionInfoOf, todosOf } from "./rows.ts";
import { failed, type OpenCode, type Row } from "./runner.ts";
import { checkSessionId, isSessionId, SELECT_ALL, selectTree } from "./sql.ts";

/** A process takes more than a second of a core: more at once would only be in the agent's way. */
const AT_ONCE = 2;
/** A session that is being worked on gets new sessions below it while it is read. */
const ROUNDS = 5;
/** Before an export that failed is tried once more. */
const RETRY_MS = 500;

export interface FindOpenCode {
  readonly sessionId: string;
  readonly runner: OpenCode;
  /** openCodeDataDir(env) */
  readonly dataDir: string;
  /** A private folder to which it is exported; the files in it are the capture's until the caller removes it. */
  readonly folder: string;
  /** Of versions before 1.2: sessions with damaged files are reported to it and left out, instead of refusing all. */
  readonly unreadable?: Unreadable;
}

export interface FoundOpenCode extends FoundSession {
  /** What was not taken, and why. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

/** NotFound when neither the database nor the files of versions before 1.2 have it. */
export async function findOpenCodeSession(options: FindOpenCode): Promise<FoundOpenCode> {
  const { sessionId, dataDir, folder } = options;
  checkSessionId(sessionId);
  for (const name of ["export", "todos"]) await mkdir(path.join(folder, name), { recursive: true, mode: 0o700 });
  const tree = (await treeOf(options)) ?? (await readFileSessions(dataDir, sessionId, options.unreadable));
  if (tree === null) {
    throw new HoldfastError("NotFound", `OpenCode has no session ${sessionId} on this machine`, {
      details: { sessionId, dataDir },
      hint: "`opencode session list` shows those of this directory; HOME and XDG_DATA_HOME say whose they are.",
    });
  }
  return takeFiles(options, tree);
}

/** null: the database does not have it. */
async function treeOf(options: FindOpenCode): Promise<SessionTree | null> {
  const { sessionId, runner, dataDir } = options;
  const storage = await locateStorage(runner, dataDir);
  if (storage.kind === "none") return null;
  if (storage.kind === "program") return exportTree(options);
  return readDatabase(storage.file, (opened) => readTree(opened, sessionId));
}

/** Of all projects, those of versions before 1.2 too. */
export async function listOpenCodeSessions(
  runner: OpenCode,
  dataDir: string,
  unreadable?: Unreadable,
): Promise<readonly OpenCodeSessionInfo[]> {
  const listed = await listInDatabase(runner, dataDir);
  const known = new Set(listed.map(({ sessionId }) => sessionId));
  return [...listed, ...(await listFileSessions(dataDir, unreadable)).filter(({ sessionId }) => !known.has(sessionId))];
}

async function listInDatabase(runner: OpenCode, dataDir: string): Promise<readonly OpenCodeSessionInfo[]> {
  const storage = await locateStorage(runner, dataDir);
  if (storage.kind === "none") return [];
  if (storage.kind === "database") return readDatabase(storage.file, listSessions);
  return (await runner.rows(SELECT_ALL)).map(sessionInfoOf);
}

/** One query, and an export of each; more only when the session is worked on meanwhile. */
async function exportTree(options: FindOpenCode): Promise<SessionTree | null> {
  const { sessionId, runner } = options;
  const exported = new Map<string, ExportedSession>();
  const counts = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const rows = await runner.rows(selectTree(sessionId));
    const root = rows.find((row) => row.id === sessionId);
    if (root === undefined) return null;
    const fresh = rows.filter((row) => !exported.has(String(row.id)));
    for (const row of fresh) counts.set(String(row.id), Number(row.messages));
    await eachOf(fresh, async (row) => {
      const session = await exportOne(options, String(row.id));
      exported.set(session.id, session);
    });
    const rank = ({ id }: ExportedSession) => (id === sessionId ? "" : id);
    const sessions = [...exported.values()].toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
    if (fresh.length > 0 && !isQuiet(sessions, counts)) continue;
    for (const session of sessions) checkCount(session, counts.get(session.id) ?? 0, rows);
    const { directory, version } = root;
    return { exported: true, cwd: String(directory), version: String(version), sessions, todos: todosOf(rows) };
  }
  throw failed(["export", sessionId], `it got new sessions below it ${ROUNDS} times while it was read`);
}

/** Nothing was added while they were exported. */
function isQuiet(sessions: readonly ExportedSession[], counts: ReadonlyMap<string, number>): boolean {
  return sessions.every(
    ({ id, messageIds, children }) =>
      messageIds.length === counts.get(id) && children.every((child) => counts.has(child)),
  );
}

async function exportOne({ runner, folder }: FindOpenCode, id: string): Promise<ExportedSession> {
  if (!isSessionId(id)) throw failed(["db"], "a session has an id that is none");
  const file = path.join(folder, "export", `${id}.json`);
  await runner.toFile(["export", id], file).catch(async (error: unknown) => {
    if (!isHoldfastError(error) || error.code !== "AgentFailed") throw error;
    // Its database may have been locked for a moment, as when the agent just ends.
    await runner.options.environment.sleep(RETRY_MS);
    await runner.toFile(["export", id], file);
  });
  const session = readExport(await readFile(file, "utf8"), id);
  if ("wrong" in session) throw failed(["export", id], session.wrong);
  return session;
}

/** As many messages as there are: those from before it was exported at least, and none that came after. */
function checkCount(session: ExportedSession, before: number, rows: readonly Row[]): void {
  const after = Number(rows.find((row) => row.id === session.id)?.messages ?? 0);
  const count = session.messageIds.length;
  if (count >= Math.min(before, after) && count <= Math.max(before, after)) return;
  throw failed(["export", session.id], `it exported ${count} messages of ${after}`);
}

async function takeFiles({ sessionId, dataDir, folder }: FindOpenCode, tree: SessionTree): Promise<FoundOpenCode> {
  const files: FoundFile[] = [];
  const left: { path: string; why: string }[] = [];
  const add = async (role: CaptureRole, name: string, file: string) =>
    files.push({ role, path: name, file, size: (await stat(file)).size, grows: false });
  for (const session of tree.sessions) {
    const name = `export/${session.id}.json`;
    const file = path.join(folder, name);
    if (session.hasShareSecret) {
      left.push({ path: name, why: "the secret of its share was taken out" });
      await writeJson(file, withoutShareSecret(session.data));
    } else if (!tree.exported) await writeJson(file, session.data);
    await add("export", name, file);
  }
  for (const [id, todos] of tree.todos) {
    const file = path.join(folder, "todos", `${id}.json`);
    await writeJson(
      file,
      todos.map((todo) => ({ ...todo })),
    );
    await add("todos", `todos/${id}.json`, file);
  }
  for (const name of new Set(tree.sessions.flatMap(({ outputs }) => [...outputs.values()]))) {
    const file = path.join(dataDir, "tool-output", name);
    if (await isPlainFile(file)) await add("output", `tool-output/${name}`, file);
    else left.push({ path: `tool-output/${name}`, why: "it is not there any more" });
  }
  for (const session of tree.sessions) {
    const name = planNameOf(session);
    const file = name === null ? null : await findPlan(name, tree.cwd, dataDir);
    if (file !== null) await add("other", `plans/${name}`, file);
  }
  return {
    agent: "opencode",
    sessionId,
    cwd: tree.cwd,
    configDir: null,
    key: null,
    agentVersion: tree.version,
    files,
    left,
  };
}

async function writeJson(file: string, value: JsonObject | readonly JsonObject[]): Promise<void> {
  await writeFile(file, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}

async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of rest) await run(item);
  });
  // None is left running behind an error.
  await Promise.allSettled(workers);
  await Promise.all(workers);
}
