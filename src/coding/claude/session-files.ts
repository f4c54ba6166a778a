// Finds the sessions of Claude Code and the files of each. This is the only list of such files: a file that is not on it is neither
// read nor written, so that a capture or restore cannot touch credentials, settings and other sessions. The name of a project's directory
// follows Claude Code's own rule; with any other name Claude Code would not find the session.
import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import * as path from "node:path";
import type { CaptureRole } from "../../contracts/captures.ts";
import type { FoundFile, FoundSession } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { checkPath, isSessionIdOf, mainFileOf, unsafe } from "../../core/agent-sessions.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { quoteArgument } from "../../core/shell.ts";
import { originOf, sessionNamedIn } from "./transcript.ts";

/** Folders of the config directory in which each session has a folder. */
export const FOLDERS = ["file-history", "session-env", "tasks"] as const;
/** Claude Code 2.0 wrote the transcripts of sub-agents to the project's folder, and a to-do list for each. */
const FLAT_AGENT = /^agent-[A-Za-z0-9_-]{1,64}\.jsonl$/;
const TODOS = /^agent-[A-Za-z0-9_-]{1,64}\.json$/;
/** Locks of a process, files of this machine, and files that a restore kept under another name; in any folder. */
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
  /** The name of the project's directory below `projects/`. */
  readonly projectKey: string;
  readonly sessionId: string;
}

export function isSessionId(value: string): boolean {
  return isSessionIdOf("claude-code", value);
}

export function checkSessionId(value: unknown): string {
  if (typeof value === "string" && isSessionId(value)) return value;
  const shown = typeof value === "string" ? value.slice(0, 100) : typeof value;
  throw new HoldfastError("InvalidId", `the session id of Claude Code must be a UUID, not ${JSON.stringify(shown)}`, {
    details: { sessionId: shown },
    hint: "Claude Code prints it as session_id; `claude --resume` lists the sessions of this directory.",
  });
}

export function isFlatAgent(name: string): boolean {
  return FLAT_AGENT.test(name);
}

function isTodosOf(name: string, sessionId: string): boolean {
  return name.startsWith(`${sessionId}-`) && TODOS.test(name.slice(sessionId.length + 1));
}

/** A file that is never captured or restored, whatever folder it is in. */
export function isNeverCaptured(name: string): boolean {
  return NEVER.some((pattern) => pattern.test(name));
}

export function transcriptPath(sessionId: string): string {
  return mainFileOf("claude-code", sessionId).path;
}

/** The path of a session's file on disk. InvalidArgument when it is not a file of this session. */
export function locateFile(captured: string, { configDir, projectKey: key, sessionId }: ClaudeLocation): string {
  const parts = checkPath(captured);
  const [top = "", second = ""] = parts;
  const rest = parts.slice(1);
  if (parts.some(isNeverCaptured)) throw unsafe(captured, "a capture never has such a file");
  if (top === "project" && isOfProject(rest, sessionId)) return path.join(configDir, "projects", key, ...rest);
  const isOwnFolder = FOLDERS.some((name) => name === top) && second === sessionId && parts.length > 2;
  const isTodos = top === "todos" && parts.length === 2 && isTodosOf(second, sessionId);
  if (isOwnFolder || isTodos) return path.join(configDir, ...parts);
  throw unsafe(captured, "it is not a file of this session");
}

function isOfProject([first = "", ...below]: readonly string[], sessionId: string): boolean {
  if (below.length === 0) return first === `${sessionId}.jsonl` || FLAT_AGENT.test(first);
  return first === sessionId;
}

