// What belongs to a session of Claude Code, and where it lies: the only list of it. Whatever is not on it is neither read nor
// written, so that credentials, settings and other sessions stay where they are.
import * as path from "node:path";
import type { CaptureRole } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { isSessionIdOf, mainFileOf } from "../../core/agent-sessions.ts";
import { checkPath, unsafe } from "../paths.ts";

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

export interface ClaudePlace {
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
export function isNever(name: string): boolean {
  return NEVER.some((pattern) => pattern.test(name));
}

export function transcriptPath(sessionId: string): string {
  return mainFileOf("claude-code", sessionId).path;
}

/** The path of a session's file on disk. UnsafePath (InvalidArgument) when it is no file of this session. */
export function placeOf(captured: string, { configDir, key, sessionId }: ClaudePlace): string {
  const parts = checkPath(captured);
  const [top = "", second = ""] = parts;
  const rest = parts.slice(1);
  if (parts.some(isNever)) throw unsafe(captured, "such a file is never captured");
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
