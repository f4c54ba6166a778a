// A session of Claude Code as it is on disk now: all of its files and nothing else. Links and special files are not followed;
// what is left out is said.
import type { Dirent } from "node:fs";
import { lstat, readdir, realpath } from "node:fs/promises";
import * as path from "node:path";
import type { FoundFile, FoundSession } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { checkPath } from "../../core/paths.ts";
import * as layout from "./layout.ts";
import { type ClaudeTranscript, checkKey, listCopies, projectKey, projectKeyOf } from "./layout.ts";
import { originOf, sessionNamedIn } from "./transcript.ts";

export interface FindClaude {
  readonly configDir: string;
  /** One of the two. */
  readonly sessionId?: string;
  /** As hooks are told it: <config directory>/projects/<key>/<session>.jsonl. */
  readonly transcriptPath?: string;
  /** Where the agent runs: of several copies the one of this directory is meant, as Claude Code itself does. */
  readonly cwd?: string;
  /** Instead of the working directory's key. */
  readonly key?: string;
  /** Only what holds messages: the transcript and those of sub-agents. */
  readonly onlyMessages?: boolean;
}

export interface FoundClaude extends FoundSession {
  readonly agent: "claude-code";
  readonly configDir: string;
  readonly key: string;
  /** Other transcripts of the same session, which were not taken. */
  readonly copies: readonly string[];
  /** What lies among its files and is not one of them. */
  readonly left: readonly { readonly path: string; readonly why: string }[];
}

/** NotFound when it is not there. */
export async function findClaudeSession(options: FindClaude): Promise<FoundClaude> {
  const transcripts = await transcriptsOf(options);
  const [taken, ...others] = transcripts;
  if (taken === undefined) throw notFound(options);
  const { sessionId, key } = taken;
  const configDir = path.resolve(options.configDir);
  const collected = await filesOfSession({ configDir, key, sessionId });
  const origin = await originOf(taken.file, key);
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

/** The one that is meant first. */
async function transcriptsOf(options: FindClaude): Promise<ClaudeTranscript[]> {
  if (options.transcriptPath !== undefined) return [await transcriptAt(options.transcriptPath, options.configDir)];
  const sessionId = layout.checkSessionId(options.sessionId);
  const own = options.key === undefined ? await keyOf(options.cwd) : checkKey(options.key);
  const copies: ClaudeTranscript[] = [];
  for await (const copy of listCopies(options.configDir, sessionId)) copies.push(copy);
  const rank = ({ key }: ClaudeTranscript) => (key === own ? 0 : 1);
  return copies.toSorted((a, b) => rank(a) - rank(b) || b.size - a.size || b.mtimeMs - a.mtimeMs);
}

/** The directory that the agent runs in, when that is the one of this key; its lines may not name it yet. */
async function realCwd(cwd: string | undefined, key: string): Promise<string | null> {
  const real = cwd === undefined ? null : await realpath(cwd).catch(() => null);
  return real !== null && projectKey(real) === key ? real : null;
}

/** The directory may be gone, when its session is looked for on the machine where it was. */
async function keyOf(cwd: string | undefined): Promise<string | null> {
  if (cwd === undefined) return null;
  return projectKeyOf(cwd).catch(() => projectKey(path.resolve(cwd)));
}

async function transcriptAt(given: string, configDir: string): Promise<ClaudeTranscript> {
  const file = path.resolve(given);
  const folder = path.dirname(file);
  const sessionId = layout.checkSessionId(path.basename(file, ".jsonl"));
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
    hint: "Look whether HOME and CLAUDE_CONFIG_DIR are those that the agent ran with.",
  });
}

/** What there is of a session under this key, whether or not it has a transcript. */
export async function filesOfSession(place: layout.ClaudeLocation): Promise<Pick<FoundClaude, "files" | "left">> {
  const collected = new FileCollector();
  await collected.session(place);
  return collected;
}

/** Files by the path they are captured under, in an order that does not change. */
class FileCollector {
  readonly files: FoundFile[] = [];
  readonly left: { path: string; why: string }[] = [];

  async session({ configDir, key, sessionId }: layout.ClaudeLocation): Promise<void> {
    const project = path.join(configDir, "projects", key);
    const transcript = path.join(project, `${sessionId}.jsonl`);
    if (await lstat(transcript).catch(() => null)) await this.#file(`${sessionId}.jsonl`, transcript, "project");
    await this.#folder(path.join(project, sessionId), `project/${sessionId}`);
    for (const { name } of await entriesOf(project)) {
      const file = path.join(project, name);
      if (!layout.isFlatAgent(name) || !(await lstat(file)).isFile()) continue;
      if ((await sessionNamedIn(file)) === sessionId) await this.#file(name, file, "project");
    }
    for (const folder of layout.FOLDERS) {
      await this.#folder(path.join(configDir, folder, sessionId), `${folder}/${sessionId}`);
    }
    for (const { name } of await entriesOf(path.join(configDir, "todos"))) {
      if (layout.isTodosOf(name, sessionId)) await this.#file(name, path.join(configDir, "todos", name), "todos");
    }
  }

  async #folder(folder: string, captured: string): Promise<void> {
    const stat = await lstat(folder).catch(() => null);
    if (stat === null) return;
    if (!stat.isDirectory()) return this.#leave(captured, "it is no directory");
    for (const entry of await entriesOf(folder)) {
      const below = path.join(folder, entry.name);
      if (layout.isNeverCaptured(entry.name)) continue;
      if (entry.isDirectory()) await this.#folder(below, `${captured}/${entry.name}`);
      else await this.#file(entry.name, below, captured);
    }
  }

  async #file(name: string, file: string, folder: string): Promise<void> {
    const captured = `${folder}/${name}`;
    const stat = await lstat(file).catch(() => null);
    if (stat === null) return this.#leave(captured, "it is gone, or its name is not Unicode");
    if (!stat.isFile()) return this.#leave(captured, stat.isSymbolicLink() ? "it is a link" : "it is no regular file");
    try {
      checkPath(captured);
    } catch {
      return this.#leave(captured, "its name could not be written on every system");
    }
    if (this.files.length >= LIMITS.captureFiles) {
      throw limitExceeded("captureFiles", "the number of a session's files", this.files.length + 1);
    }
    const grows = name.endsWith(".jsonl");
    this.files.push({ role: layout.roleOf(captured), path: captured, file, size: stat.size, grows });
  }

  #leave(captured: string, why: string): void {
    this.left.push({ path: captured, why });
  }
}

/** None when it is no directory, or a link to one. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  const stat = await lstat(folder).catch(() => null);
  if (!stat?.isDirectory()) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}