function roleOf(captured: string): CaptureRole {
  const [top, second = "", third, ...below] = captured.split("/");
  if (top === "tasks" || top === "todos") return "task";
  if (top === "file-history") return "file-history";
  if (top !== "project") return "other";
  if (third === undefined) return FLAT_AGENT.test(second) ? "subagent" : "transcript";
  if (below.length > 0 && third === "subagents") return "subagent";
  return below.length > 0 && third === "tool-results" ? "tool-result" : "other";
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** Longer names are cut, and a hash makes them different. */
const LONGEST = 200;
const FIXED = /^[A-Za-z0-9_-]{1,64}$/;
const KEY = /^[A-Za-z0-9_-]{1,255}$/;

/** `cwd` must be free of links and not end with a slash. Several paths may have the same key ("a.b" and "a-b"). */
export function projectKey(cwd: string, platform: string = process.platform): string {
  const real = platform === "darwin" ? cwd.normalize("NFC") : cwd;
  const name = real.replace(/[^a-zA-Z0-9]/g, "-");
  if (name.length <= LONGEST) return name;
  let hash = 0;
  for (let i = 0; i < real.length; i++) hash = ((hash << 5) - hash + real.charCodeAt(i)) | 0;
  return `${name.slice(0, LONGEST)}-${Math.abs(hash).toString(36)}`;
}

/** The key of an existing directory, by any path to it; MissingDirectory otherwise. */
export async function projectKeyOf(cwd: string): Promise<string> {
  try {
    return projectKey(await realpath(cwd));
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    const why = isMissing ? "does not exist" : `cannot be opened (${(cause as NodeJS.ErrnoException).code})`;
    throw new HoldfastError("MissingDirectory", `the working directory ${JSON.stringify(cwd)} ${why}`, {
      details: { cwd },
      hint: isMissing
        ? `Create the directory first: mkdir -p ${quoteArgument(cwd)}`
        : "Give the current user permission to enter the directory.",
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

/** The key that CLAUDE_CODE_PROJECT_DIR_NAME sets for every directory. Claude Code reads it only if CLAUDE_CONFIG_DIR is set too. */
export function fixedProjectKey(env: Variables): string | null {
  const name = env.CLAUDE_CODE_PROJECT_DIR_NAME;
  return env.CLAUDE_CONFIG_DIR && name !== undefined && FIXED.test(name) ? name : null;
}

/** The key becomes the name of a directory, and may come from an untrusted source. */
export function checkProjectKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new HoldfastError(
    "InvalidArgument",
    `${JSON.stringify(key.slice(0, 300))} is not a valid name of a project directory`,
    {
      hint: "Leave it out: Holdfast derives the name from the working directory.",
    },
  );
}

export interface ClaudeTranscript {
  readonly sessionId: string;
  /** The project key. */
  readonly key: string;
  readonly file: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/**
 * Lists every transcript: a session that ran in several directories is listed several times. `unreadable` gets each directory that
 * cannot be listed; without it the first such directory is an error.
 */
export async function* listClaudeSessions(
  configDir: string,
  unreadable?: (folder: string, error: unknown) => void,
): AsyncGenerator<ClaudeTranscript> {
  for (const key of await listProjectKeys(configDir)) {
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
  for (const key of await listProjectKeys(configDir)) {
    const found = await transcript(configDir, key, sessionId);
    if (found !== null) yield found;
  }
}

async function listProjectKeys(configDir: string): Promise<string[]> {
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

export interface FindClaude {
  readonly configDir: string;
  /** Give either `sessionId` or `transcriptPath`. */
  readonly sessionId?: string;
  /** The path that Claude Code's hooks get: <config directory>/projects/<key>/<session>.jsonl. */
  readonly transcriptPath?: string;
  /** The agent's working directory: of several copies, the copy of this directory is chosen, as Claude Code does. */
  readonly cwd?: string;
  /** The project key to use instead of the working directory's. */
  readonly key?: string;
  /** Return only files with messages: the transcript and those of sub-agents. */
  readonly onlyMessages?: boolean;
}

export interface FoundClaude extends FoundSession {
  readonly agent: "claude-code";
  readonly configDir: string;
  /** The project key. */
  readonly key: string;
  /** Other transcripts of the same session. */

  readonly copies: readonly string[];
  /** Files in the session's folders that are not captured, and why. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

/** NotFound when there is no such session. */
export async function findClaudeSession(options: FindClaude): Promise<FoundClaude> {
  const transcripts = await transcriptsOf(options);
  const [chosen, ...others] = transcripts;
  if (chosen === undefined) throw notFound(options);
  const { sessionId, key } = chosen;
  const configDir = path.resolve(options.configDir);
  const collected = await filesOfSession({ configDir, projectKey: key, sessionId });
  const origin = await originOf(chosen.file, (cwd) => projectKey(cwd) === key);
  const files = options.onlyMessages
    ? collected.files.filter(({ role }) => role === "transcript" || role === "subagent")
    : collected.files;
  return {
    agent: "claude-code",
    sessionId,
    cwd: origin.cwd ?? (await realCwd(options.cwd, key)) ?? origin.lastCwd ?? options.cwd ?? "",
    configDir,
    key,
    agentVersion: origin.version,
    files,
    copies: others.map(({ file }) => file),
    left: collected.left,
  };
}

/** The transcripts of the session. The first is the one to read. */
async function transcriptsOf(options: FindClaude): Promise<ClaudeTranscript[]> {
  if (options.transcriptPath !== undefined) return [await transcriptAt(options.transcriptPath, options.configDir)];
  const sessionId = checkSessionId(options.sessionId);
  const own = options.key === undefined ? await likelyProjectKey(options.cwd) : checkProjectKey(options.key);
  const copies: ClaudeTranscript[] = [];
  for await (const copy of listCopies(options.configDir, sessionId)) copies.push(copy);
  const rank = ({ key }: ClaudeTranscript) => (key === own ? 0 : 1);
  return copies.toSorted((a, b) => rank(a) - rank(b) || b.size - a.size || b.mtimeMs - a.mtimeMs);
}

/** The directory that the agent runs in, if it has this key: the transcript's lines may not name it yet. */
async function realCwd(cwd: string | undefined, key: string): Promise<string | null> {
  const real = cwd === undefined ? null : await realpath(cwd).catch(() => null);
  return real !== null && projectKey(real) === key ? real : null;
}

/** The directory may have been removed since the session ran in it. */
async function likelyProjectKey(cwd: string | undefined): Promise<string | null> {
  if (cwd === undefined) return null;
  return projectKeyOf(cwd).catch(() => projectKey(path.resolve(cwd)));
}

async function transcriptAt(given: string, configDir: string): Promise<ClaudeTranscript> {
  const file = path.resolve(given);
  const folder = path.dirname(file);
  const sessionId = checkSessionId(path.basename(file, ".jsonl"));
  const projects = await realpath(path.dirname(folder)).catch(() => null);
  const ours = await realpath(path.join(configDir, "projects")).catch(() => null);
  if (!file.endsWith(".jsonl") || projects === null || projects !== ours) {
    throw invalid("the transcript's path", `that of a session below ${path.join(configDir, "projects")}`, given);
  }
  const stat = await lstat(file).catch(() => null);
  if (!stat?.isFile()) throw notFound({ transcriptPath: given, configDir });
  return { sessionId, key: path.basename(folder), file, size: stat.size, mtimeMs: stat.mtimeMs };
}

function notFound({ sessionId, transcriptPath, configDir }: FindClaude): HoldfastError {
  const what = sessionId ?? transcriptPath;
  return new HoldfastError("NotFound", `there is no session ${JSON.stringify(what)} of Claude Code in ${configDir}`, {
    details: { sessionId, transcriptPath, configDir },
    hint: "Check that HOME and CLAUDE_CONFIG_DIR are the same as when the agent ran.",
  });
}

/** The files of a session under this key, whether or not it has a transcript. */
export async function filesOfSession(place: ClaudeLocation): Promise<Pick<FoundClaude, "files" | "left">> {
  const collected = new FileCollector();
  await collected.session(place);
  return collected;
}

/** Collects files with the path that they are captured under, always in the same order. */
class FileCollector {
  readonly files: FoundFile[] = [];
  readonly left: { path: string; why: string }[] = [];

  async session({ configDir, projectKey: key, sessionId }: ClaudeLocation): Promise<void> {
    const project = path.join(configDir, "projects", key);
    const transcript = path.join(project, `${sessionId}.jsonl`);
    if (await lstat(transcript).catch(() => null)) await this.#file(`${sessionId}.jsonl`, transcript, "project");
    await this.#folder(path.join(project, sessionId), `project/${sessionId}`);
    for (const { name } of await entriesOf(project)) {
      const file = path.join(project, name);
      if (!isFlatAgent(name) || !(await lstat(file)).isFile()) continue;
      if ((await sessionNamedIn(file)) === sessionId) await this.#file(name, file, "project");
    }
    for (const folder of FOLDERS) {
      await this.#folder(path.join(configDir, folder, sessionId), `${folder}/${sessionId}`);
    }
    for (const { name } of await entriesOf(path.join(configDir, "todos"))) {
      if (isTodosOf(name, sessionId)) await this.#file(name, path.join(configDir, "todos", name), "todos");
    }
  }

  async #folder(folder: string, captured: string): Promise<void> {
    const stat = await lstat(folder).catch(() => null);
    if (stat === null) return;
    if (!stat.isDirectory()) return this.#leave(captured, "it is not a directory");
    for (const entry of await entriesOf(folder)) {
      const below = path.join(folder, entry.name);
      if (isNeverCaptured(entry.name)) continue;
      if (entry.isDirectory()) await this.#folder(below, `${captured}/${entry.name}`);
      else await this.#file(entry.name, below, captured);
    }
  }

  async #file(name: string, file: string, folder: string): Promise<void> {
    const captured = `${folder}/${name}`;
    const stat = await lstat(file).catch(() => null);
    if (stat === null) return this.#leave(captured, "it was removed meanwhile, or its name is not Unicode");
    if (!stat.isFile())
      return this.#leave(captured, stat.isSymbolicLink() ? "it is a link" : "it is not a regular file");
    try {
      checkPath(captured);
    } catch {
      return this.#leave(captured, "its name is not valid on every system");
    }
    if (this.files.length >= LIMITS.captureFiles) {
      throw limitExceeded("captureFiles", "the number of a session's files", this.files.length + 1);
    }
    const grows = name.endsWith(".jsonl");
    this.files.push({ role: roleOf(captured), path: captured, file, size: stat.size, grows });
  }

  #leave(captured: string, why: string): void {
    this.left.push({ path: captured, why });
  }
}

/** Empty when the path is not a directory, or is a link to one. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const stat = await lstat(folder).catch(() => null);
  if (!stat?.isDirectory()) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
