// The JSON of `opencode export`: checks it before it is captured or imported, and removes from it what a capture must not have.
import type { Json, JsonObject } from "../../contracts/json.ts";
import { isObject } from "../../core/check.ts";
import { isMessageId, isOutputId, isPartId, isSessionId, type TodoRow } from "./sql.ts";

export interface ExportedSession {
  readonly id: string;
  readonly parentId: string | null;
  readonly messageIds: readonly string[];
  readonly partIds: readonly string[];
  /** Spilled output that its parts name: absolute paths, and the name of the file in each. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Sessions that the results of its tools name as their sub-sessions. */
  readonly children: readonly string[];
  /** It has the secret with which its owner changes a published share. */
  readonly hasShareSecret: boolean;
  readonly data: JsonObject;
}

/** OpenCode names the file with the whole output in a result that it cut. */
const SAVED = /^Full output saved to: (.+)$/gm;

export interface OpenCodeSessionInfo {
  readonly sessionId: string;
  readonly parentId: string | null;
  readonly directory: string;
  readonly title: string;
  /** By the clock of this machine; epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The version of OpenCode that created the session. */
  readonly version: string | null;
}

/** A session and its sub-sessions, whether they come from the database or from the files of versions before 1.2. */
export interface SessionTree {
  /** The exports are files in the folder already. */
  readonly exported: boolean;
  readonly cwd: string;
  readonly version: string | null;
  readonly sessions: readonly ExportedSession[];
  /** By session. A session without tasks has no entry. */
  readonly todos: ReadonlyMap<string, readonly TodoRow[]>;
}

/** `wrong` says why it is no valid export of this session. */
export function readExport(exported: string | JsonObject, id: string): ExportedSession | { readonly wrong: string } {
  const data = typeof exported === "string" ? parse(exported) : exported;
  if (!isObject(data)) return { wrong: "it is not complete JSON" };
  const { info, messages } = data;
  if (!isObject(info) || !Array.isArray(messages)) return { wrong: "it has no session and messages" };
  if (info.id !== id) return { wrong: `it is the export of another session than ${id}` };
  const parentId = info.parentID ?? null;
  if (parentId !== null && !isSessionId(parentId)) return { wrong: "the id of its parent is not valid" };
  const messageIds = new Set<string>();
  const partIds = new Set<string>();
  const outputs = new Map<string, string>();
  const children = new Set<string>();
  for (const message of messages) {
    const wrong = readMessage(message, id, messageIds, partIds);
    if (wrong !== null) return { wrong };
    for (const part of partsOf(message)) collectReferences(part, outputs, children);
  }
  const share = info.share;
  const hasShareSecret = isObject(share) && share.secret !== undefined;
  return {
    id,
    parentId,
    messageIds: [...messageIds],
    partIds: [...partIds],
    outputs,
    children: [...children],
    hasShareSecret,
    data,
  };
}

function readMessage(message: Json, session: string, messageIds: Set<string>, partIds: Set<string>): string | null {
  if (!isObject(message) || !isObject(message.info) || !Array.isArray(message.parts))
    return "a message has no info or no parts";
  const { id, sessionID } = message.info;
  if (!isMessageId(id) || messageIds.has(id)) return "a message has no valid id, or one that another message has";
  if (sessionID !== session) return `message ${id} belongs to another session`;
  messageIds.add(id);
  for (const part of message.parts) {
    if (!isObject(part) || !isPartId(part.id) || partIds.has(part.id))
      return "a part has no valid id, or one that another part has";
    if (part.sessionID !== session || part.messageID !== id) return `part ${part.id} belongs to another message`;
    partIds.add(part.id);
  }
  return null;
}

const partsOf = (message: Json): readonly Json[] =>
  isObject(message) && Array.isArray(message.parts) ? message.parts : [];

/** Collects only names that OpenCode itself wrote: a tool may have printed the names of other files. */
function collectReferences(part: Json, outputs: Map<string, string>, children: Set<string>): void {
  if (!isObject(part) || part.type !== "tool" || !isObject(part.state)) return;
  const { metadata, output } = part.state;
  const { outputPath, sessionId } = isObject(metadata) ? metadata : {};
  if (isSessionId(sessionId)) children.add(sessionId);
  const saved = typeof output === "string" ? [...output.matchAll(SAVED)].map((match) => match[1]) : [];
  for (const file of [outputPath, ...saved]) {
    if (typeof file !== "string" || !/[/\\]tool-output[/\\][^/\\]+$/.test(file)) continue;
    const name = file.split(/[/\\]/).at(-1);
    if (isOutputId(name)) outputs.set(file, name);
  }
}

export function withoutShareSecret(data: JsonObject): JsonObject {
  const info = data.info;
  if (!isObject(info) || !isObject(info.share)) return data;
  const { secret: _, ...share } = info.share;
  return { ...data, info: { ...info, share } };
}

/** The conversation names spilled output by absolute paths. This replaces them with the paths of the restored files. */
export function rewriteOutputPaths(session: ExportedSession, pathOf: (name: string) => string): JsonObject {
  const { messages } = session.data;
  if (session.outputs.size === 0 || !Array.isArray(messages)) return session.data;
  const rewrite = (text: string) => {
    let rewritten = text;
    for (const [file, name] of session.outputs) rewritten = rewritten.replaceAll(file, () => pathOf(name));
    return rewritten;
  };
  return {
    ...session.data,
    messages: messages.map((message: Json) =>
      isObject(message) ? { ...message, parts: mapStrings(message.parts ?? [], rewrite) } : message,
    ),
  };
}

/** The input of OpenCode's import. Versions before 1.15 read the directory from it; later ones use the directory that they run in. */
export function toImportData({ data }: ExportedSession, cwd: string, withMessages: boolean): JsonObject {
  const { path: _, ...info } = isObject(data.info) ? data.info : {};
  return { info: { ...info, directory: cwd }, messages: withMessages ? (data.messages ?? []) : [] };
}

/** Removes the lists of changed files, which OpenCode only shows to people. null: there are none. */
export function withoutDiffs(data: JsonObject): JsonObject | null {
  let count = 0;
  const cleaned = (info: Json | undefined): Json => {
    if (!isObject(info) || !isObject(info.summary) || !Array.isArray(info.summary.diffs)) return info ?? {};
    if (info.summary.diffs.length > 0) count++;
    return { ...info, summary: { ...info.summary, diffs: [] } };
  };
  const messages = (Array.isArray(data.messages) ? data.messages : []).map((message: Json) =>
    isObject(message) ? { ...message, info: cleaned(message.info) } : message,
  );
  const reduced = { ...data, info: cleaned(data.info), messages };
  return count === 0 ? null : reduced;
}

export function partTypesOf({ data }: ExportedSession): ReadonlySet<string> {
  const messages = Array.isArray(data.messages) ? data.messages : [];
  return new Set(messages.flatMap(partsOf).map((part) => (isObject(part) ? String(part.type) : "")));
}

function mapStrings(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, change));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)]));
}

export { isObject };

export function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
