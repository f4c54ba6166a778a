// The options with which users name coding agents, their sessions and captures, and the command that resumes a session.
import * as path from "node:path";
import type { CaptureSelector } from "../../coding/find-capture.ts";
import { type AgentHost, type LocalAgent, localAgent } from "../../coding/local-agent.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import { AGENTS, isSessionIdOf } from "../../core/agent-sessions.ts";
import { realEnvironment } from "../../core/environment.ts";
import type { Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import type { Io } from "../io.ts";
import type { OptionSpec, Options } from "../option.ts";
import { quoted, safeLine } from "../terminal.ts";
import { parseDurationOrNever } from "../units.ts";

export const AGENT_OPTION = {
  type: "text",
  value: "claude-code|opencode",
  summary: "the coding agent (default: by the form of the session's id)",
} as const satisfies OptionSpec;

export const CWD_OPTION = {
  type: "text",
  value: "DIR",
  summary: "the directory the agent runs in (default: this one)",
} as const satisfies OptionSpec;

export const TTL_OPTION = {
  type: "text",
  value: "TIME",
  summary: "how long to keep the capture: 90s, 15m, 12h, 30d or never (default 7d)",
} as const satisfies OptionSpec;

export const SESSION_ID_OPTION = {
  type: "text",
  value: "ID",
  summary: "the agent's own id of its session: a UUID of Claude Code, ses_… of OpenCode",
} as const satisfies OptionSpec;

/** The options that name a capture. */
export const CAPTURE_OPTIONS = {
  request: { type: "text", value: "ID", summary: "the newest capture of this request" },
  "session-id": SESSION_ID_OPTION,
  capture: { type: "text", value: "CAPTURE", summary: "the capture with this id, as holdfast captures shows it" },
} as const satisfies Options;

export function parseCaptureSelector({ args }: Context): CaptureSelector {
  const selector = { request: args.text("request"), sessionId: args.text("session-id"), capture: args.text("capture") };
  if (selector.capture !== undefined && (selector.request !== undefined || selector.sessionId !== undefined)) {
    throw new UsageError("--capture alone names one capture: leave out --request and --session-id");
  }
  return selector;
}

export function agentGiven({ args }: Context): CodingAgent | undefined {
  const given = args.text("agent");
  const agent = AGENTS.find((one) => one === given);
  if (given !== undefined && agent === undefined) {
    throw new UsageError(`--agent takes ${AGENTS.join(" or ")}, not "${given}"`);
  }
  return agent;
}

/** The agent of the option --agent, or the agent whose session ids have this form. */
export function agentOfId(sessionId: string, given: CodingAgent | undefined): CodingAgent {
  if (given !== undefined) return given;
  if (isSessionIdOf("claude-code", sessionId)) return "claude-code";
  if (isSessionIdOf("opencode", sessionId)) return "opencode";
  throw new UsageError(
    `"${sessionId}" is no session id of Claude Code, whose ids are UUIDs, or of OpenCode, whose ids begin with ses_`,
  );
}

export function ttlGiven({ args }: Context): { readonly ttlMs?: number | null } {
  const ttl = args.text("ttl");
  if (ttl === undefined) return {};
  return { ttlMs: parseDurationOrNever(ttl, "--ttl") };
}

/** A sentence for the help of every command that may start OpenCode. */
export const OPENCODE_HELP = "Holdfast starts OpenCode as opencode, or as the program that HOLDFAST_OPENCODE names.";

export function hostOf(context: Context): AgentHost {
  const { args, io } = context;
  return hostAt(path.resolve(io.cwd, args.text("cwd") ?? "."), io);
}

/** HOLDFAST_OPENCODE names the OpenCode program. */
export function hostAt(cwd: string, { env, cwd: from }: Io): AgentHost {
  const given = env.HOLDFAST_OPENCODE || undefined;
  const command = given?.includes("/") ? path.resolve(from, given) : given;
  return { env, cwd, environment: realEnvironment(), ...(command === undefined ? {} : { command }) };
}

export function localAgentOf(context: Context, agent: CodingAgent): LocalAgent {
  return localAgent(agent, hostOf(context));
}

/** The command that resumes the session, as users type it in the directory `from`. */
export function resumeCommand(agent: CodingAgent, sessionId: string, cwd: string, from: string): string {
  const command = agent === "claude-code" ? `claude --resume ${sessionId}` : `opencode run --session ${sessionId}`;
  return safeLine(cwd === from ? command : `cd ${quoted(cwd)} && ${command}`);
}
