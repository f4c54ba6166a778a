// Which sessions of this machine the agent works in that was started here. Others may be at work in the same directory: a
// session that is not surely its own is never taken for it.
import { readdir, realpath, stat } from "node:fs/promises";
import * as path from "node:path";
import { configDirOf, fixedKeyOf, projectKeyOf } from "../../coding/claude/key.ts";
import { listClaudeSessions } from "../../coding/claude/list.ts";
import { type LiveClaude, liveSessionOf, sessionsOfOthers } from "../../coding/claude/live.ts";
import { type Here, openCodeRunner } from "../../coding/here.ts";
import { type LocalOpenCode, listOpenCodeSessions } from "../../coding/opencode/find.ts";
import { openCodeDataDir } from "../../coding/opencode/runner.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";

export interface Expected {
  readonly agent: CodingAgent;
  readonly here: Here;
  /** The session it was told to work in; null: it makes or chooses one itself. */
  readonly sessionId: string | null;
  /** That session was there before: an older agent may go on under another id. */
  readonly resumed: boolean;
  /** It may begin several, as people do in front of a terminal. */
  readonly several: boolean;
}

/** By id, what a session was like: another text when it changed. */
type Stamps = ReadonlyMap<string, string>;

export class Whose {
  readonly #expected: Expected;
  #before: Stamps | null = null;
  #live: LiveClaude | null = null;
  /** Those that the agent itself named, the one it is in now last. */
  readonly #named: string[] = [];
  /** Those in which others were seen at work. */
  readonly #others = new Set<string>();
  #chosen: string | null;
  #key: string | null = null;

  constructor(expected: Expected) {
    this.#expected = expected;
    this.#chosen = expected.sessionId;
  }

  /** Before the agent begins: what is here by then is known. */
  async ready(): Promise<void> {
    const { agent, sessionId, several } = this.#expected;
    if (agent === "claude-code" || sessionId === null || several) this.#before = await this.#stamps();
  }

  started(pid: number): void {
    const { environment, cwd } = this.#expected.here;
    this.#live = { pid, since: environment.now(), cwd };
  }

