// The command line of a coding agent: which agent it is, which session it asks for, where its prompt stands, and the same
// line with a session to resume or words before the prompt. What it does not understand it leaves as it is.
import * as path from "node:path";
import type { CodingAgent } from "../../contracts/captures.ts";

export interface AgentLine {
  readonly agent: CodingAgent;
  readonly program: string;
  /** What stands between the program and the agent's own arguments, where another program starts the agent: npx, a shell. */
  readonly launcher?: readonly string[];
  /** The agent's own. */
  readonly args: readonly string[];
}

const PROGRAMS: Readonly<Record<string, CodingAgent>> = { claude: "claude-code", opencode: "opencode" };

/** undefined: none that is known by its name. */
export function agentOf(program: string): CodingAgent | undefined {
  return PROGRAMS[path.basename(program).replace(/\.(exe|cmd)$/i, "")];
}

/** One value each; of the others all up to the next option. */
const ONE_VALUE: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set([
    "--model",
    "--fallback-model",
    "--permission-mode",
    "--output-format",
    "--input-format",
    "--max-turns",
    "--agent",
    "--append-system-prompt",
    "--system-prompt",
    "--system-prompt-file",
    "--append-system-prompt-file",
    "--settings",
    "--session-id",
    "--agents",
    "--setting-sources",
    "--max-budget-usd",
    "--json-schema",
    "--effort",
    "--name",
    "-n",
    "--permission-prompt-tool",
    "--resume-session-at",
    "--debug-file",
    "--max-thinking-tokens",
    "--task-budget",
    "--autocompact",
    "--environment",
    "--plugin-url",
    "--system-prompt-snapshot",
    "--permission-prompts",
    "--remote-control-session-name-prefix",
  ]),
  opencode: new Set([
    "--model",
    "-m",
    "--agent",
    "--format",
    "--title",
    "--attach",
    "--port",
    "--variant",
    "--command",
    "--dir",
    "--log-level",
    "--hostname",
    "--prompt",
    "--password",
    "-p",
    "--username",
    "-u",
  ]),
};
/** A value unless an option follows. */
const MAYBE_VALUE: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set([
    "--debug",
    "-d",
    "--worktree",
    "-w",
    "--cloud",
    "--teleport",
    "--remote-control",
    "--prompt-suggestions",
    "--from-pr",
  ]),
  opencode: new Set(),
};
const MANY_VALUES: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set([
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--tools",
    "--add-dir",
    "--betas",
    "--mcp-config",
    "--plugin-dir",
    "--file",
  ]),
  opencode: new Set(["--file", "-f"]),
};
/** With or without a value: the session to go on with. */
const SESSION: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set(["--resume", "-r", "--session-id"]),
  opencode: new Set(["--session", "-s"]),
};
const LAST: ReadonlySet<string> = new Set(["--continue", "-c", "--from-pr", "--teleport"]);
/** What they print, or do to themselves, is no conversation. */
const ASKS: ReadonlySet<string> = new Set(["--help", "-h", "--version", "-v"]);
const VERBS: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set([
    "agents",
    "attach",
    "auth",
    "auto-mode",
    "config",
    "doctor",
    "gateway",
    "import",
    "install",
    "logs",
    "mcp",
    "plugin",
    "plugins",
    "purge",
    "respawn",
    "rm",
    "setup-token",
    "stop",
    "kill",
    "ultrareview",
    "update",
    "upgrade",
  ]),
  opencode: new Set([
    "completion",
    "acp",
    "mcp",
    "attach",
    "debug",
    "providers",
    "auth",
    "agent",
    "upgrade",
    "uninstall",
    "serve",
    "web",
    "models",
    "stats",
    "export",
    "import",
    "github",
    "session",
    "plugin",
    "db",
  ]),
};

/** Its standard input is JSON, a message a line. */
export function readsJson({ agent, args }: AgentLine): boolean {
  const at = args.indexOf("--input-format");
  const isJson = args.includes("--input-format=stream-json") || (at >= 0 && args[at + 1] === "stream-json");
  return agent === "claude-code" && isJson;
}

/** It goes on with its user in front of a terminal, turn after turn. */
export function isInteractive({ agent, args }: AgentLine): boolean {
  if (agent === "opencode") return args[0] !== "run";
  return !args.some((arg) => arg === "-p" || arg === "--print" || (isTogether(arg) && arg.includes("p")));
}

