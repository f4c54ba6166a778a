// Checks a captured session before a restore uses any part of it, because the capture may be hostile. Files are accepted by their
// paths, copied to a private folder, verified, and read there.
import { readFile } from "node:fs/promises";
import * as path from "node:path";
import type { CapturedFile, CaptureRole } from "../../contracts/captures.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json } from "../../contracts/json.ts";
import { checkPath, unsafe } from "../../core/agent-sessions.ts";
import { Staging } from "../staging.ts";
import { type ExportedSession, isObject, parse, readExport } from "./export.ts";
import { isPlanName, planNameOf } from "./plan-files.ts";
import { checkSessionId, isOutputId, isSessionId, type TodoRow } from "./sql.ts";

const MOST_FILES = 10_000;
/** In bytes. Exports and tasks become strings, which Node limits; spilled output is never read into a string. */
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
  /** By the name of the file. Each name follows from a session of the capture. */
  readonly plans: ReadonlyMap<string, CapturedFile>;
}

/** Checks paths and sizes only; it reads no content. */
export function planSource(source: CaptureSource): SourcePlan {
  if (source.agent !== "opencode") throw refusedCapture(`it is a capture of ${source.agent}, not of OpenCode`);
  checkSessionId(source.sessionId);
  if (source.files.length > MOST_FILES) throw limitError("files", source.files.length, MOST_FILES);
  const plan = { export: new Map(), todos: new Map(), "tool-output": new Map(), plans: new Map() };
  const seen = new Set<string>();
  for (const file of source.files) {
    const { kind, id } = classifyFile(file);
    if (!Number.isSafeInteger(file.size) || file.size < 0 || file.size > LARGEST[kind]) {
      throw limitError(`bytes in ${file.path}`, file.size, LARGEST[kind]);
    }
    // Some file systems ignore case.
    const key = `${kind}/${id.toLowerCase()}`;
    if (seen.has(key)) throw unsafe(file.path, "the capture lists it twice");
    seen.add(key);
    plan[kind].set(id, file);
  }
  if (!plan.export.has(source.sessionId)) throw refusedCapture(`the export of ${source.sessionId} is missing`);
  for (const id of plan.todos.keys()) {
    if (!plan.export.has(id)) throw refusedCapture(`it has the tasks of session ${id}, but not its export`);
  }
  return { exports: plan.export, todos: plan.todos, outputs: plan["tool-output"], plans: plan.plans };
}

const isKind = (kind: string | undefined): kind is keyof typeof LARGEST =>
  kind !== undefined && Object.hasOwn(LARGEST, kind);

function classifyFile(file: CapturedFile): { kind: keyof typeof LARGEST; id: string } {
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
  /** Parents come before their sub-sessions. */
  readonly sessions: readonly ExportedSession[];
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
}

/** Verifies the files, and that each export has the id that its path names. `folder` is private and gets copies of the files. */
export async function readContent(source: CaptureSource, plan: SourcePlan, folder: string): Promise<SourceContent> {
  const staging = await Staging.createIn(folder);
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
    if ("wrong" in session) throw refusedCapture(`${file.path}: ${session.wrong}`);
    sessions.set(id, session);
  }
  const ids = [...sessions.values()].flatMap(({ messageIds, partIds }) => [...messageIds, ...partIds]);
  if (new Set(ids).size < ids.length) throw refusedCapture("two of its messages or parts have the same id");
  const names = new Set([...sessions.values()].map(planNameOf));
  for (const [name, { path }] of plan.plans)
    if (!names.has(name)) throw refusedCapture(`${path} belongs to none of its sessions`);
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
    if (sorted.length > sessions.size) throw refusedCapture("its sessions form a cycle of parents");
  }
  if (sorted.length < sessions.size) throw refusedCapture(`not all of its sessions descend from ${rootId}`);
  return sorted;
}

function readTodos(text: string, name: string): readonly TodoRow[] {
  const rows = parse(text);
  if (!Array.isArray(rows)) throw refusedCapture(`${name}: it is not complete JSON`);
  return rows.map((row: Json, position) => {
    if (!isObject(row)) throw refusedCapture(`${name}: a task is not an object`);
    const text = (key: "content" | "status" | "priority"): string => {
      const value = row[key];
      return typeof value === "string" ? value : missing(key);
    };
    const time = (key: "time_created" | "time_updated"): number => {
      const value = row[key];
      return typeof value === "number" ? value : missing(key);
    };
    const missing = (key: string): never => {
      throw refusedCapture(`${name}: a task has no ${key}`);
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

export function refusedCapture(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the capture is refused: ${why}`, {
    hint: "Nothing was imported. Holdfast did not write this capture or bundle, or another program changed it.",
  });
}

function limitError(what: string, found: number, most: number): HoldfastError {
  return new HoldfastError("LimitExceeded", `the capture has ${found} ${what}; the limit is ${most}`, {
    hint: "Nothing was imported.",
  });
}
