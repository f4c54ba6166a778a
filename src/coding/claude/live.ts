// Which session a Claude Code that runs now is in. It says so in sessions/<pid>.json below its config directory for as long as
// it runs, also when it goes on under another id (/clear, /resume, --continue). The keys that lie beside are never read.
import { readdir, readFile } from "node:fs/promises";
import * as path from "node:path";
import { isSessionId } from "./layout.ts";

export interface LiveClaude {
  /** The process that was started: Claude Code itself, or what started it. */
  readonly pid: number;
  /** When that was: what lies there from before is of a process that had the same number. */
  readonly since: number;
  /** Where: containers that share a home have the same numbers, and work elsewhere. */
  readonly cwd: string;
}

/** Clocks of one machine, told in whole milliseconds at two places. */
const SLACK_MS = 1000;
const ANY = { since: Number.NEGATIVE_INFINITY, cwd: "/" };
const ENTRY = /^(\d+)\.json$/;

/** null: it does not say, or not yet. */
export async function liveSessionOf(configDir: string, live: LiveClaude): Promise<string | null> {
  const folder = path.join(configDir, "sessions");
  const own = await sessionIn(path.join(folder, `${live.pid}.json`), live.pid, live);
  if (own !== null) return own;
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(ENTRY.exec(name)?.[1]);
    if (!Number.isInteger(pid) || !(await isBelow(pid, live.pid))) continue;
    const found = await sessionIn(path.join(folder, name), pid, live);
    if (found !== null) return found;
  }
  return null;
}

/** Those that other Claude Codes say they are in: never the one's that was started here. */
export async function sessionsOfOthers(configDir: string, live: LiveClaude): Promise<readonly string[]> {
  const folder = path.join(configDir, "sessions");
  const found: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(ENTRY.exec(name)?.[1]);
    if (!Number.isInteger(pid) || pid === live.pid || (await isBelow(pid, live.pid))) continue;
    const session = await sessionIn(path.join(folder, name), pid, ANY);
    if (session !== null) found.push(session);
  }
  return found;
}

async function sessionIn(
  file: string,
  pid: number,
  { since, cwd }: Pick<LiveClaude, "since" | "cwd">,
): Promise<string | null> {
  try {
    const entry: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof entry !== "object" || entry === null) return null;
    const { pid: whose, sessionId, startedAt, cwd: where } = entry as Record<string, unknown>;
    if (whose !== pid || typeof startedAt !== "number" || startedAt < since - SLACK_MS) return null;
    // A worktree that it made for itself is below.
    if (typeof where === "string" && !isWithin(where, cwd)) return null;
    return typeof sessionId === "string" && isSessionId(sessionId) ? sessionId : null;
  } catch {
    return null; // there is none, or it is being written
  }
}

function isWithin(inner: string, outer: string): boolean {
  const way = path.relative(outer, inner);
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

/** Where the system tells who started whom. */
async function isBelow(pid: number, ancestor: number): Promise<boolean> {
  for (let at = pid, steps = 0; at > 1 && steps < 32; steps++) {
    const status = await readFile(`/proc/${at}/status`, "utf8").catch(() => "");
    at = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? 0);
    if (at === ancestor) return true;
  }
  return false;
}
