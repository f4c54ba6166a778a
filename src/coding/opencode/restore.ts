// Puts a captured session of OpenCode back: its own `import` for the session, then everything else that goes on from it, and a look at
// what is there. An import is no transaction, so whatever fails is undone here.
import { lstat, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { JsonObject } from "../../contracts/json.ts";
import { Staging } from "../staging.ts";
import { planSource, readContent, refused, type SourceContent, type SourcePlan } from "./checked-source.ts";
import { type ExportedSession, importable, partTypesOf, withOutputsIn, withoutDiffs } from "./export.ts";
import { planFolderFor } from "./plan-files.ts";
import {
  chooseRestoreAction,
  lastCommonMessage,
  type RestoreAction,
  type RestoreTarget,
  type StoredOpenCodeSession,
  without,
} from "./restore-plan.ts";
import { hasRow } from "./rows.ts";
import { failed, type OpenCode } from "./runner.ts";
import { RestoreTargets } from "./target.ts";

export interface OpenCodeTarget {
  readonly runner: OpenCode;
  /** The directory in which the session goes on. It must be there. */
  readonly cwd: string;
  /** openCodeDataDir(env) */
  readonly dataDir: string;
  /** Names of spilled output in the conversation become where it is now; it is not what the model saw any more. */
  readonly rewritePaths?: boolean;
  /** Looks at everything, and writes nothing. */
  readonly dryRun?: boolean;
}

interface Work {
  readonly runner: OpenCode;
  readonly cwd: string;
  readonly folder: string;
  readonly content: SourceContent;
  readonly targets: RestoreTargets;
  readonly before: ReadonlyMap<string, StoredOpenCodeSession>;
  readonly states: ReadonlyMap<string, RestoreAction>;
  /** By path: what is not put back, and why. */
  readonly left: Map<string, string>;
}

/**
 * All of it, or nothing: InvalidArgument, LimitExceeded or BlobCorrupted for a source that is not right, Conflict for a
 * session that went on here too, AgentFailed when opencode does not take it. A session that is here with all of its
 * messages is left as it is.
 */
export async function restoreOpenCode(source: CaptureSource, target: OpenCodeTarget): Promise<Restored> {
  const plan = planSource(source);
  const cwd = await directory(target.cwd);
  const runner = target.runner.in(cwd);
  const folder = await mkdtemp(path.join(tmpdir(), "holdfast-opencode-"));
  try {
    const content = await readContent(source, plan, folder);
    const targets = new RestoreTargets(runner, target.dataDir);
    const before = await readBefore(targets, content.sessions);
    const states = new Map(content.sessions.map((s) => [s.id, chooseRestoreAction(s, before.get(s.id), cwd)] as const));
    const left = new Map<string, string>();
    const work: Work = { runner, cwd, folder, content, targets, before, states, left };
    const after = await putFiles(source, plan, target, work);
    for (const [id, state] of states) {
      if (state === "new" || state === "fewer") continue;
      const why = "the session is here already, with all of its messages";
      left.set(`export/${id}.json`, state === "kept" ? why : `${why}; it was moved to this directory`);
      if (content.todos.has(id)) left.set(`todos/${id}.json`, "the session here has its own");
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
      isAhead: isAhead(content.sessions, before, states),
      left: [...left].map(([name, why]) => ({ path: name, why })),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One of them has messages or parts here that were not captured. */
function isAhead(
  sessions: readonly ExportedSession[],
  before: ReadonlyMap<string, StoredOpenCodeSession>,
  states: ReadonlyMap<string, RestoreAction>,
): boolean {
  return sessions.some(({ id, messageIds, partIds }) => {
    const here = before.get(id);
    if (here === undefined || states.get(id) === "fewer") return false;
    return without(here.messageIds, messageIds).length > 0 || without(here.partIds, partIds).length > 0;
  });
}

/** An import would put parts of a message to one of another session that has its id. */
async function readBefore(
  targets: RestoreTargets,
  sessions: readonly ExportedSession[],
): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
  const ids = sessions.flatMap((session) => [session.id, ...session.messageIds]);
  const before = await targets.read(ids);
  const owners = new Map([...before.values()].flatMap(({ id, messageIds }) => messageIds.map((m) => [m, id] as const)));
  for (const { id, messageIds } of sessions) {
    const owner = messageIds.map((message) => owners.get(message) ?? id).find((found) => found !== id);
    if (owner !== undefined) throw refused(`messages of ${id} are of ${owner} here`);
  }
  return before;
}

type Sessions = Iterable<Pick<StoredOpenCodeSession, "id" | "messageIds">>;

/** The sessions, with their files around them: what is staged is placed only when all of them are there. */
async function putFiles(
  source: CaptureSource,
  plan: SourcePlan,
  target: OpenCodeTarget,
  work: Work,
): Promise<Sessions> {
  const { dataDir, dryRun = false } = target;
  const outputs = await Staging.in(dryRun ? work.folder : dataDir);
  try {
    await stage(source, plan.outputs, path.join(dataDir, "tool-output"), outputs, work.left);
    if (dryRun) return work.content.sessions;
    const after = await putBack(work, target, () => outputs.place());
    await putPlans(source, plan, target, work);
    return after.values();
  } finally {
    await outputs.close();
  }
}

/** Those that are here stay as they are: their names are made of the time and of chance. */
async function stage(
  source: CaptureSource,
  files: SourcePlan["outputs"],
  folder: string,
  staging: Staging,
  left: Map<string, string>,
): Promise<void> {
  for (const [name, file] of files) {
    const to = path.join(folder, name);
    if (await exists(to)) left.set(file.path, "a file of that name is here already");
    else await staging.add(file, to, source.read(file.path));
  }
}

/** A repository that does not take one is no reason to be without the session. */
async function putPlans(
  source: CaptureSource,
  plan: SourcePlan,
  { dataDir }: OpenCodeTarget,
  work: Work,
): Promise<void> {
  if (plan.plans.size === 0) return;
  const { root, folder } = await planFolderFor(work.cwd, dataDir);
  const staging = await Staging.in(root);
  try {
    await stage(source, plan.plans, folder, staging, work.left);
    await staging.place();
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    for (const { path: name } of plan.plans.values()) work.left.set(name, error.message);
  } finally {
    await staging.close();
  }
}

async function putBack(
  work: Work,
  target: OpenCodeTarget,
  placeOutputs: () => Promise<void>,
): Promise<ReadonlyMap<string, StoredOpenCodeSession>> {
  const { content, before, states, targets } = work;
  const touched = content.sessions.filter(({ id }) => states.get(id) !== "kept");
  const begun: ExportedSession[] = [];
  try {
    const place = (name: string) => path.join(target.dataDir, "tool-output", name);
    const final = touched.map((one) => (target.rewritePaths ? { ...one, data: withOutputsIn(one, place) } : one));
    await putSessions(work, final, begun);
    const after = await targets.read(content.sessions.map(({ id }) => id));
    for (const session of touched) {
      const { id } = session;
      // One that was only moved has what it had.
      const parts = states.get(id) === "moved" ? before.get(id)?.partIds : session.partIds;
      verify(session, before.get(id)?.messageIds ?? [], parts ?? [], after.get(id));
    }
    await placeOutputs();
    return after;
  } catch (error) {
    await targets.undo(begun, before).catch((cause) => {
      throw notUndone(begun, error, cause);
    });
    throw error;
  }
}

/**
 * The first by OpenCode's own import, which makes its database and finds its project. When it took that one over as it was captured,
 * those below it are written as rows, which takes no start of the program; otherwise it imports each.
 */
async function putSessions(work: Work, sessions: readonly ExportedSession[], begun: ExportedSession[]): Promise<void> {
  const { cwd, content, states, targets, before } = work;
  const [root] = content.sessions;
  const imported: ExportedSession[] = [];
  const unwritten: ExportedSession[] = [];
  let target: RestoreTarget | null = null;
  let written: ReadonlySet<string> = new Set();
  for (const session of sessions) {
    begun.push(session);
    const was = before.get(session.id);
    if (was === undefined && hasRow(session) && isOneOf(partTypesOf(session), written)) {
      unwritten.push(session);
      continue;
    }
    const isBehind = was !== undefined && states.get(session.id) === "fewer";
    if (was !== undefined)
      await (await targets.having(was.id))?.prepare(was, isBehind ? lastCommonMessage(session, was) : undefined);
    await importOne(work, session);
    imported.push(session);
    target ??= await targets.having(session.id);
    if (session.id === root?.id && (await target?.hasExactly(session))) written = partTypesOf(session);
  }
  const first = imported[0] ?? unwritten[0];
  if (root === undefined || first === undefined) return;
  if (target === null) throw failed(["import", first.id], "the session is not there");
  const isReplaced = (id: string) => states.get(id) === "new" || states.get(id) === "fewer";
  await target.complete({
    cwd,
    rootId: root.id,
    imported,
    unwritten,
    // One that is here with all of its messages keeps its own tasks.
    todos: new Map([...content.todos].filter(([id]) => isReplaced(id))),
    staleTodos: [...states].filter(([, state]) => state === "fewer").map(([id]) => id),
  });
  for (const session of unwritten) {
    if (!(await target.hasExactly(session)))
      throw failed(["db"], `the session ${session.id} is not there as it was captured`);
  }
}

/** A kind of part that the session above did not have may be one that this version does not know. */
function isOneOf(types: ReadonlySet<string>, known: ReadonlySet<string>): boolean {
  return known.size > 0 && [...types].every((type) => known.has(type));
}

/** One that is here in full is only moved. */
async function importOne(work: Work, session: ExportedSession): Promise<void> {
  const { cwd, states, left } = work;
  const data = importable(session, cwd, states.get(session.id) !== "moved");
  try {
    await importData(work, session.id, data);
  } catch (error) {
    // Versions before 1.4 and later ones write the changes of files in two ways; some refuse the other one.
    const reduced = withoutDiffs(data);
    if (reduced === null || !isHoldfastError(error) || error.code !== "AgentFailed") throw error;
    await importData(work, session.id, reduced);
    const why = "this version of OpenCode does not take its lists of changed files; the conversation is whole";
    work.runner.options.environment.log("warn", "opencode.diffs", { text: why, sessionId: session.id });
    left.set(`export/${session.id}.json (summary.diffs)`, why);
  }
}

async function importData({ runner, folder }: Work, id: string, data: JsonObject): Promise<void> {
  const file = path.join(folder, `${id}.import.json`);
  await writeFile(file, JSON.stringify(data), { mode: 0o600 });
  await runner.text(["import", file]);
}

/** All messages that were captured or were here before, and no others; and these parts. */
function verify(
  session: ExportedSession,
  before: readonly string[],
  partIds: readonly string[],
  after: StoredOpenCodeSession | undefined,
): void {
  const messages = new Set(after?.messageIds);
  const expected = new Set([...session.messageIds, ...before]);
  if (messages.size !== expected.size || [...expected].some((id) => !messages.has(id))) {
    throw failed(["import", session.id], `there are ${messages.size} messages of ${expected.size}`);
  }
  const parts = new Set(after?.partIds);
  const missing = partIds.filter((id) => !parts.has(id)).length;
  if (missing > 0) throw failed(["import", session.id], `${missing} parts are missing`);
}

async function directory(cwd: string): Promise<string> {
  return realpath(cwd).catch((cause) => {
    throw new HoldfastError("MissingDirectory", `there is no directory ${JSON.stringify(cwd)}`, {
      details: { cwd },
      hint: "Make it: the session goes on in it.",
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

function notUndone(touched: readonly ExportedSession[], error: unknown, cause: unknown): HoldfastError {
  const ids = touched.map(({ id }) => id);
  return new HoldfastError("AgentFailed", "restoring failed, and so did undoing what was done until then", {
    details: { sessions: ids, restoring: String(error), undoing: String(cause) },
    hint: `Look at ${ids.join(", ")} before you go on: \`opencode session delete\` removes one.`,
    cause,
  });
}
