// Parses the command line of a coding agent: which agent it starts, also through npx or a shell, which session it names, and where its
// prompt is. It also builds the line that resumes a session or has a text before the prompt. Unknown arguments are not changed.
import * as path from "node:path";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Environment } from "../../contracts/environment.ts";
import { isSessionIdOf } from "../../core/agent-sessions.ts";
import { quoteArgument } from "../../core/shell.ts";

export interface AgentCommand {
  readonly agent: CodingAgent;
  readonly program: string;
  /** The arguments before the agent's own, if another program starts the agent: npx, a shell. */
  readonly launcher?: readonly string[];
  /** The agent's own arguments. */
  readonly args: readonly string[];
}

const PROGRAMS: Readonly<Record<string, CodingAgent>> = { claude: "claude-code", opencode: "opencode" };

/** undefined: it is not a program of a known agent. */
export function agentOf(program: string): CodingAgent | undefined {
  return PROGRAMS[path.basename(program).replace(/\.(exe|cmd)$/i, "")];
}

/** Options with one value. */
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
/** Options with one value, unless another option follows. */
const OPTIONAL_VALUE: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
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
/** Options with all values up to the next option. */
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
/** Options that name the session to continue, with or without a value. */
const SESSION: Readonly<Record<CodingAgent, ReadonlySet<string>>> = {
  "claude-code": new Set(["--resume", "-r", "--session-id"]),
  opencode: new Set(["--session", "-s"]),
};
/** Options that make the agent choose the session. */
const CHOOSES_LATEST: ReadonlySet<string> = new Set(["--continue", "-c", "--from-pr", "--teleport"]);
/** Options and commands without a conversation: they print information or manage the agent's installation. */
const INFO_FLAGS: ReadonlySet<string> = new Set(["--help", "-h", "--version", "-v"]);
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

/** Whether its standard input is JSON, one message a line. */
export function readsJson({ agent, args }: AgentCommand): boolean {
  const at = args.indexOf("--input-format");
  const isJson = args.includes("--input-format=stream-json") || (at >= 0 && args[at + 1] === "stream-json");
  return agent === "claude-code" && isJson;
}

/** Whether it works with a user at a terminal, turn after turn. */
export function isInteractive({ agent, args }: AgentCommand): boolean {
  if (agent === "opencode") return args[0] !== "run";
  return !args.some((arg) => arg === "-p" || arg === "--print" || (isFlagGroup(arg) && arg.includes("p")));
}

export interface CommandPurpose {
  /** The agent begins or continues a conversation. Otherwise there is nothing to restore or save. */
  readonly converses: boolean;
  /** The line itself selects the session, so Holdfast adds no option for it. */
  readonly choosesSession: boolean;
  /** The session that the line names; null: it names none. */
  readonly sessionId: string | null;
  /** The agent continues the named session under a new id. */
  readonly forks: boolean;
  /** The index of the prompt in the arguments; null: the prompt is not an argument. */
  readonly prompt: number | null;
}

export function readPurpose({ agent, args }: AgentCommand): CommandPurpose {
  const verb = agent === "opencode" && args[0] === "run" ? 1 : 0;
  let sessionId: string | null = null;
  let [choosesSession, forks] = [false, false];
  let prompt: number | null = null;
  let converses = !VERBS[agent].has(args[0] ?? "");
  for (let i = verb; i < args.length; i++) {
    const [name = "", inline] = split(args[i] ?? "");
    if (isFlagGroup(name)) {
      // -cp, -pr ID: a letter with a value reads it from the next argument.
      choosesSession ||= /[cr]/.test(name) || (agent === "opencode" && name.includes("s"));
      if (/[rs]$/.test(name) && isValue(args[i + 1])) [sessionId, i] = [args[i + 1] ?? "", i + 1];
      continue;
    }
    if (SESSION[agent].has(name)) {
      choosesSession = true;
      const next = args[i + 1];
      if (inline !== undefined) sessionId = inline;
      else if (isValue(next)) [sessionId, i] = [next ?? "", i + 1];
    } else if (CHOOSES_LATEST.has(name)) choosesSession = true;
    else if (INFO_FLAGS.has(name)) converses = false;
    else if (name === "--fork-session" || name === "--fork") forks = true;
    else if (ONE_VALUE[agent].has(name)) i += inline === undefined ? 1 : 0;
    else if (OPTIONAL_VALUE[agent].has(name)) i += inline === undefined && isValue(args[i + 1]) ? 1 : 0;
    else if (MANY_VALUES[agent].has(name)) {
      while (inline === undefined && i + 1 < args.length && !args[i + 1]?.startsWith("-")) i++;
    } else if (args[i] === "--") {
      prompt ??= i + 1 < args.length ? i + 1 : null;
      break;
    } else if (!name.startsWith("-")) prompt ??= i;
  }
  // Without `run`, that argument is a directory to work in, not a prompt.
  return { converses, choosesSession, sessionId, forks, prompt: agent === "opencode" && verb === 0 ? null : prompt };
}

