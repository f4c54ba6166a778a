// The command line that the agent is started with: the user's, with the session to resume, or with words of the stored conversation.
import type { Environment } from "../../contracts/environment.ts";
import { isSessionIdOf } from "../../core/agent-sessions.ts";
import * as lines from "./agent-line.ts";
import type { Start } from "./start.ts";

export function lineFor(
  line: lines.AgentLine,
  start: Start,
  asked: lines.Understood,
  environment: Environment,
): { readonly line: lines.AgentLine; readonly sessionId: string | null; readonly before: string | null } {
  // It may also be called by its title: then the agent says which one that is.
  const named = asked.sessionId !== null && isSessionIdOf(line.agent, asked.sessionId) ? asked.sessionId : null;
  if (asked.choosesSession) return { line, sessionId: asked.forks ? null : named, before: null };
  if (start.how === "resumed") {
    const { sessionId } = start.restored;
    return { line: lines.resuming(line, sessionId), sessionId: asked.forks ? null : sessionId, before: null };
  }
  const sessionId = line.agent === "claude-code" ? newUuid(environment) : null;
  const fresh = sessionId === null ? line : lines.beginning(line, sessionId);
  if (start.how === "new") return { line: fresh, sessionId, before: null };
  const prefixed = lines.prefixed(fresh, start.words);
  if (prefixed !== null) return { line: prefixed, sessionId, before: null };
  // Its standard input is a person at a terminal, or no text.
  const isOther = process.stdin.isTTY === true || lines.readsJson(line);
  const told = isOther ? lines.withInstructions(fresh, start.words) : null;
  return told === null ? { line: fresh, sessionId, before: start.words } : { line: told, sessionId, before: null };
}

/** Version 4. */
function newUuid(environment: Environment): string {
  const bytes = environment.random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
