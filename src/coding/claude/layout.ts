// What belongs to a session of Claude Code, and where it lies: the only list of it. Whatever is not on it is neither read nor
// written, so that credentials, settings and other sessions stay where they are.

import { lstat, readdir, realpath } from "node:fs/promises";
import * as path from "node:path";
import type { CaptureRole } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { isSessionIdOf, mainFileOf } from "../../core/agent-sessions.ts";
import { checkPath, unsafe } from "../../core/paths.ts";
import { quoteArgument } from "../../core/shell.ts";

/** Folders of the config directory in which each session has one of its own. */
export const FOLDERS = ["file-history", "session-env", "tasks"] as const;
/** Claude Code 2.0 kept sub-agents beside the session, and a list of things to do for each. */
const FLAT_AGENT = /^agent-[A-Za-z0-9_-]{1,64}\.jsonl$/;
const TODOS = /^agent-[A-Za-z0-9_-]{1,64}\.json$/;
/** Held by a process, of this machine only, or kept beside by a restore; wherever they are. */
const NEVER = [
  /^\.holdfast-restore-/i,
  /^\.lock$/i,
  /\.lock$/i,
  /^\.claude\.json/i,
  /^\.credentials\.json/i,
  /\.holdfast-[0-9a-f]{12}$/,
];

export interface ClaudeLocation {
  readonly configDir: string;
  readonly key: string;
  readonly sessionId: string;
}

export function isSessionId(value: string): boolean {
  return isSessionIdOf("claude-code", value);
}

export function checkSessionId(value: unknown): string {
  if (typeof value === "string" && isSessionId(value)) return value;
  const shown = typeof value === "string" ? value.slice(0, 100) : typeof value;
  throw new HoldfastError("InvalidId", `a session of Claude Code is named by a UUID, not ${JSON.stringify(shown)}`, {
    details: { sessionId: shown },
    hint: "Claude Code prints it as session_id; `claude --resume` lists those that are there.",
  });
}

export function isFlatAgent(name: string): boolean {
  return FLAT_AGENT.test(name);
}

export function isTodosOf(name: string, sessionId: string): boolean {
  return name.startsWith(`${sessionId}-`) && TODOS.test(name.slice(sessionId.length + 1));
}

/** A name that is left alone, whatever folder it is in. */
export function isNeverCaptured(name: string): boolean {
  return NEVER.some((pattern) => pattern.test(name));
}

export function transcriptPath(sessionId: string): string {
  return mainFileOf("claude-code", sessionId).path;
}

/** The path of a session's file on disk. UnsafePath (InvalidArgument) when it is no file of this session. */
export function locateFile(captured: string, { configDir, key, sessionId }: ClaudeLocation): string {
  const parts = checkPath(captured);
  const [top = "", second = ""] = parts;
  const rest = parts.slice(1);
  if (parts.some(isNeverCaptured)) throw unsafe(captured, "such a file is never captured");
  if (top === "project" && isOfProject(rest, sessionId)) return path.join(configDir, "projects", key, ...rest);
  const isOwnFolder = FOLDERS.some((name) => name === top) && second === sessionId && parts.length > 2;
  const isTodos = top === "todos" && parts.length === 2 && isTodosOf(second, sessionId);
  if (isOwnFolder || isTodos) return path.join(configDir, ...parts);
  throw unsafe(captured, "it is no file of this session");
}

function isOfProject([first = "", ...below]: readonly string[], sessionId: string): boolean {
  if (below.length === 0) return first === `${sessionId}.jsonl` || FLAT_AGENT.test(first);
  return first === sessionId;
}

export function roleOf(captured: string): CaptureRole {
  const [top, second = "", third, ...below] = captured.split("/");
  if (top === "tasks" || top === "todos") return "task";
  if (top === "file-history") return "file-history";
  if (top !== "project") return "other";
  if (third === undefined) return FLAT_AGENT.test(second) ? "subagent" : "transcript";
  if (below.length > 0 && third === "subagents") return "subagent";
  return below.length > 0 && third === "tool-results" ? "tool-result" : "other";
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** Longer names are cut, and told apart by a hash. */
const LONGEST = 200;
const FIXED = /^[A-Za-z0-9_-]{1,64}$/;
const KEY = /^[A-Za-z0-9_-]{1,255}$/;

/** Of a real path: no links in it, no slash at its end. Several paths may have the same key ("a.b" and "a-b"). */
export function projectKey(cwd: string, platform: string = process.platform): string {
  const real = platform === "darwin" ? cwd.normalize("NFC") : cwd;
  const name = real.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= LONGEST) return name;
  let hash = 0;
  for (let i = 0; i < real.length; i++) hash = ((hash << 5) - hash + real.charCodeAt(i)) | 0;
  return `${name.slice(0, LONGEST)}-${Math.abs(hash).toString(36)}`;
}

