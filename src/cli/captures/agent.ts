// Coding agents as commands name them: which one is meant, where it is on this machine, and how it goes on.
import * as path from "node:path";
import { isSessionId as isClaudeId } from "../../coding/claude/layout.ts";
import { type AgentHere, agentHere, type Here } from "../../coding/here.ts";
import { isSessionId as isOpenCodeId } from "../../coding/opencode/sql.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import { realEnvironment } from "../../core/environment.ts";
import type { Context } from "../command.ts";
import { UsageError } from "../failure.ts";
import type { Io } from "../io.ts";
import type { OptionSpec } from "../option.ts";
import { quoted, safeLine } from "../terminal.ts";
import { parseDurationOrNever } from "../units.ts";

export const AGENTS: readonly CodingAgent[] = ["claude-code", "opencode"];
export const AGENT_NAMES: Readonly<Record<CodingAgent, string>> = {
  "claude-code": "Claude Code",
  opencode: "OpenCode",
};

export const AGENT_OPTION = {
  type: "text",
  value: "claude-code|opencode",
  summary: "the coding agent (default: by the form of the session's id)",
} as const satisfies OptionSpec;

export const CWD_OPTION = {
  type: "text",
  value: "DIR",
  summary: "where the agent runs (default: here)",
} as const satisfies OptionSpec;

export const TTL_OPTION = {
  type: "text",
  value: "TIME",
  summary: "how long to keep it: 90s, 15m, 12h, 30d or never (default 7d)",
} as const satisfies OptionSpec;

export const SESSION_ID_OPTION = {
  type: "text",
  value: "ID",
  summary: "the agent's own id of its session: a UUID of Claude Code, ses_… of OpenCode",
} as const satisfies OptionSpec;

export function agentGiven({ args }: Context): CodingAgent | undefined {
  const given = args.text("agent");
  const agent = AGENTS.find((one) => one === given);
  if (given !== undefined && agent === undefined) {
    throw new UsageError(`--agent takes ${AGENTS.join(" or ")}, not "${given}"`);
  }
  return agent;
}

/** By the form of its id, unless the user says it. */
export function agentOfId(sessionId: string, given: CodingAgent | undefined): CodingAgent {
  if (given !== undefined) return given;
  if (isClaudeId(sessionId)) return "claude-code";
  if (isOpenCodeId(sessionId)) return "opencode";
  throw new UsageError(
    `"${sessionId}" is no session id of an agent that is known: those of Claude Code are UUIDs, those of OpenCode begin with ses_`,
  );
}

export function ttlGiven({ args }: Context): { readonly ttlMs?: number | null } {
  const ttl = args.text("ttl");
  if (ttl === undefined) return {};
  return { ttlMs: parseDurationOrNever(ttl, "--ttl") };
}

/** Said in the help of every command that may have to start it. */
export const OPENCODE_HELP = "OpenCode is started as opencode, or as the program that HOLDFAST_OPENCODE names.";

export function placeOf(context: Context): Here {
  const { args, io } = context;
  return placeAt(path.resolve(io.cwd, args.text("cwd") ?? "."), io);
}

/** With the program of OpenCode where the user says it is. */
export function placeAt(cwd: string, { env, cwd: from }: Io): Here {
  const given = env.HOLDFAST_OPENCODE || undefined;
  const command = given?.includes("/") ? path.resolve(from, given) : given;
  return { env, cwd, environment: realEnvironment(), ...(command === undefined ? {} : { command }) };
}

export function hereOf(context: Context, agent: CodingAgent): AgentHere {
  return agentHere(agent, placeOf(context));
}

/** What the agent is started with to go on, as it can be typed where the user is. */
export function resumeCommand(agent: CodingAgent, sessionId: string, cwd: string, from: string): string {
  const command = agent === "claude-code" ? `claude --resume ${sessionId}` : `opencode run --session ${sessionId}`;
  return safeLine(cwd === from ? command : `cd ${quoted(cwd)} && ${command}`);
}
