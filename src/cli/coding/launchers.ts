// Programs that start a coding agent: npx and its like, and shells. The agent's own arguments are found behind them, so that a
// session flag can be added there. What cannot be understood is refused, with the line that works.
import { quoteArgument } from "../../core/shell.ts";
import { UsageError } from "../failure.ts";
import { type AgentLine, agentOf } from "./agent-line.ts";

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

/** `given`: the options of `holdfast run` as they were given, for the line that works. */
export function readAgentLine(words: readonly string[], given: string): AgentLine {
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
  throw new UsageError(
    `${JSON.stringify(program)} is no agent that is known: give claude … or opencode … after --, also as npx claude … ` +
      'or bash -c "claude …"',
  );
}

function throughRunner(program: string, name: string, args: readonly string[], given: string): AgentLine | null {
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

function throughShell(program: string, args: readonly string[], given: string): AgentLine | null {
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

function refused(why: string, works: string): UsageError {
  return new UsageError(`${why}; this works: ${works}`);
}
