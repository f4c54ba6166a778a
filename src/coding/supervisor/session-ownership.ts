// Finds out in which sessions the agent of this run works. Other agents may work in the same directory: a session that may belong to one
// of them is never recorded as the run's own. While Claude Code runs, it names its session in sessions/<pid>.json below its config
// directory, also after /clear, /resume and --continue; the credentials in the config directory are never read.
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import * as path from "node:path";
import type { CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import {
  configDirOf,
  fixedProjectKey,
  isSessionId,
  listClaudeSessions,
  projectKeyOf,
} from "../claude/session-files.ts";
import { type AgentHost, openCodeRunner } from "../local-agent.ts";
import type { OpenCodeSessionInfo } from "../opencode/export.ts";
import { listOpenCodeSessions } from "../opencode/find.ts";
import { openCodeDataDir } from "../opencode/runner.ts";

export interface OwnershipOptions {
  readonly agent: CodingAgent;
  readonly host: AgentHost;
  /** The session that its command line names; null: the agent creates or chooses one. */
  readonly sessionId: string | null;
  /** That session existed before: old versions of Claude Code continue it under another id. */
  readonly resumed: boolean;
  /** The agent may create several, as people do at a terminal. */
  readonly several: boolean;
}

/** By id, a text that is different when the session changed. */
type Stamps = ReadonlyMap<string, string>;

export class SessionOwnership {
  readonly #options: OwnershipOptions;
  #before: Stamps | null = null;
  #process: ClaudeProcess | null = null;
  /** The sessions that the agent itself named; the current one is the last. */
  readonly #named: string[] = [];
  /** Sessions of other agents. */
  readonly #others = new Set<string>();
  #chosen: string | null;
  #key: string | null = null;

  constructor(options: OwnershipOptions) {
    this.#options = options;
    this.#chosen = options.sessionId;
  }

  /** Before the agent starts: remembers the sessions that exist. */
  async prepare(): Promise<void> {
    const { agent, sessionId, several } = this.#options;
    if (agent === "claude-code" || sessionId === null || several) this.#before = await this.#stamps();
  }

  agentStarted(pid: number): void {
    const { environment, cwd } = this.#options.host;
    this.#process = { pid, since: environment.now(), cwd };
  }

  /** Reads which session the agent names now. It is cheap enough to be called several times a second. */
  async observe(): Promise<void> {
    const { agent, host } = this.#options;
    if (agent !== "claude-code" || this.#process === null) return;
    const configDir = configDirOf(host.env);
    if (this.#options.sessionId === null)
      for (const id of await sessionsOfOthers(configDir, this.#process)) this.#others.add(id);
    const sessionId = await currentSessionOf(configDir, this.#process);
    if (sessionId === null || sessionId === this.#named.at(-1)) return;
    const at = this.#named.indexOf(sessionId);
    if (at >= 0) this.#named.splice(at, 1);
    this.#named.push(sessionId);
  }

  /** A text that changes when the agent writes to its current session, as far as that is known; "" until it has written. */
  async writeStamp(): Promise<string> {
    const { agent, host } = this.#options;
    if (agent === "opencode") return stampOf(await openCodeFiles(host));
    const sessionId = this.#named.at(-1) ?? this.#chosen;
    if (sessionId === null) return "";
    this.#key ??= fixedProjectKey(host.env) ?? (await projectKeyOf(host.cwd));
    return stampOf([path.join(configDirOf(host.env), "projects", this.#key, `${sessionId}.jsonl`)]);
  }

  /** The current one is the last. Conflict when several sessions changed and none is known to be the agent's own. */
  async sessions(isOver: boolean): Promise<readonly string[]> {
    const { agent, several, resumed, sessionId } = this.#options;
    // The session that its command line names is its own, also when the agent left it before observe() was called.
    const isLeft = sessionId !== null && !this.#named.includes(sessionId);
    if (isOver && sessionId === null && this.#named.length > 0) return this.#namedOrWritten();
    if (this.#named.length > 0) return isLeft ? [sessionId, ...this.#named] : this.#named;
    if (agent === "opencode" && several) return this.#allChanged();
    if (this.#chosen === null) this.#chosen = await this.#onlyChanged();
    // Claude Code before 2.0 continued a resumed session under another id without naming it.
    else if (isOver && resumed && agent === "claude-code" && !(await this.#changed()).includes(this.#chosen)) {
      this.#chosen = (await this.#onlyCreated()) ?? this.#chosen;
    }
    return this.#chosen === null ? [] : [this.#chosen];
  }

  /**
   * An agent that chooses its session first names a new id, and may end before it names the other one. If nothing was written to
   * the session that it named, it worked in the one that was written to, unless another agent has that one.
   */
  async #namedOrWritten(): Promise<readonly string[]> {
    const changed = await this.#changed();
    if (this.#named.some((id) => changed.includes(id))) return this.#named;
    const written = onlySession(changed.filter((id) => !this.#others.has(id)));
    return written === null ? this.#named : [written];
  }

  async #allChanged(): Promise<readonly string[]> {
    const changed = await this.#changed();
    return this.#chosen === null ? changed : [...changed.filter((id) => id !== this.#chosen), this.#chosen];
  }

  async #onlyChanged(): Promise<string | null> {
    return onlySession(await this.#changed());
  }

  async #onlyCreated(): Promise<string | null> {
    const before = this.#before ?? new Map();
    return onlySession((await this.#changed()).filter((id) => !before.has(id)));
  }

  /** Sessions that were created or written to since the agent started; the latest is the last. */
  async #changed(): Promise<readonly string[]> {
    const before = this.#before;
    if (before === null) return [];
    return [...(await this.#stamps())].filter(([id, stamp]) => before.get(id) !== stamp).map(([id]) => id);
  }

  #stamps(): Promise<Stamps> {
    return stampsOf(this.#options.agent, this.#options.host);
  }
}

/** The files that OpenCode writes messages to: its databases and their write-ahead logs. */
async function openCodeFiles({ env }: AgentHost): Promise<readonly string[]> {
  const dataDir = openCodeDataDir(env);
  const names = (await readdir(dataDir).catch(() => [])).filter((name) => /^opencode.*\.db(-wal)?$/.test(name));
  const own = env.OPENCODE_DB ? [env.OPENCODE_DB, `${env.OPENCODE_DB}-wal`] : [];
  return [...names, ...own].map((name) => path.resolve(dataDir, name));
}

async function stampOf(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.map((one) => (one === null ? "" : `${one.size} ${one.mtimeMs}`)).join();
}

/** Whether the agent has any session of this directory. */
export async function hasSessions(agent: CodingAgent, host: AgentHost): Promise<boolean> {
  return (await stampsOf(agent, host)).size > 0;
}

/** The sessions that OpenCode created in this directory between two times of this machine's clock. */
export async function listCreatedSessions(host: AgentHost, from: number, to: number): Promise<readonly string[]> {
  const created = (await openCodeSessions(host)).filter(({ createdAt }) => createdAt >= from && createdAt <= to);
  return created.map(({ sessionId }) => sessionId);
}

async function openCodeSessions(host: AgentHost): Promise<readonly OpenCodeSessionInfo[]> {
  const cwd = await realpath(host.cwd);
  const all = await listOpenCodeSessions(openCodeRunner(host), openCodeDataDir(host.env));
  return all.filter(({ directory, parentId }) => parentId === null && directory === cwd);
}

/** The sessions of this directory; the one that changed last is the last. */
async function stampsOf(agent: CodingAgent, host: AgentHost): Promise<Stamps> {
  if (agent === "opencode") {
    const own = await openCodeSessions(host);
    const ordered = own.toSorted((a, b) => a.updatedAt - b.updatedAt);
    return new Map(ordered.map(({ sessionId, updatedAt }) => [sessionId, String(updatedAt)]));
  }
  const key = fixedProjectKey(host.env) ?? (await projectKeyOf(host.cwd));
  const own: { readonly sessionId: string; readonly size: number; readonly mtimeMs: number }[] = [];
  for await (const one of listClaudeSessions(configDirOf(host.env))) if (one.key === key) own.push(one);
  const ordered = own.toSorted((a, b) => a.mtimeMs - b.mtimeMs);
  return new Map(ordered.map(({ sessionId, size, mtimeMs }) => [sessionId, `${size} ${mtimeMs}`]));
}

function onlySession(sessions: readonly string[]): string | null {
  if (sessions.length <= 1) return sessions[0] ?? null;
  throw new HoldfastError(
    "Conflict",
    `${sessions.length} sessions of this directory changed during the run, and it is unknown which one the agent used`,
    {
      details: { sessions },
      hint: "Save the right one with `holdfast capture --session-id ID`, or name it on the agent's own command line.",
    },
  );
}

export interface ClaudeProcess {
  /** Claude Code itself, or the launcher that started it. */
  readonly pid: number;
  /** When it was started. An older file belongs to an earlier process with the same pid. */
  readonly since: number;
  /** Its working directory: containers that share a home directory may use the same pid in other directories. */
  readonly cwd: string;
}

/** The tolerance between two readings of the same clock. */
const SLACK_MS = 1000;
const ANY = { since: Number.NEGATIVE_INFINITY, cwd: "/" };
const ENTRY = /^(\d+)\.json$/;

/** The session that this process names; null: it names none, or not yet. */
export async function currentSessionOf(configDir: string, claude: ClaudeProcess): Promise<string | null> {
  const folder = path.join(configDir, "sessions");
  const own = await readSessionEntry(path.join(folder, `${claude.pid}.json`), claude.pid, claude);
  if (own !== null) return own;
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(ENTRY.exec(name)?.[1]);
    if (!Number.isInteger(pid) || !(await isBelow(pid, claude.pid))) continue;
    const found = await readSessionEntry(path.join(folder, name), pid, claude);
    if (found !== null) return found;
  }
  return null;
}

/** The sessions that other Claude Code processes name. */
export async function sessionsOfOthers(configDir: string, claude: ClaudeProcess): Promise<readonly string[]> {
  const folder = path.join(configDir, "sessions");
  const found: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(ENTRY.exec(name)?.[1]);
    if (!Number.isInteger(pid) || pid === claude.pid || (await isBelow(pid, claude.pid))) continue;
    const session = await readSessionEntry(path.join(folder, name), pid, ANY);
    if (session !== null) found.push(session);
  }
  return found;
}

async function readSessionEntry(
  file: string,
  pid: number,
  { since, cwd }: Pick<ClaudeProcess, "since" | "cwd">,
): Promise<string | null> {
  try {
    const entry: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof entry !== "object" || entry === null) return null;
    const { pid: named, sessionId, startedAt, cwd: where } = entry as Record<string, unknown>;
    if (named !== pid || typeof startedAt !== "number" || startedAt < since - SLACK_MS) return null;
    // Claude Code may work in a worktree below the directory that it was started in.
    if (typeof where === "string" && !isWithin(where, cwd)) return null;
    return typeof sessionId === "string" && isSessionId(sessionId) ? sessionId : null;
  } catch {
    return null; // the file is missing, or is being written
  }
}

function isWithin(inner: string, outer: string): boolean {
  const way = path.relative(outer, inner);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/** Whether `ancestor` started the process, directly or not; false where /proc is missing. */
async function isBelow(pid: number, ancestor: number): Promise<boolean> {
  for (let at = pid, steps = 0; at > 1 && steps < 32; steps++) {
    const status = await readFile(`/proc/${at}/status`, "utf8").catch(() => "");
    at = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0);
    if (at === ancestor) return true;
  }
  return false;
}
