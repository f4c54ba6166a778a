// A program that behaves like Claude Code as far as `holdfast run` can see: it says in sessions/<pid>.json which session it is
// in, and appends to transcripts. What it does is told in FAKE_CLAUDE; the real one is run by test/agents.
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { projectKey } from "../src/coding/claude/session-files.ts";

export interface FakeClaude {
  /** Like versions before 2.1, it does not write where it is. */
  readonly silent?: boolean;
  /** It writes where it is when it begins, and ends before a reader could see that it went elsewhere. */
  readonly hasty?: boolean;
  /** Before anything is written. */
  readonly waitMs?: number;
  /** Nothing is written before this file is there. */
  readonly after?: string;
  /** In these sessions one after the other; "own" is the one of its command line, another name a new one. "": it began.
   * `until` a file is there. */
  readonly sessions?: readonly {
    readonly session: string;
    readonly says: string;
    readonly waitMs?: number;
    readonly until?: string;
  }[];
  readonly exit?: number;
  /** It takes no notice of signals. */
  readonly deaf?: boolean;
  /** A signal ends it with its own exit code, as if all were well. */
  readonly graceful?: boolean;
}

const told = JSON.parse(process.env.FAKE_CLAUDE ?? "{}") as FakeClaude;
const { silent, hasty, waitMs = 0, after, sessions = [], exit = 0, deaf = false, graceful = false } = told;
const STOPS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;
if (deaf) for (const signal of STOPS) process.on(signal, () => {});
if (graceful) for (const signal of STOPS) process.on(signal, () => process.exit(exit));
const args = process.argv.slice(2);
const configDir = path.join(process.env.HOME ?? "", ".claude");
const project = path.join(configDir, "projects", projectKey(realpathSync(process.cwd())));
const entry = path.join(configDir, "sessions", `${process.pid}.json`);
const own = given("--session-id") ?? given("--resume") ?? randomUUID();
mkdirSync(project, { recursive: true });
mkdirSync(path.dirname(entry), { recursive: true });
writeFileSync(path.join(process.env.HOME ?? "", "args.json"), JSON.stringify(args));
writeFileSync(path.join(process.env.HOME ?? "", "env.json"), JSON.stringify(Object.keys(process.env)));

function given(flag: string): string | undefined {
  const at = args.indexOf(flag);
  return at < 0 ? undefined : args[at + 1];
}

function register(sessionId: string): void {
  if (silent) return;
  writeFileSync(entry, JSON.stringify({ pid: process.pid, sessionId, cwd: process.cwd(), startedAt: Date.now() }));
}

register(own);
await sleep(waitMs);
while (after !== undefined && !existsSync(after)) await sleep(20);
for (const { session, says, waitMs: pause = 0, until } of sessions) {
  const sessionId = session === "own" ? own : session;
  if (!hasty) register(sessionId);
  const started = { type: "mode", mode: "normal", sessionId };
  const line = {
    type: "user",
    uuid: randomUUID(),
    parentUuid: null,
    sessionId,
    cwd: process.cwd(),
    version: "2.1.325",
    isSidechain: false,
    timestamp: new Date().toISOString(),
    message: { role: "user", content: says },
    ...(process.env.PADDING ? { padding: "x1y2z3 ".repeat(Number(process.env.PADDING) / 7) } : {}),
  };
  appendFileSync(path.join(project, `${sessionId}.jsonl`), `${JSON.stringify(says === "" ? started : line)}\n`);
  await sleep(pause);
  while (until !== undefined && !existsSync(until)) await sleep(20);
}
process.stdout.write("done");
rmSync(entry, { force: true });
process.exitCode = exit;