export interface Understood {
  /** It begins or goes on with a conversation; otherwise there is nothing to put back or to save. */
  readonly converses: boolean;
  /** The line says itself which session goes on: nothing is added to it. */
  readonly choosesSession: boolean;
  /** When it names one. */
  readonly sessionId: string | null;
  /** It may go on under another id than it names. */
  readonly forks: boolean;
  /** Where the prompt stands among the arguments; null: it comes another way. */
  readonly prompt: number | null;
}

export function understand({ agent, args }: AgentLine): Understood {
  const verb = agent === "opencode" && args[0] === "run" ? 1 : 0;
  let sessionId: string | null = null;
  let [choosesSession, forks] = [false, false];
  let prompt: number | null = null;
  let converses = !VERBS[agent].has(args[0] ?? "");
  for (let i = verb; i < args.length; i++) {
    const [name = "", inline] = split(args[i] ?? "");
    if (isTogether(name)) {
      // -cp, -rp ID: letters that take a value take it from what follows.
      choosesSession ||= /[cr]/.test(name) || (agent === "opencode" && name.includes("s"));
      if (/[rs]$/.test(name) && isValue(args[i + 1])) [sessionId, i] = [args[i + 1] ?? "", i + 1];
      continue;
    }
    if (SESSION[agent].has(name)) {
      choosesSession = true;
      const next = args[i + 1];
      if (inline !== undefined) sessionId = inline;
      else if (isValue(next)) [sessionId, i] = [next ?? "", i + 1];
    } else if (LAST.has(name)) choosesSession = true;
    else if (ASKS.has(name)) converses = false;
    else if (name === "--fork-session" || name === "--fork") forks = true;
    else if (ONE_VALUE[agent].has(name)) i += inline === undefined ? 1 : 0;
    else if (MAYBE_VALUE[agent].has(name)) i += inline === undefined && isValue(args[i + 1]) ? 1 : 0;
    else if (MANY_VALUES[agent].has(name)) {
      while (inline === undefined && i + 1 < args.length && !args[i + 1]?.startsWith("-")) i++;
    } else if (args[i] === "--") {
      prompt ??= i + 1 < args.length ? i + 1 : null;
      break;
    } else if (!name.startsWith("-")) prompt ??= i;
  }
  // Without `run`, what stands there is a directory to work in, not a prompt.
  return { converses, choosesSession, sessionId, forks, prompt: agent === "opencode" && verb === 0 ? null : prompt };
}

/** Short flags without values, or with one at the end, written as one word. */
function isTogether(arg: string): boolean {
  return /^-[cprs]{2,}$/.test(arg);
}

function isValue(arg: string | undefined): boolean {
  return arg !== undefined && !arg.startsWith("-");
}

function split(arg: string): readonly [name: string, inline?: string] {
  if (!arg.startsWith("--") || !arg.includes("=")) return [arg];
  const at = arg.indexOf("=");
  return [arg.slice(0, at), arg.slice(at + 1)];
}

/** The agent's own way to go on with a session. */
export function resuming(line: AgentLine, sessionId: string): AgentLine {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--resume", sessionId, ...args] };
  const flag = ["--session", sessionId];
  return { ...line, args: args[0] === "run" ? ["run", ...flag, ...args.slice(1)] : [...flag, ...args] };
}

/** A new session of that id; OpenCode makes its own. */
export function beginning(line: AgentLine, sessionId: string): AgentLine {
  return line.agent === "claude-code" ? { ...line, args: ["--session-id", sessionId, ...line.args] } : line;
}

/** Words before the prompt; null when it does not stand in the line. */
export function prefixed(line: AgentLine, words: string): AgentLine | null {
  const { prompt } = understand(line);
  if (prompt === null) return null;
  const args = line.args.map((arg, i) => (i === prompt ? `${words}\n\n${arg}` : arg));
  return { ...line, args };
}

/** Where there is no prompt to put them before, the agent is told beside it; null: only its standard input is left. */
export function withInstructions(line: AgentLine, words: string): AgentLine | null {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--append-system-prompt", words, ...args] };
  return args[0] === "run" ? null : { ...line, args: ["--prompt", words, ...args] };
}
