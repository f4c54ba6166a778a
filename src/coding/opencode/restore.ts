// Puts a captured session of OpenCode back: its own `import` for every session, then tasks and spilled output, and a look
// at what is there. An import is no transaction, so whatever fails is undone here.
import { lstat, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { Staging } from "../staging.ts";
import { type ExportedSession, withOutputsIn } from "./export.ts";
import { judge, type LocalSession, makeRoom, readLocal, rollBack, type State, writeTodos } from "./local.ts";
import { failed, type OpenCode } from "./runner.ts";
import { type Content, type Plan, planOf, readContent, refused } from "./source.ts";

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
  readonly plan: Plan;
  readonly content: Content;
  readonly before: ReadonlyMap<string, LocalSession>;
  readonly states: ReadonlyMap<string, State>;
}

/**
 * All of it, or nothing: InvalidArgument, LimitExceeded or BlobCorrupted for a source that is not right, Conflict for a
 * session that went on here too, AgentFailed when opencode does not take it. A session that is here with all of its
 * messages is left as it is.
 */
export async function restoreOpenCode(source: CaptureSource, target: OpenCodeTarget): Promise<Restored> {
  const plan = planOf(source);
  const cwd = await directory(target.cwd);
  const runner = target.runner.in(cwd);
  const folder = await mkdtemp(path.join(tmpdir(), "holdfast-opencode-"));
  try {
    const content = await readContent(source, plan, folder);
    const before = await readBefore(runner, content.sessions);
    const states = new Map(content.sessions.map((s) => [s.id, judge(s, before.get(s.id), cwd)] as const));
    const outputs = await Staging.in(target.dryRun ? folder : target.dataDir);
    try {
      const left = await stageOutputs(source, plan, target.dataDir, outputs);
      const work: Work = { runner, plan, content, before, states };
      const after = target.dryRun ? content.sessions : (await putBack(work, target, folder, outputs)).values();
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
        files: source.files.length - left.size,
        bytes: source.files.reduce((sum, file) => sum + (left.has(file.path) ? 0 : file.size), 0),
        messages: [...after].find(({ id }) => id === source.sessionId)?.messageIds.length ?? 0,
        left: [...left].map(([name, why]) => ({ path: name, why })),
      };
    } finally {
      await outputs.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** An import would put parts of a message to one of another session that has its id. */
async function readBefore(
  runner: OpenCode,
  sessions: readonly ExportedSession[],
): Promise<ReadonlyMap<string, LocalSession>> {
  const ids = sessions.flatMap((session) => [session.id, ...session.messageIds]);
  const before = await readLocal(runner, ids);
  const owners = new Map([...before.values()].flatMap(({ id, messageIds }) => messageIds.map((m) => [m, id] as const)));
  for (const { id, messageIds } of sessions) {
    const owner = messageIds.map((message) => owners.get(message) ?? id).find((found) => found !== id);
    if (owner !== undefined) throw refused(`messages of ${id} are of ${owner} here`);
  }
  return before;
}

/** Those that are here stay as they are: their names are made of the time and of chance. */
async function stageOutputs(
  source: CaptureSource,
  plan: Plan,
  dataDir: string,
  staging: Staging,
): Promise<Map<string, string>> {
  const left = new Map<string, string>();
  for (const [name, file] of plan.outputs) {
    const to = path.join(dataDir, "tool-output", name);
    if (await exists(to)) left.set(file.path, "a file of that name is here already");
    else await staging.add(file, to, source.read(file.path));
  }
  return left;
}

async function putBack(
  work: Work,
  target: OpenCodeTarget,
  folder: string,
  outputs: Staging,
): Promise<ReadonlyMap<string, LocalSession>> {
  const { runner, plan, content, before, states } = work;
  const touched: ExportedSession[] = [];
  const copyOf = (id: string) => path.join(folder, `${id}.before.json`);
  try {
    for (const session of content.sessions) {
      const was = before.get(session.id);
      if (states.get(session.id) === "kept") continue;
      touched.push(session);
      if (was && states.get(session.id) === "fewer") await makeRoom(runner, session, was, copyOf(session.id));
      await importOne(runner, session, target, path.join(folder, `${session.id}.json`));
    }
    await putTodos(work);
    const after = await readLocal(runner, [...plan.exports.keys()]);
    for (const session of touched) verify(session, before.get(session.id), after.get(session.id));
    await outputs.place();
    return after;
  } catch (error) {
    await rollBack(runner, touched, before, copyOf).catch((cause) => {
      throw notUndone(touched, error, cause);
    });
    throw error;
  }
}

async function importOne(
  runner: OpenCode,
  session: ExportedSession,
  { dataDir, rewritePaths = false }: OpenCodeTarget,
  file: string,
): Promise<void> {
  const place = (name: string) => path.join(dataDir, "tool-output", name);
  const data = rewritePaths ? withOutputsIn(session, place) : session.data;
  await writeFile(file, JSON.stringify(data), { mode: 0o600, flag: "wx" });
  await runner.text(["import", file]);
}

/** A session that is here with all of its messages keeps its own tasks. */
async function putTodos({ runner, content, states }: Work): Promise<void> {
  const isReplaced = (id: string) => states.get(id) === "new" || states.get(id) === "fewer";
  const todos = new Map([...content.todos].filter(([id]) => isReplaced(id)));
  const stale = [...states].filter(([, state]) => state === "fewer").map(([id]) => id);
  await writeTodos(runner, todos, stale);
}

/** All messages that were here or were captured and no others; all parts that were captured. */
function verify(session: ExportedSession, before: LocalSession | undefined, after: LocalSession | undefined): void {
  const messages = new Set(after?.messageIds);
  const expected = new Set([...session.messageIds, ...(before?.messageIds ?? [])]);
  if (messages.size !== expected.size || [...expected].some((id) => !messages.has(id))) {
    throw failed(["import", session.id], `there are ${messages.size} messages of ${expected.size}`);
  }
  const parts = new Set(after?.partIds);
  const missing = session.partIds.filter((id) => !parts.has(id)).length;
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
