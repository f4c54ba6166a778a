// The command line of a coding agent: which agent it starts, also through npx or a shell, which session it asks for, where its
// prompt is, and the same line with a session to resume or a text before the prompt. Arguments that are not understood stay.
import * as path from "node:path";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Environment } from "../../contracts/environment.ts";
import { isSessionIdOf } from "../../core/agent-sessions.ts";
import { quoteArgument } from "../../core/shell.ts";

export interface AgentCommand {
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
export function readsJson({ agent, args }: AgentCommand): boolean {
  const at = args.indexOf("--input-format");
  const isJson = args.includes("--input-format=stream-json") || (at >= 0 && args[at + 1] === "stream-json");
  return agent === "claude-code" && isJson;
}

/** It goes on with its user in front of a terminal, turn after turn. */
export function isInteractive({ agent, args }: AgentCommand): boolean {
  if (agent === "opencode") return args[0] !== "run";
  return !args.some((arg) => arg === "-p" || arg === "--print" || (isTogether(arg) && arg.includes("p")));
}

export interface CommandIntent {
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

export function readIntent({ agent, args }: AgentCommand): CommandIntent {
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
export function resuming(line: AgentCommand, sessionId: string): AgentCommand {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--resume", sessionId, ...args] };
  const flag = ["--session", sessionId];
  return { ...line, args: args[0] === "run" ? ["run", ...flag, ...args.slice(1)] : [...flag, ...args] };
}

/** A new session of that id; OpenCode makes its own. */
export function beginning(line: AgentCommand, sessionId: string): AgentCommand {
  return line.agent === "claude-code" ? { ...line, args: ["--session-id", sessionId, ...line.args] } : line;
}

/** Words before the prompt; null when it does not stand in the line. */
export function prefixed(line: AgentCommand, words: string): AgentCommand | null {
  const { prompt } = readIntent(line);
  if (prompt === null) return null;
  const args = line.args.map((arg, i) => (i === prompt ? `${words}\n\n${arg}` : arg));
  return { ...line, args };
}

/** Where there is no prompt to put them before, the agent is told beside it; null: only its standard input is left. */
export function withInstructions(line: AgentCommand, words: string): AgentCommand | null {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--append-system-prompt", words, ...args] };
  return args[0] === "run" ? null : { ...line, args: ["--prompt", words, ...args] };
}

const PACKAGES: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "claude",
  "opencode-ai": "opencode",
};

/** Behind the first word that is no option, everything is the started program's. */
const RUNNERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  npx: [[]],
  bunx: [[]],
  pnpx: [[]],
  bun: [["x"]],
  npm: [["exec"], ["x"]],
  pnpm: [["dlx"], ["exec"]],
  yarn: [["dlx"], ["exec"], []],
};
/** npm reads the options behind the program's name as its own, unless -- stands before it. */
const READS_ALL: ReadonlySet<string> = new Set(["npm"]);
const RUNNER_VALUES: ReadonlySet<string> = new Set(["-p", "--package", "-w", "--workspace", "--cache", "--registry"]);
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ksh"]);
/** The shell becomes the agent, and its arguments are handed to it as they are. */
const EXEC = 'exec "$0" "$@"';

/** The command line starts no agent that is known, or starts it in a way that cannot be supervised. */
export class CommandLineRefused extends Error {
  override readonly name = "CommandLineRefused";
}

/** `given`: the options of `holdfast run` as they were given, for the line that works. */
export function readAgentCommand(words: readonly string[], given: string): AgentCommand {
  const [program = "", ...args] = words;
  const agent = agentOf(program);
  if (agent !== undefined) return { agent, program, args };
  const name = program.slice(program.lastIndexOf("/") + 1);
  const line = SHELLS.has(name) ? throughShell(program, args, given) : throughRunner(program, name, args, given);
  if (line !== null) return line;
  const at = args.findIndex((word) => agentOf(word) !== undefined);
  if (at >= 0) {
    const before = [program, ...args.slice(0, at)].map(quoteArgument).join(" ");
    const rest = args.slice(at).map(quoteArgument).join(" ");
    throw refused(`${JSON.stringify(program)} is not understood here`, `${before} holdfast run${given} -- ${rest}`);
  }
  throw new CommandLineRefused(
    `${JSON.stringify(program)} is no agent that is known: give claude … or opencode … after --, also as npx claude … ` +
      'or bash -c "claude …"',
  );
}

function throughRunner(program: string, name: string, args: readonly string[], given: string): AgentCommand | null {
  const verbs = RUNNERS[name]?.find((words) => words.every((word, i) => args[i] === word));
  if (verbs === undefined) return null;
  let at = verbs.length;
  let isEnded = false;
  for (; at < args.length && (args[at] ?? "").startsWith("-"); at++) {
    isEnded = args[at] === "--";
    if (RUNNER_VALUES.has(args[at] ?? "")) at++;
  }
  const agent = agentOf(programOf(args[at] ?? ""));
  if (agent === undefined) return null;
  const rest = args.slice(at + 1);
  if (READS_ALL.has(name) && !isEnded && rest.length > 0) {
    const before = [program, ...args.slice(0, at)].map(quoteArgument).join(" ");
    const behind = args.slice(at).map(quoteArgument).join(" ");
    throw refused(
      `${name} would take the agent's options for its own`,
      `holdfast run${given} -- ${before} -- ${behind}`,
    );
  }
  return { agent, program, launcher: args.slice(0, at + 1), args: rest };
}

/** A package as it is named in the registry, with or without a version. */
function programOf(word: string): string {
  return PACKAGES[word.replace(/(?<=.)@[^/]*$/, "")] ?? word;
}

function throughShell(program: string, args: readonly string[], given: string): AgentCommand | null {
  const at = args.findIndex((word) => /^-[a-z]*c$/.test(word));
  const script = args[at + 1];
  const areOptions = args.slice(0, Math.max(0, at)).every((word) => word.startsWith("-"));
  if (at < 0 || !areOptions || script === undefined) return null;
  const words = args.length === at + 2 ? splitPlain(script) : null;
  const agent = words === null ? undefined : agentOf(words[0] ?? "");
  if (words === null || agent === undefined) {
    const options = args.slice(0, at + 1).join(" ");
    const inside = script.replace(COMMAND, (_, before: string, name: string) => {
      return `${before}holdfast run${given} -- ${name}`;
    });
    if (inside === script) return null;
    const more = args.slice(at + 2).map((word) => ` ${quoteArgument(word)}`);
    const works = `${program} ${options} ${quoteArgument(inside)}${more.join("")}`;
    throw refused("a shell script does more than start the agent: holdfast run belongs into it", works);
  }
  const launcher = [...args.slice(0, at + 1), EXEC, words[0] ?? ""];
  return { agent, program, launcher, args: words.slice(1) };
}

/** Where a command may begin. */
const COMMAND = /(^|[;&|(]\s*|\s)((?:[\w./-]*\/)?(?:claude|opencode)(?=\s|$))/;

/** The words of a simple command; null where the shell would do more than split and unquote them. */
function splitPlain(script: string): readonly string[] | null {
  const words: string[] = [];
  const text = script.trim();
  const piece = /\s+|'([^']*)'|"((?:[^"\\$`]|\\["\\$`])*)"|\\(.)|([^\s'"\\|&;<>()$`*?[\]{}~#!]+)/sy;
  let word: string | null = null;
  for (let at = 0; at < text.length; at = piece.lastIndex) {
    piece.lastIndex = at;
    const match = piece.exec(text);
    if (match === null) return null;
    const [all, single, double, escaped, plain] = match;
    if (/^\s/.test(all)) {
      if (all.includes("\n")) return null;
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    word = (word ?? "") + (single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped ?? plain ?? "");
  }
  return word === null ? words : [...words, word];
}

function refused(why: string, works: string): CommandLineRefused {
  return new CommandLineRefused(`${why}; this works: ${works}`);
}

/** How the session of a run begins, as far as the command line shows it. */
export interface CommandStart {
  /** The session to resume; null: a new one begins. */
  readonly resume: string | null;
  /** A digest for the agent; null: there is none. */
  readonly digest: string | null;
  /** The standard input is a person at a terminal. */
  readonly isTerminal: boolean;
}

export interface FinalCommand {
  readonly command: AgentCommand;
  /** The session that the agent will work in; null: the agent creates or chooses it. */
  readonly sessionId: string | null;
  /** A text that goes before the agent's standard input. */
  readonly before: string | null;
}

/** The command that the agent is started with: the user's own, with the session to resume or with a digest. */
export function finalCommand(
  command: AgentCommand,
  intent: CommandIntent,
  { resume, digest, isTerminal }: CommandStart,
  environment: Pick<Environment, "random">,
): FinalCommand {
  // A session may also be named by its title. Then the agent finds out which one it is.
  const named = intent.sessionId !== null && isSessionIdOf(command.agent, intent.sessionId) ? intent.sessionId : null;
  if (intent.choosesSession) return { command, sessionId: intent.forks ? null : named, before: null };
  if (resume !== null) {
    return { command: resuming(command, resume), sessionId: intent.forks ? null : resume, before: null };
  }
  const sessionId = command.agent === "claude-code" ? newUuid(environment) : null;
  const fresh = sessionId === null ? command : beginning(command, sessionId);
  if (digest === null) return { command: fresh, sessionId, before: null };
  const withDigest = prefixed(fresh, digest);
  if (withDigest !== null) return { command: withDigest, sessionId, before: null };
  // A terminal or a stream of JSON messages cannot begin with a text.
  const isNoText = isTerminal || readsJson(command);
  const instructed = isNoText ? withInstructions(fresh, digest) : null;
  return instructed === null
    ? { command: fresh, sessionId, before: digest }
    : { command: instructed, sessionId, before: null };
}

/** Version 4. */
function newUuid(environment: Pick<Environment, "random">): string {
  const bytes = environment.random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
