// Restores a captured session of OpenCode: runs `opencode import`, adds what an import leaves out, and verifies the result. An import is
// not a transaction, so this module undoes a restore that fails.
import { lstat, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import { Staging } from "../staging.ts";
import { planSource, readContent, refusedCapture, type SourceContent, type SourcePlan } from "./checked-source.ts";
import { type ExportedSession, partTypesOf, rewriteOutputPaths, toImportData, withoutDiffs } from "./export.ts";
import { planFolderFor } from "./plan-files.ts";
import {
  chooseRestoreAction,
  idsNotIn,
  lastCommonMessage,
  type RestoreAction,
  type RestoreTarget,
  type StoredOpenCodeSession,
} from "./restore-plan.ts";
import { hasRequiredColumns } from "./rows.ts";
import { commandFailed, type OpenCode } from "./runner.ts";
import { RestoreTargets } from "./target.ts";

export interface OpenCodeTarget {
  readonly runner: OpenCode;
  /** The directory in which the session continues. It must exist. */
  readonly cwd: string;
  /** openCodeDataDir(env) */
  readonly dataDir: string;
  /** Changes the paths of spilled output in the conversation to where the files are now. The conversation then differs from what the
   * model saw. */
  readonly rewritePaths?: boolean;
  /** Checks everything, and writes nothing. */
  readonly dryRun?: boolean;
}

interface RestoreWork {
  readonly runner: OpenCode;
  readonly cwd: string;
  readonly folder: string;
  readonly content: SourceContent;
  readonly targets: RestoreTargets;
  readonly before: ReadonlyMap<string, StoredOpenCodeSession>;
  readonly actions: ReadonlyMap<string, RestoreAction>;
  /** By path: files that are not restored, and why. */
  readonly left: Map<string, string>;
}

/**
 * Restores all sessions or none. InvalidArgument, LimitExceeded or BlobCorrupted when the source is not valid, Conflict when a session
 * continued on this machine too, AgentFailed when opencode refuses it. A session that this machine has with all of its messages is not
 * changed.
 */
export async function restoreOpenCode(source: CaptureSource, target: OpenCodeTarget): Promise<Restored> {
  const plan = planSource(source);
  const cwd = await resolveDirectory(target.cwd);
  const runner = target.runner.inDirectory(cwd);
  const folder = await mkdtemp(path.join(tmpdir(), "holdfast-opencode-"));
  try {
    const content = await readContent(source, plan, folder);
    const targets = new RestoreTargets(runner, target.dataDir);
    const before = await readBefore(targets, content.sessions);
    const actions = new Map(
      content.sessions.map((s) => [s.id, chooseRestoreAction(s, before.get(s.id), cwd)] as const),
    );
    const left = new Map<string, string>();
    const work: RestoreWork = { runner, cwd, folder, content, targets, before, actions, left };
    const after = await restoreAll(source, plan, target, work);
    for (const [id, action] of actions) {
      if (action === "create" || action === "complete") continue;
      const why = "this machine has the session already, with all of its messages";
      left.set(`export/${id}.json`, action === "keep" ? why : `${why}; it was moved to this directory`);
      if (content.todos.has(id)) left.set(`todos/${id}.json`, "the session of this machine has its own tasks");
    }
    return {
      agent: "opencode",
      sessionId: source.sessionId,
      cwd,
      configDir: null,
      key: null,
      files: source.files.filter((file) => !left.has(file.path)).length,
      bytes: source.files.reduce((sum, file) => sum + (left.has(file.path) ? 0 : file.size), 0),
      messages: [...after].find(({ id }) => id === source.sessionId)?.messageIds.length ?? 0,
      isAhead: isAhead(content.sessions, before, actions),
      left: [...left].map(([name, why]) => ({ path: name, why })),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether this machine has messages or parts of a session that were not captured. */
function isAhead(
  sessions: readonly ExportedSession[],
  before: ReadonlyMap<string, StoredOpenCodeSession>,
  actions: ReadonlyMap<string, RestoreAction>,
): boolean {
  return sessions.some(({ id, messageIds, partIds }) => {
    const here = before.get(id);
    if (here === undefined || actions.get(id) === "complete") return false;
    return idsNotIn(here.messageIds, messageIds).length > 0 || idsNotIn(here.partIds, partIds).length > 0;
  });
}

/** Refuses a message id that another session has: an import would add parts to the message of that session. */
async function readBefore(
  targets: RestoreTargets,
  sessions: readonly ExportedSession[],
): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
  const ids = sessions.flatMap((session) => [session.id, ...session.messageIds]);
  const before = await targets.read(ids);
  const owners = new Map([...before.values()].flatMap(({ id, messageIds }) => messageIds.map((m) => [m, id] as const)));
  for (const { id, messageIds } of sessions) {
    const owner = messageIds.map((message) => owners.get(message) ?? id).find((found) => found !== id);
    if (owner !== undefined)
      throw refusedCapture(`its session ${id} has messages that belong to session ${owner} on this machine`);
  }
  return before;
}

type Sessions = Iterable<Pick<StoredOpenCodeSession, "id" | "messageIds">>;

/** Stages the files, restores the sessions, and places the files only when all sessions are restored. */
async function restoreAll(
  source: CaptureSource,
  plan: SourcePlan,
  target: OpenCodeTarget,
  work: RestoreWork,
): Promise<Sessions> {
  const { dataDir, dryRun = false } = target;
  const outputs = await Staging.createIn(dryRun ? work.folder : dataDir);
  try {
    await stageFiles(source, plan.outputs, path.join(dataDir, "tool-output"), outputs, work.left);
    if (dryRun) return work.content.sessions;
    const after = await restoreSessions(work, target, () => outputs.place());
    await restorePlans(source, plan, target, work);
    return after.values();
  } finally {
    await outputs.close();
  }
}

/** A file that exists already is not replaced: names have a time and random characters, so it is the same file. */
async function stageFiles(
  source: CaptureSource,
  files: SourcePlan["outputs"],
  folder: string,
  staging: Staging,
  left: Map<string, string>,
): Promise<void> {
  for (const [name, file] of files) {
    const to = path.join(folder, name);
    if (await exists(to)) left.set(file.path, "a file of that name exists already");
    else await staging.add(file, to, source.read(file.path));
  }
}

/** A plan that cannot be written to the repository does not fail the restore of the session. */
async function restorePlans(
  source: CaptureSource,
  plan: SourcePlan,
  { dataDir }: OpenCodeTarget,
  work: RestoreWork,
): Promise<void> {
  if (plan.plans.size === 0) return;
  const { root, folder } = await planFolderFor(work.cwd, dataDir);
  const staging = await Staging.createIn(root);
  try {
    await stageFiles(source, plan.plans, folder, staging, work.left);
    await staging.place();
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    for (const { path: name } of plan.plans.values()) work.left.set(name, error.message);
  } finally {
    await staging.close();
  }
}

async function restoreSessions(
  work: RestoreWork,
  target: OpenCodeTarget,
  placeOutputs: () => Promise<void>,
): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
  const { content, before, actions, targets } = work;
  const touched = content.sessions.filter(({ id }) => actions.get(id) !== "keep");
  const started: ExportedSession[] = [];
  try {
    const outputPath = (name: string) => path.join(target.dataDir, "tool-output", name);
    const final = touched.map((one) =>
      target.rewritePaths ? { ...one, data: rewriteOutputPaths(one, outputPath) } : one,
    );
    await importSessions(work, final, started);
    const after = await targets.read(content.sessions.map(({ id }) => id));
    for (const session of touched) {
      const { id } = session;
      // A session that was only moved keeps the parts that it had.
      const parts = actions.get(id) === "move" ? before.get(id)?.partIds : session.partIds;
      verify(session, before.get(id)?.messageIds ?? [], parts ?? [], after.get(id));
    }
    await placeOutputs();
    return after;
  } catch (error) {
    await targets.undo(started, before).catch((cause) => {
      throw undoFailed(started, error, cause);
    });
    throw error;
  }
}

/**
 * OpenCode's own import writes the first session: it creates the database and finds the project. If it stored that session exactly as it
 * was captured, the sub-sessions are written as rows, without starting the program for each; otherwise it imports each of them.
 */
async function importSessions(
  work: RestoreWork,
  sessions: readonly ExportedSession[],
  started: ExportedSession[],
): Promise<void> {
  const { cwd, content, actions, targets, before } = work;
  const [root] = content.sessions;
  const imported: ExportedSession[] = [];
  const unwritten: ExportedSession[] = [];
  let target: RestoreTarget | null = null;
  let written: ReadonlySet<string> = new Set();
  for (const session of sessions) {
    started.push(session);
    const was = before.get(session.id);
    if (was === undefined && hasRequiredColumns(session) && areKnownTypes(partTypesOf(session), written)) {
      unwritten.push(session);
      continue;
    }
    const isBehind = was !== undefined && actions.get(session.id) === "complete";
    if (was !== undefined)
      await (await targets.findTarget(was.id))?.prepare(was, isBehind ? lastCommonMessage(session, was) : undefined);
    await importOne(work, session);
    imported.push(session);
    target ??= await targets.findTarget(session.id);
    if (session.id === root?.id && (await target?.hasExactly(session))) written = partTypesOf(session);
  }
  const first = imported[0] ?? unwritten[0];
  if (root === undefined || first === undefined) return;
  if (target === null) throw commandFailed(["import", first.id], "it did not write the session");
  const isReplaced = (id: string) => actions.get(id) === "create" || actions.get(id) === "complete";
  await target.complete({
    cwd,
    rootId: root.id,
    imported,
    unwritten,
    // A session that this machine had with all of its messages keeps its own tasks.
    todos: new Map([...content.todos].filter(([id]) => isReplaced(id))),
    staleTodos: [...actions].filter(([, action]) => action === "complete").map(([id]) => id),
  });
  for (const session of unwritten) {
    if (!(await target.hasExactly(session)))
      throw commandFailed(["db"], `session ${session.id} was not stored as it was captured`);
  }
}

/** A type of part that the parent session does not have may be unknown to this version of OpenCode. */
function areKnownTypes(types: ReadonlySet<string>, known: ReadonlySet<string>): boolean {
  return known.size > 0 && [...types].every((type) => known.has(type));
}

/** A session that this machine has in full is imported without messages, which moves it. */
async function importOne(work: RestoreWork, session: ExportedSession): Promise<void> {
  const { cwd, actions, left } = work;
  const data = toImportData(session, cwd, actions.get(session.id) !== "move");
  try {
    await importData(work, session.id, data);
  } catch (error) {
    // Versions before and after 1.4 write lists of changed files in different formats, and some refuse the other format.
    const reduced = withoutDiffs(data);
    if (reduced === null || !isHoldfastError(error) || error.code !== "AgentFailed") throw error;
    await importData(work, session.id, reduced);
    const why = "this version of OpenCode refuses its lists of changed files; the conversation is complete";
    work.runner.options.environment.log("warn", "opencode.diffs", { text: why, sessionId: session.id });
    left.set(`export/${session.id}.json (summary.diffs)`, why);
  }
}

async function importData({ runner, folder }: RestoreWork, id: string, data: JsonObject): Promise<void> {
  const file = path.join(folder, `${id}.import.json`);
  await writeFile(file, JSON.stringify(data), { mode: 0o600 });
  await runner.text(["import", file]);
}

/** After the restore there must be all messages that were captured or existed before, no other messages, and these parts. */
function verify(
  session: ExportedSession,
  before: readonly string[],
  partIds: readonly string[],
  after: StoredOpenCodeSession | undefined,
): void {
  const messages = new Set(after?.messageIds);
  const expected = new Set([...session.messageIds, ...before]);
  if (messages.size !== expected.size || [...expected].some((id) => !messages.has(id))) {
    throw commandFailed(["import", session.id], `it has ${messages.size} messages instead of ${expected.size}`);
  }
  const parts = new Set(after?.partIds);
  const missing = partIds.filter((id) => !parts.has(id)).length;
  if (missing > 0) throw commandFailed(["import", session.id], `${missing} parts are missing`);
}

async function resolveDirectory(cwd: string): Promise<string> {
  return realpath(cwd).catch((cause) => {
    throw new HoldfastError("MissingDirectory", `there is no directory ${JSON.stringify(cwd)}`, {
      details: { cwd },
      hint: "Create it: the session continues in it.",
      cause,
    });
  });
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}

function undoFailed(touched: readonly ExportedSession[], error: unknown, cause: unknown): HoldfastError {
  const ids = touched.map(({ id }) => id);
  return new HoldfastError("AgentFailed", "the restore failed, and its changes could not be undone", {
    details: { sessions: ids, restoring: String(error), undoing: String(cause) },
    hint: `Check the sessions ${ids.join(", ")} before you continue; \`opencode session delete ID\` removes one.`,
    cause,
  });
}
