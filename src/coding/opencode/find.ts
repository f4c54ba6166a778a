// Finds a session of OpenCode on this machine, with its sub-sessions, their tasks, plans and spilled output, in the format of
// `opencode export`. Holdfast reads the rows of OpenCode's database; it starts OpenCode's program only if the schema is unknown. The
// database is never copied, because the same file has tokens and credentials.
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
import { commandFailed, type OpenCode, type Row } from "./runner.ts";
import { checkSessionId, isSessionId, SELECT_ALL, selectTree } from "./sql.ts";

/** Exports at the same time. Each uses more than a second of a core, which the agent needs too. */
const AT_ONCE = 2;
/** How often the tree is read again because the agent adds sub-sessions meanwhile. */
const ROUNDS = 5;
/** The pause before a failed export is tried once more. */
const RETRY_MS = 500;

export interface FindOpenCode {
  readonly sessionId: string;
  readonly runner: OpenCode;
  /** openCodeDataDir(env) */
  readonly dataDir: string;
  /** A private folder for the exported files. The caller removes it after it has read them. */
  readonly folder: string;
  /** Gets each damaged file of versions before 1.2; its session is left out. Without it a damaged file is an error. */
  readonly unreadable?: Unreadable;
}

export interface FoundOpenCode extends FoundSession {
  /** Files that were left out, and why. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

/** NotFound when neither the database nor the files of versions before 1.2 have it. */
export async function findOpenCodeSession(options: FindOpenCode): Promise<FoundOpenCode> {
  const { sessionId, dataDir, folder } = options;
  checkSessionId(sessionId);
  for (const name of ["export", "todos"]) await mkdir(path.join(folder, name), { recursive: true, mode: 0o700 });
  const tree = (await readStoredTree(options)) ?? (await readFileSessions(dataDir, sessionId, options.unreadable));
  if (tree === null) {
    throw new HoldfastError("NotFound", `OpenCode has no session ${sessionId} on this machine`, {
      details: { sessionId, dataDir },
      hint:
        "`opencode session list` shows the sessions of this directory. OpenCode finds its data by HOME and XDG_DATA_HOME: " +
        "set both as they are for the agent.",
    });
  }
  return collectFiles(options, tree);
}

/** null: the database does not have the session. */
async function readStoredTree(options: FindOpenCode): Promise<SessionTree | null> {
  const { sessionId, runner, dataDir } = options;
  const storage = await locateStorage(runner, dataDir);
  if (storage.kind === "none") return null;
  if (storage.kind === "program") return exportTree(options);
  return readDatabase(storage.file, (opened) => readTree(opened, sessionId));
}

/** The sessions of all projects, including those of versions before 1.2. */
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

/** Queries the tree and exports each session; repeats if the agent changed the tree meanwhile. */
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
    await forEachConcurrently(fresh, async (row) => {
      const session = await exportOne(options, String(row.id));
      exported.set(session.id, session);
    });
    const rank = ({ id }: ExportedSession) => (id === sessionId ? "" : id);
    const sessions = [...exported.values()].toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
    if (fresh.length > 0 && !isUnchanged(sessions, counts)) continue;
    for (const session of sessions) checkCount(session, counts.get(session.id) ?? 0, rows);
    const { directory, version } = root;
    return { exported: true, cwd: String(directory), version: String(version), sessions, todos: todosOf(rows) };
  }
  throw commandFailed(["export", sessionId], `the agent added sub-sessions ${ROUNDS} times while the session was read`);
}

/** Whether the agent added nothing while the sessions were exported. */
function isUnchanged(sessions: readonly ExportedSession[], counts: ReadonlyMap<string, number>): boolean {
  return sessions.every(
    ({ id, messageIds, children }) =>
      messageIds.length === counts.get(id) && children.every((child) => counts.has(child)),
  );
}

async function exportOne({ runner, folder }: FindOpenCode, id: string): Promise<ExportedSession> {
  if (!isSessionId(id)) throw commandFailed(["db"], "a session has an id that is not valid");
  const file = path.join(folder, "export", `${id}.json`);
  await runner.toFile(["export", id], file).catch(async (error: unknown) => {
    if (!isHoldfastError(error) || error.code !== "AgentFailed") throw error;
    // The database may be locked for a moment, for example while the agent ends.
    await runner.options.environment.sleep(RETRY_MS);
    await runner.toFile(["export", id], file);
  });
  const session = readExport(await readFile(file, "utf8"), id);
  if ("wrong" in session) throw commandFailed(["export", id], session.wrong);
  return session;
}

/** The export must have a number of messages between the counts before and after it. */
function checkCount(session: ExportedSession, before: number, rows: readonly Row[]): void {
  const after = Number(rows.find((row) => row.id === session.id)?.messages ?? 0);
  const count = session.messageIds.length;
  if (count >= Math.min(before, after) && count <= Math.max(before, after)) return;
  throw commandFailed(["export", session.id], `it exported ${count} messages of ${after}`);
}

async function collectFiles({ sessionId, dataDir, folder }: FindOpenCode, tree: SessionTree): Promise<FoundOpenCode> {
  const files: FoundFile[] = [];
  const left: { path: string; why: string }[] = [];
  const add = async (role: CaptureRole, name: string, file: string) =>
    files.push({ role, path: name, file, size: (await stat(file)).size, grows: false });
  for (const session of tree.sessions) {
    const name = `export/${session.id}.json`;
    const file = path.join(folder, name);
    if (session.hasShareSecret) {
      left.push({ path: name, why: "the secret of its share was removed" });
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
    else left.push({ path: `tool-output/${name}`, why: "OpenCode has removed it" });
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

async function forEachConcurrently<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of rest) await run(item);
  });
  // After an error, wait until all workers have ended.
  await Promise.allSettled(workers);
  await Promise.all(workers);
}
