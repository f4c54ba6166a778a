// The coding agents, how they name their sessions, and the one file that every restore needs. The store checks both
// when it saves a capture, so that it keeps no capture that a restore would refuse.
import type { CapturedFile, CodingAgent } from "../contracts/captures.ts";

export const AGENTS: readonly CodingAgent[] = ["claude-code", "opencode"];
export const AGENT_NAMES: Readonly<Record<CodingAgent, string>> = {
  "claude-code": "Claude Code",
  opencode: "OpenCode",
};

const IDS: Readonly<Record<CodingAgent, RegExp>> = {
  "claude-code": /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  opencode: /^ses_[A-Za-z0-9]{1,100}$/,
};

export function isSessionIdOf(agent: CodingAgent, id: string): boolean {
  return IDS[agent].test(id);
}

/**
 * The tag of the main transcripts that the Claude Agent SDK mirrored. With a colon and the agent's own session id after
 * it, it is the tag of that session.
 */
export const MIRROR_TAG = "claude-session";

/** Claude Code: the transcript. OpenCode: the export. */
export function mainFileOf(agent: CodingAgent, sessionId: string): Pick<CapturedFile, "role" | "path"> {
  if (agent === "claude-code") return { role: "transcript", path: `project/${sessionId}.jsonl` };
  return { role: "export", path: `export/${sessionId}.json` };
}