/** Of any path to a directory that is there; MissingDirectory when it is not. */
export async function projectKeyOf(cwd: string): Promise<string> {
  try {
    return projectKey(await realpath(cwd));
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "does not exist" : `cannot be opened (${(cause as NodeJS.ErrnoException).code})`;
    throw new HoldfastError("MissingDirectory", `the working directory ${JSON.stringify(cwd)} ${why}`, {
      details: { cwd },
      hint: isMissing
        ? `Make the directory in which the agent is to run first: mkdir -p ${quoteArgument(cwd)}`
        : "Let the user who runs this enter the directory in which the agent is to run.",
      cause,
    });
  }
}

export function configDirOf(env: Variables): string {
  if (env.CLAUDE_CONFIG_DIR) return path.resolve(env.CLAUDE_CONFIG_DIR);
  if (env.HOME) return path.resolve(env.HOME, ".claude");
  throw new HoldfastError("InvalidArgument", "neither CLAUDE_CONFIG_DIR nor HOME is set", {
    hint: "Set one of them to say where Claude Code keeps its sessions.",
  });
}

/** The key that CLAUDE_CODE_PROJECT_DIR_NAME sets for every directory. Claude Code heeds it beside CLAUDE_CONFIG_DIR only. */
export function fixedKeyOf(env: Variables): string | null {
  const name = env.CLAUDE_CODE_PROJECT_DIR_NAME;
  return env.CLAUDE_CONFIG_DIR && name !== undefined && FIXED.test(name) ? name : null;
}

/** A key that comes from elsewhere becomes the name of a directory. */
export function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new HoldfastError("InvalidArgument", `${JSON.stringify(key.slice(0, 300))} is no name of a project directory`, {
    hint: "Leave it out: it follows from the working directory.",
  });
}

export interface ClaudeTranscript {
  readonly sessionId: string;
  readonly key: string;
  readonly file: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * One for every transcript: a session that ran in several directories is there several times. A directory that cannot be
 * listed is told to `unreadable`, where there is one, and the others are listed all the same.
 */
export async function* listClaudeSessions(
  configDir: string,
  unreadable?: (folder: string, error: unknown) => void,
): AsyncGenerator<ClaudeTranscript> {
  for (const key of await keysOf(configDir)) {
    const folder = path.join(configDir, "projects", key);
    const names = await readdir(folder).catch((error: unknown) => {
      if (unreadable === undefined) throw error;
      unreadable(folder, error);
      return [];
    });
    for (const name of names.sort()) {
      if (!name.endsWith(".jsonl") || !isSessionId(name.slice(0, -6))) continue;
      const found = await transcript(configDir, key, name.slice(0, -6));
      if (found !== null) yield found;
    }
  }
}

/** The transcripts of one session. */
export async function* listCopies(configDir: string, sessionId: string): AsyncGenerator<ClaudeTranscript> {
  checkSessionId(sessionId);
  for (const key of await keysOf(configDir)) {
    const found = await transcript(configDir, key, sessionId);
    if (found !== null) yield found;
  }
}

async function keysOf(configDir: string): Promise<string[]> {
  const entries = await readdir(path.join(configDir, "projects"), { withFileTypes: true }).catch((error) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw error;
  });
  const folders = entries.filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => name).sort();
}

async function transcript(configDir: string, key: string, sessionId: string): Promise<ClaudeTranscript | null> {
  const file = path.join(configDir, "projects", key, `${sessionId}.jsonl`);
  const stat = await lstat(file).catch(() => null);
  return stat?.isFile() ? { sessionId, key, file, size: stat.size, mtimeMs: stat.mtimeMs } : null;
}