  /** Cheap enough to be asked several times a second. */
  async look(): Promise<void> {
    const { agent, here } = this.#expected;
    if (agent !== "claude-code" || this.#live === null) return;
    const configDir = configDirOf(here.env);
    if (this.#expected.sessionId === null)
      for (const id of await sessionsOfOthers(configDir, this.#live)) this.#others.add(id);
    const sessionId = await liveSessionOf(configDir, this.#live);
    if (sessionId === null || sessionId === this.#named.at(-1)) return;
    const at = this.#named.indexOf(sessionId);
    if (at >= 0) this.#named.splice(at, 1);
    this.#named.push(sessionId);
  }

  /** Changes when the agent writes to the session that it is in, as far as that is known; "" until it has written. */
  async written(): Promise<string> {
    const { agent, here } = this.#expected;
    if (agent === "opencode") return stampOf(await openCodeFiles(here));
    const sessionId = this.#named.at(-1) ?? this.#chosen;
    if (sessionId === null) return "";
    this.#key ??= fixedKeyOf(here.env) ?? (await projectKeyOf(here.cwd));
    return stampOf([path.join(configDirOf(here.env), "projects", this.#key, `${sessionId}.jsonl`)]);
  }

  /** The one it is in now comes last. Conflict when it cannot be told which of several is its own. */
  async sessions(isOver: boolean): Promise<readonly string[]> {
    const { agent, several, resumed, sessionId } = this.#expected;
    // The one it was told to work in is its own, also when it left that before anybody looked.
    const isLeft = sessionId !== null && !this.#named.includes(sessionId);
    if (isOver && sessionId === null && this.#named.length > 0) return this.#namedOrWritten();
    if (this.#named.length > 0) return isLeft ? [sessionId, ...this.#named] : this.#named;
    if (agent === "opencode" && several) return this.#allBegun();
    if (this.#chosen === null) this.#chosen = await this.#onlyChanged();
    // Before 2.0 a session that was resumed went on under another id, and nothing said so.
    else if (isOver && resumed && agent === "claude-code" && !(await this.#changed()).includes(this.#chosen)) {
      this.#chosen = (await this.#onlyBegun()) ?? this.#chosen;
    }
    return this.#chosen === null ? [] : [this.#chosen];
  }

  /**
   * One that chooses its session says a new id first, and ends perhaps before anybody sees the other: when nothing was written
   * where it said it was, then it was in the one that was written to, unless that is somebody else's.
   */
  async #namedOrWritten(): Promise<readonly string[]> {
    const changed = await this.#changed();
    if (this.#named.some((id) => changed.includes(id))) return this.#named;
    const written = only(changed.filter((id) => !this.#others.has(id)));
    return written === null ? this.#named : [written];
  }

  async #allBegun(): Promise<readonly string[]> {
    const changed = await this.#changed();
    return this.#chosen === null ? changed : [...changed.filter((id) => id !== this.#chosen), this.#chosen];
  }

  async #onlyChanged(): Promise<string | null> {
    return only(await this.#changed());
  }

  async #onlyBegun(): Promise<string | null> {
    const before = this.#before ?? new Map();
    return only((await this.#changed()).filter((id) => !before.has(id)));
  }

  /** Begun or written to since the agent began, the last one last. */
  async #changed(): Promise<readonly string[]> {
    const before = this.#before;
    if (before === null) return [];
    return [...(await this.#stamps())].filter(([id, stamp]) => before.get(id) !== stamp).map(([id]) => id);
  }

  #stamps(): Promise<Stamps> {
    return stampsOf(this.#expected.agent, this.#expected.here);
  }
}

/** Where OpenCode writes what is said: its databases, and beside them what was written last. */
async function openCodeFiles({ env }: Here): Promise<readonly string[]> {
  const dataDir = openCodeDataDir(env);
  const names = (await readdir(dataDir).catch(() => [])).filter((name) => /^opencode.*\.db(-wal)?$/.test(name));
  const own = env.OPENCODE_DB ? [env.OPENCODE_DB, `${env.OPENCODE_DB}-wal`] : [];
  return [...names, ...own].map((name) => path.resolve(dataDir, name));
}

async function stampOf(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.map((one) => (one === null ? "" : `${one.size} ${one.mtimeMs}`)).join();
}

/** Whether there is any in this directory. */
export async function hasSessions(agent: CodingAgent, here: Here): Promise<boolean> {
  return (await stampsOf(agent, here)).size > 0;
}

/** The sessions of OpenCode that began in this directory between two times of this machine's clock. */
export async function sessionsBegun(here: Here, from: number, to: number): Promise<readonly string[]> {
  const begun = (await openCodeSessions(here)).filter(({ createdAt }) => createdAt >= from && createdAt <= to);
  return begun.map(({ sessionId }) => sessionId);
}

async function openCodeSessions(here: Here): Promise<readonly LocalOpenCode[]> {
  const cwd = await realpath(here.cwd);
  const all = await listOpenCodeSessions(openCodeRunner(here), openCodeDataDir(here.env));
  return all.filter(({ directory, parentId }) => parentId === null && directory === cwd);
}

/** Of this directory, the one that changed last comes last. */
async function stampsOf(agent: CodingAgent, here: Here): Promise<Stamps> {
  if (agent === "opencode") {
    const own = await openCodeSessions(here);
    const ordered = own.toSorted((a, b) => a.updatedAt - b.updatedAt);
    return new Map(ordered.map(({ sessionId, updatedAt }) => [sessionId, String(updatedAt)]));
  }
  const key = fixedKeyOf(here.env) ?? (await projectKeyOf(here.cwd));
  const own: { readonly sessionId: string; readonly size: number; readonly mtimeMs: number }[] = [];
  for await (const one of listClaudeSessions(configDirOf(here.env))) if (one.key === key) own.push(one);
  const ordered = own.toSorted((a, b) => a.mtimeMs - b.mtimeMs);
  return new Map(ordered.map(({ sessionId, size, mtimeMs }) => [sessionId, `${size} ${mtimeMs}`]));
}

function only(sessions: readonly string[]): string | null {
  if (sessions.length <= 1) return sessions[0] ?? null;
  throw new HoldfastError("Conflict", `${sessions.length} sessions of this directory were worked on at the same time`, {
    details: { sessions },
    hint: "Save the right one with `holdfast capture --session-id ID`, or name it on the agent's own command line.",
  });
}
