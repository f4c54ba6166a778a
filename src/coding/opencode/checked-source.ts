// Checks a session that is to be restored before anything of it is used: it may be hostile. Files are taken by their paths, verified
// into a private folder, and read there.
import { readFile } from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile, CaptureRole } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json } from "../../contracts/json.ts";
import { checkPath, unsafe } from "../../core/paths.ts";
import { Staging } from "../staging.ts";
import { type ExportedSession, isObject, parse, readExport } from "./export.ts";
import { isPlanName, planNameOf } from "./plan-files.ts";
import { checkSessionId, isOutputId, isSessionId, type TodoRow } from "./sql.ts";

const MOST_FILES = 10_000;
/** What a string of Node can hold, with room; spilled output is never made a string. */
const LARGEST = { export: 256 * 2 ** 20, todos: 4 * 2 ** 20, "tool-output": 2 ** 30, plans: 16 * 2 ** 20 };
const ROLES: Readonly<Record<keyof typeof LARGEST, CaptureRole>> = {
  export: "export",
  todos: "todos",
  "tool-output": "output",
  plans: "other",
};

export interface SourcePlan {
  /** By session id. */
  readonly exports: ReadonlyMap<string, CapturedFile>;
  readonly todos: ReadonlyMap<string, CapturedFile>;
  /** By the name of the file. */
  readonly outputs: ReadonlyMap<string, CapturedFile>;
  /** By the name of the file, which a session of it gave to it. */
  readonly plans: ReadonlyMap<string, CapturedFile>;
}

/** By paths and sizes alone. */
export function planSource(source: CaptureSource): SourcePlan {
  if (source.agent !== "opencode") throw refused(`it is a capture of ${source.agent}, not of OpenCode`);
  checkSessionId(source.sessionId);
  if (source.files.length > MOST_FILES) throw tooMuch("files", source.files.length, MOST_FILES);
  const plan = { export: new Map(), todos: new Map(), "tool-output": new Map(), plans: new Map() };
  const seen = new Set<string>();
  for (const file of source.files) {
    const { kind, id } = placeOf(file);
    if (!Number.isSafeInteger(file.size) || file.size < 0 || file.size > LARGEST[kind]) {
      throw tooMuch(`bytes in ${file.path}`, file.size, LARGEST[kind]);
    }
    // Some file systems do not tell upper from lower case.
    const key = `${kind}/${id.toLowerCase()}`;
    if (seen.has(key)) throw unsafe(file.path, "it is there twice");
    seen.add(key);
    plan[kind].set(id, file);
  }
  if (!plan.export.has(source.sessionId)) throw refused(`the export of ${source.sessionId} is missing`);
  for (const id of plan.todos.keys()) if (!plan.export.has(id)) throw refused(`it has tasks of ${id}, but not ${id}`);
  return { exports: plan.export, todos: plan.todos, outputs: plan["tool-output"], plans: plan.plans };
}

const isKind = (kind: string | undefined): kind is keyof typeof LARGEST =>
  kind !== undefined && Object.hasOwn(LARGEST, kind);

function placeOf(file: CapturedFile): { kind: keyof typeof LARGEST; id: string } {
  const [kind, name, ...more] = checkPath(file.path);
  if (!isKind(kind) || name === undefined || more.length > 0) throw unsafe(file.path, "OpenCode has no such file");
  const isJson = kind === "export" || kind === "todos";
  const id = isJson ? name.replace(/\.json$/, "") : name;
  const isName =
    kind === "plans"
      ? isPlanName(id)
      : kind === "tool-output"
        ? isOutputId(id)
        : isSessionId(id) && name.endsWith(".json");
  if (!isName || file.role !== ROLES[kind]) throw unsafe(file.path, "OpenCode has no such file");
  return { kind, id };
}

export interface SourceContent {
  /** Each after the one it is below. */
  readonly sessions: readonly ExportedSession[];
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
}

/** Verified, and of the ids that their paths say. `folder` is private and gets copies of them. */
export async function readContent(source: CaptureSource, plan: SourcePlan, folder: string): Promise<SourceContent> {
  const staging = await Staging.in(folder);
  const files = [...plan.exports.values(), ...plan.todos.values()];
  try {
    for (const [i, file] of files.entries()) {
      await staging.add(file, path.join(folder, String(i)), source.read(file.path));
    }
    await staging.place();
  } finally {
    await staging.close();
  }
  const textOf = (file: CapturedFile) => readFile(path.join(folder, String(files.indexOf(file))), "utf8");
  const sessions = new Map<string, ExportedSession>();
  for (const [id, file] of plan.exports) {
    const session = readExport(await textOf(file), id);
    if ("wrong" in session) throw refused(`${file.path}: ${session.wrong}`);
    sessions.set(id, session);
  }
  const ids = [...sessions.values()].flatMap(({ messageIds, partIds }) => [...messageIds, ...partIds]);
  if (new Set(ids).size < ids.length) throw refused("two of its sessions have the same message");
  const names = new Set([...sessions.values()].map(planNameOf));
  for (const [name, { path }] of plan.plans)
    if (!names.has(name)) throw refused(`${path} is the plan of none of its sessions`);
  const todos = new Map<string, readonly TodoRow[]>();
  for (const [id, file] of plan.todos) todos.set(id, readTodos(await textOf(file), file.path));
  return { sessions: parentsFirst(sessions, source.sessionId), todos };
}

function parentsFirst(sessions: ReadonlyMap<string, ExportedSession>, rootId: string): readonly ExportedSession[] {
  const below = Map.groupBy(sessions.values(), ({ parentId }) => parentId);
  const root = sessions.get(rootId);
  const sorted = root === undefined ? [] : [root];
  for (const { id } of sorted) {
    sorted.push(...(below.get(id) ?? []).filter((session) => session !== root));
    if (sorted.length > sessions.size) throw refused("its sessions are below each other");
  }
  if (sorted.length < sessions.size) throw refused(`not all of its sessions are below ${rootId}`);
  return sorted;
}

function readTodos(text: string, name: string): readonly TodoRow[] {
  const rows = parse(text);
  if (!Array.isArray(rows)) throw refused(`${name}: it is not complete JSON`);
  return rows.map((row: Json, position) => {
    if (!isObject(row)) throw refused(`${name}: a task is none`);
    const text = (key: "content" | "status" | "priority"): string => {
      const value = row[key];
      return typeof value === "string" ? value : bad(key);
    };
    const time = (key: "time_created" | "time_updated"): number => {
      const value = row[key];
      return typeof value === "number" ? value : bad(key);
    };
    const bad = (key: string): never => {
      throw refused(`${name}: a task has no ${key}`);
    };
    return {
      ...(typeof row.id === "string" ? { id: row.id } : {}),
      content: text("content"),
      status: text("status"),
      priority: text("priority"),
      position,
      time_created: time("time_created"),
      time_updated: time("time_updated"),
    };
  });
}

export function refused(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the capture is refused: ${why}`, {
    hint: "Nothing was imported. Whoever made this capture or bundle did not make it with holdfast.",
  });
}

function tooMuch(what: string, found: number, most: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `the capture has ${found} ${what}; the most is ${most}`, {
    hint: "Nothing was imported.",
  });
}