/** Several short flags in one argument. Only the last may have a value. */
function isFlagGroup(arg: string): boolean {
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

/** Adds the agent's own option to continue a session. */
export function resumeCommand(line: AgentCommand, sessionId: string): AgentCommand {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--resume", sessionId, ...args] };
  const flag = ["--session", sessionId];
  return { ...line, args: args[0] === "run" ? ["run", ...flag, ...args.slice(1)] : [...flag, ...args] };
}

/** Adds the option for a new session with that id. OpenCode has none: it creates its own ids. */
export function newSessionCommand(line: AgentCommand, sessionId: string): AgentCommand {
  return line.agent === "claude-code" ? { ...line, args: ["--session-id", sessionId, ...line.args] } : line;
}

/** Puts a text before the prompt; null when the line has no prompt. */
export function withPromptPrefix(line: AgentCommand, text: string): AgentCommand | null {
  const { prompt } = readPurpose(line);
  if (prompt === null) return null;
  const args = line.args.map((arg, i) => (i === prompt ? `${text}\n\n${arg}` : arg));
  return { ...line, args };
}

/** Gives the agent a text by an option, if the line has no prompt; null: the agent has no such option. */
export function withInstructions(line: AgentCommand, text: string): AgentCommand | null {
  const { agent, args } = line;
  if (agent === "claude-code") return { ...line, args: ["--append-system-prompt", text, ...args] };
  return args[0] === "run" ? null : { ...line, args: ["--prompt", text, ...args] };
}

const PACKAGES: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code": "claude",
  "opencode-ai": "opencode",
};

/** Package runners, and the words that start a program. After the first word that is not an option, all arguments are the program's. */
const RUNNERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  npx: [[]],
  bunx: [[]],
  pnpx: [[]],
  bun: [["x"]],
  npm: [["exec"], ["x"]],
  pnpm: [["dlx"], ["exec"]],
  yarn: [["dlx"], ["exec"], []],
};
/** npm reads options after the program's name as its own, unless -- precedes the program. */
const NEEDS_SEPARATOR: ReadonlySet<string> = new Set(["npm"]);
const RUNNER_VALUES: ReadonlySet<string> = new Set(["-p", "--package", "-w", "--workspace", "--cache", "--registry"]);
const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ksh"]);
/** The shell replaces itself with the agent, which gets the arguments unchanged. */
const EXEC = 'exec "$0" "$@"';

/** The command line starts no known agent, or starts it in a way that cannot be supervised. */
export class CommandLineRefused extends Error {
  override readonly name = "CommandLineRefused";
}

/** `given`: the options of `holdfast run` as the user wrote them, for the command line that an error suggests. */
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
    throw refuseCommandLine(
      `holdfast run does not know how ${JSON.stringify(program)} starts the agent`,
      `${before} holdfast run${given} -- ${rest}`,
    );
  }
  throw new CommandLineRefused(
    `${JSON.stringify(program)} is not a known agent: give claude … or opencode … after --, also as npx claude … ` +
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
  if (NEEDS_SEPARATOR.has(name) && !isEnded && rest.length > 0) {
    const before = [program, ...args.slice(0, at)].map(quoteArgument).join(" ");
    const agentPart = args.slice(at).map(quoteArgument).join(" ");
    throw refuseCommandLine(
      `${name} would read the agent's options as its own`,
      `holdfast run${given} -- ${before} -- ${agentPart}`,
    );
  }
  return { agent, program, launcher: args.slice(0, at + 1), args: rest };
}

/** The program of a package that is named as in the registry, with or without a version. */
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
    throw refuseCommandLine("the shell script does more than start the agent: put holdfast run into the script", works);
  }
  const launcher = [...args.slice(0, at + 1), EXEC, words[0] ?? ""];
  return { agent, program, launcher, args: words.slice(1) };
}

/** Where a command may begin. */
const COMMAND = /(^|[;&|(]\s*|\s)((?:[\w./-]*\/)?(?:claude|opencode)(?=\s|$))/;

/** The words of a simple command; null when the shell would do more than split and unquote them. */
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

function refuseCommandLine(why: string, works: string): CommandLineRefused {
  return new CommandLineRefused(`${why}; this works: ${works}`);
}

/** What the command line must contain for the session of a run. */
export interface CommandStart {
  /** The session to resume; null: a new one begins. */
  readonly resume: string | null;
  /** A digest for the agent; null: there is none. */
  readonly digest: string | null;
  /** The standard input is a terminal. */
  readonly isTerminal: boolean;
}

export interface FinalCommand {
  readonly command: AgentCommand;
  /** The session that the agent will work in; null: the agent creates or chooses it. */
  readonly sessionId: string | null;
  /** A text that is written to the agent's standard input first. */
  readonly stdinPrefix: string | null;
}

/** The command that the agent is started with: the user's own, with the session to resume or with a digest. */
export function finalCommand(
  command: AgentCommand,
  purpose: CommandPurpose,
  { resume, digest, isTerminal }: CommandStart,
  environment: Pick<Environment, "random">,
): FinalCommand {
  // A session may also be named by its title. Then the agent finds out which one it is.
  const named =
    purpose.sessionId !== null && isSessionIdOf(command.agent, purpose.sessionId) ? purpose.sessionId : null;
  if (purpose.choosesSession) return { command, sessionId: purpose.forks ? null : named, stdinPrefix: null };
  if (resume !== null) {
    return { command: resumeCommand(command, resume), sessionId: purpose.forks ? null : resume, stdinPrefix: null };
  }
  const sessionId = command.agent === "claude-code" ? newUuid(environment) : null;
  const fresh = sessionId === null ? command : newSessionCommand(command, sessionId);
  if (digest === null) return { command: fresh, sessionId, stdinPrefix: null };
  const withDigest = withPromptPrefix(fresh, digest);
  if (withDigest !== null) return { command: withDigest, sessionId, stdinPrefix: null };
  // A terminal or a stream of JSON messages cannot begin with a text.
  const isNoText = isTerminal || readsJson(command);
  const instructed = isNoText ? withInstructions(fresh, digest) : null;
  return instructed === null
    ? { command: fresh, sessionId, stdinPrefix: digest }
    : { command: instructed, sessionId, stdinPrefix: null };
}

/** A random UUID (version 4). */
function newUuid(environment: Pick<Environment, "random">): string {
  const bytes = environment.random(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
