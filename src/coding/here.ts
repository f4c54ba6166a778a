// The coding agents of this machine, one way for both: what a session left here, and putting one back.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CodingAgent } from "../contracts/captures.ts";
import type { CaptureSource, FoundSession, Restored } from "../contracts/coding.ts";
import type { Environment } from "../contracts/environment.ts";
import { realEnvironment } from "../core/environment.ts";
import { findClaudeSession } from "./claude/find.ts";
import { configDirOf, fixedKeyOf, type Variables } from "./claude/key.ts";
import { restoreClaude } from "./claude/restore.ts";
import { findOpenCodeSession } from "./opencode/find.ts";
import { restoreOpenCode } from "./opencode/restore.ts";
import { OpenCode, openCodeDataDir } from "./opencode/runner.ts";

export interface Left {
  readonly path: string;
  readonly why: string;
}

/** Files may be in a private folder: whoever asked says when they are done with. */
export interface FoundHere extends FoundSession {
  readonly left: readonly Left[];
  done(): Promise<void>;
}

export interface PutBack {
  /** Paths of the session's own files in the conversation lead to where they are now; it is not what it was then. */
  readonly rewritePaths?: boolean;
  /** Replaces what went on apart here. */
  readonly overwrite?: boolean;
  /** Tells what would be put back, and refuses what would be refused; nothing is written. */
  readonly dryRun?: boolean;
}

export interface AgentHere {
  readonly agent: CodingAgent;
  /** NotFound when there is none here. */
  find(sessionId: string): Promise<FoundHere>;
  restore(source: CaptureSource, options?: PutBack): Promise<Restored>;
}

export interface Here {
  readonly env: Variables;
  readonly cwd: string;
  readonly environment: Environment;
  /** The program, as it is started, and what stands before its own arguments; by its own name when not given. */
  readonly command?: string | readonly [string, ...string[]];
}

/** With the process's own environment and directory where none is given. */
export function agentHere(agent: CodingAgent, given: Partial<Here> = {}): AgentHere {
  const here: Here = { env: process.env, cwd: process.cwd(), environment: realEnvironment(), ...given };
  return agent === "claude-code" ? claudeHere(here) : openCodeHere(here);
}

function claudeHere({ env, cwd }: Here): AgentHere {
  const configDir = configDirOf(env);
  const key = fixedKeyOf(env);
  return {
    agent: "claude-code",
    find: async (sessionId) => {
      const found = await findClaudeSession({ sessionId, configDir, cwd, ...(key === null ? {} : { key }) });
      return { ...found, done: async () => {} };
    },
    restore: async (source, options) =>
      alsoLeft(source, await restoreClaude(source, { cwd, configDir, key, ...options })),
  };
}

export function openCodeRunner({ env, cwd, environment, command = "opencode" }: Here): OpenCode {
  const given = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const words: readonly [string, ...string[]] = typeof command === "string" ? [command] : command;
  return new OpenCode({ command: words, env: Object.fromEntries(given), cwd, environment });
}

function openCodeHere(here: Here): AgentHere {
  const runner = openCodeRunner(here);
  const dataDir = openCodeDataDir(here.env);
  return {
    agent: "opencode",
    find: async (sessionId) => {
      const folder = await mkdtemp(path.join(tmpdir(), "holdfast-capture-"));
      const done = () => rm(folder, { recursive: true, force: true });
      try {
        return { ...(await findOpenCodeSession({ sessionId, runner, dataDir, folder })), done };
      } catch (error) {
        await done();
        throw error;
      }
    },
    restore: async (source, { rewritePaths, dryRun } = {}) => {
      const asked = {
        ...(rewritePaths === undefined ? {} : { rewritePaths }),
        ...(dryRun === undefined ? {} : { dryRun }),
      };
      return alsoLeft(source, await restoreOpenCode(source, { runner, cwd: here.cwd, dataDir, ...asked }));
    },
  };
}

/** What it lost before it came here was not put back either. */
function alsoLeft({ left = [] }: CaptureSource, restored: Restored): Restored {
  return left.length === 0 ? restored : { ...restored, left: [...left, ...restored.left] };
}
