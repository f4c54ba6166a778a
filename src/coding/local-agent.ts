// A coding agent on this machine, one interface for Claude Code and OpenCode: find the files of a session, and restore a session.
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CaptureRole, CodingAgent, LeftOutFile } from "../contracts/captures.ts";
import type { CaptureSource, FoundSession, Restored } from "../contracts/coding.ts";
import type { Environment } from "../contracts/environment.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import { plainObject } from "../core/decode.ts";
import { realEnvironment } from "../core/environment.ts";
import type { ReadableSession } from "./capture-source.ts";
import { restoreClaude } from "./claude/restore.ts";
import { configDirOf, findClaudeSession, fixedProjectKey, type Variables } from "./claude/session-files.ts";
import { factsOf } from "./claude/transcript.ts";
import { findOpenCodeSession } from "./opencode/find.ts";
import { restoreOpenCode } from "./opencode/restore.ts";
import { OpenCode, openCodeDataDir } from "./opencode/runner.ts";

/** The files of a session on this machine. Some may be in a temporary folder: the caller calls done() after it has read them. */
export interface LocalSession extends FoundSession {
  readonly left: readonly LeftOutFile[];
  done(): Promise<void>;
}

export interface RestoreOptions {
  /** Paths of the session's own files in the conversation are changed to where the files are now. Then the transcript is not
   * byte for byte what was captured. */
  readonly rewritePaths?: boolean;
  /** Replaces a session that continued differently on this machine. */
  readonly overwrite?: boolean;
  /** Reports what would be restored, and refuses what would be refused, but writes nothing. */
  readonly dryRun?: boolean;
}

export interface LocalAgent {
  readonly agent: CodingAgent;
  /** NotFound when this machine does not have the session. */
  find(sessionId: string): Promise<LocalSession>;
  restore(source: CaptureSource, options?: RestoreOptions): Promise<Restored>;
}

/** Where and how an agent runs on this machine. */
export interface AgentHost {
  readonly env: Variables;
  readonly cwd: string;
  readonly environment: Environment;
  /** The program, and the arguments before its own; the agent's usual name when not given. */
  readonly command?: string | readonly [string, ...string[]];
}

/** The process's own environment and directory are used where `host` gives none. */
export function localAgent(agent: CodingAgent, host: Partial<AgentHost> = {}): LocalAgent {
  const whole: AgentHost = { env: process.env, cwd: process.cwd(), environment: realEnvironment(), ...host };
  return agent === "claude-code" ? localClaude(whole) : localOpenCode(whole);
}

function localClaude({ env, cwd }: AgentHost): LocalAgent {
  const configDir = configDirOf(env);
  const key = fixedProjectKey(env);
  return {
    agent: "claude-code",
    find: async (sessionId) => {
      const found = await findClaudeSession({ sessionId, configDir, cwd, ...(key === null ? {} : { key }) });
      return { ...found, done: async () => {} };
    },
    restore: async (source, options) =>
      addLeftOut(source, await restoreClaude(source, { cwd, configDir, key, ...options })),
  };
}

export function openCodeRunner({ env, cwd, environment, command = "opencode" }: AgentHost): OpenCode {
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const words: readonly [string, ...string[]] = typeof command === "string" ? [command] : command;
  return new OpenCode({ command: words, env: Object.fromEntries(variables), cwd, environment });
}

function localOpenCode(host: AgentHost): LocalAgent {
  const runner = openCodeRunner(host);
  const dataDir = openCodeDataDir(host.env);
  return {
    agent: "opencode",
    find: (sessionId) =>
      inTemporaryFolder("holdfast-capture-", (folder) => findOpenCodeSession({ sessionId, runner, dataDir, folder })),
    restore: async (source, { rewritePaths, dryRun } = {}) => {
      const options = {
        ...(rewritePaths === undefined ? {} : { rewritePaths }),
        ...(dryRun === undefined ? {} : { dryRun }),
      };
      return addLeftOut(source, await restoreOpenCode(source, { runner, cwd: host.cwd, dataDir, ...options }));
    },
  };
}

/** null: this machine does not have the session. */
export async function findIfPresent(agent: LocalAgent, sessionId: string): Promise<LocalSession | null> {
  try {
    return await agent.find(sessionId);
  } catch (error) {
    if (isHoldfastError(error) && error.code === "NotFound") return null;
    throw error;
  }
}

/** done() of the session removes the folder. */
export async function inTemporaryFolder(
  prefix: string,
  find: (folder: string) => Promise<Omit<LocalSession, "done">>,
): Promise<LocalSession> {
  const folder = await mkdtemp(path.join(tmpdir(), prefix));
  const done = () => rm(folder, { recursive: true, force: true });
  try {
    return { ...(await find(folder)), done };
  } catch (error) {
    await done();
    throw error;
  }
}

/** Adds the files that the source lacks: they were not restored either. */
function addLeftOut({ left = [] }: CaptureSource, restored: Restored): Restored {
  return left.length === 0 ? restored : { ...restored, left: [...left, ...restored.left] };
}

export function readableOnDisk(found: FoundSession): ReadableSession {
  const files = new Map(found.files.map(({ path: name, file }) => [name, file]));
  return { ...found, read: (name) => createReadStream(files.get(name) ?? "") };
}

/** Whether the conversation has a message. */
export async function hasMessages({ agent, files }: LocalSession): Promise<boolean> {
  const main = files.find(({ role }) => role === "transcript" || role === "export");
  if (main === undefined) return true;
  if (agent === "claude-code") return (await factsOf(main.file)).messages > 0;
  const { messages } = plainObject.read(JSON.parse(await readFile(main.file, "utf8"))) ?? {};
  return !Array.isArray(messages) || messages.length > 0;
}

export interface FileCount {
  readonly files: number;
  readonly size: number;
}

export function countByRole(
  files: readonly { readonly role: CaptureRole; readonly size: number }[],
): Readonly<Record<string, FileCount>> {
  const roles: Record<string, FileCount> = {};
  for (const { role, size } of files) {
    const before = roles[role] ?? { files: 0, size: 0 };
    roles[role] = { files: before.files + 1, size: before.size + size };
  }
  return roles;
}
