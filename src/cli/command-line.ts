// What a command is: the text of its help, the options it takes, what it does; and how argv becomes one, with checked arguments.
// main() does the rest: it opens and closes the store, reports failures and returns the exit code. The parser knows all
// options before it knows the command, so an option may come before the command's name. This requires that an option takes a
// value in every command or in none.
import { parseArgs } from "node:util";
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import { didYouMean } from "../core/distance.ts";
import { UsageError } from "./failure.ts";
import type { Io } from "./io.ts";
import { GLOBAL_OPTIONS, type OptionSyntax, type OptionSyntaxes, type Options } from "./option.ts";
import type { Output } from "./output.ts";
import type { CommandOutput, OutputCaptureOptions } from "./output-capture.ts";

interface Operand {
  readonly name: string;
  /** Only the last operand may be given more than once. */
  readonly need: "required" | "optional" | "zero-or-more" | "one-or-more";
}

interface Example {
  readonly command: string;
  readonly does: string;
}

/** What main() needs to parse a command line and to run the command: everything but the help. */
export interface CommandSyntax {
  readonly name: string;
  /** The overview does not list the command. */
  readonly hidden?: boolean;
  /** Other names for the command in its group. */
  readonly aliases?: readonly string[];
  readonly options: OptionSyntaxes;
  readonly operands: readonly Operand[];
  /** The command warns if every user of the machine can read the store's files. */
  readonly warnsOfExposedFiles?: boolean;
  /** The command starts another program: all arguments from the first operand on belong to that program. */
  readonly passesArguments?: boolean;
  /** The operands are a query, in which a minus leaves a word out. */
  readonly takesQuery?: boolean;
  /** The command may open the store with another embedder than the store's. */
  readonly switchesEmbedder?: true;
  /** Returns the exit code; undefined is 0. */
  run(context: Context): Promise<number | undefined>;
}

/** Commands about one noun. The fallback runs if the user names no command of the group. */
export interface GroupSyntax {
  readonly name: string;
  readonly hidden?: boolean;
  readonly commands: readonly CommandSyntax[];
  readonly fallback?: string;
}

export type AnySyntax = CommandSyntax | GroupSyntax;

/** What --help prints about a command. */
interface CommandHelp {
  readonly name: string;
  readonly summary: string;
  /** Usage lines without "holdfast". */
  readonly usage: readonly string[];
  /** What the command does and when to use it, in sentences. */
  readonly description: string;
  readonly examples: readonly Example[];
  /** The commands to use next. */
  readonly next?: string;
}

export interface Command extends CommandSyntax, CommandHelp {
  readonly options: Options;
  /** Help for global options that mean something else in this command. */
  readonly globalOptionHelp?: Readonly<Record<string, string>>;
}

export interface CommandGroup extends GroupSyntax, CommandHelp {
  readonly commands: readonly Command[];
}

export type AnyCommand = Command | CommandGroup;

export interface Context {
  readonly args: Arguments;
  readonly output: Output;
  readonly io: Io;
  /** The store as the user named it, without its password. */
  readonly storeName: string;
  /** Opens the store that the user named; main() closes it. It creates no store unless the options say so. */
  open(options?: OpenOptions): Promise<Holdfast>;
  /** Runs another command of this CLI and returns what it prints. */
  capture(argv: readonly string[], options?: OutputCaptureOptions): Promise<CommandOutput>;
}

export function isGroup<C extends AnySyntax>(command: C): command is Extract<C, GroupSyntax> {
  return "commands" in command;
}

/** The checked arguments of a command. Reading an option that the command does not declare is a bug. */
export class Arguments {
  readonly operands: readonly string[];
  readonly #options: OptionSyntaxes;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(options: OptionSyntaxes, values: ReadonlyMap<string, readonly string[]>, operands: readonly string[]) {
    this.#options = options;
    this.#values = values;
    this.operands = operands;
  }

  /** An operand that the command declares as required. */
  operand(index: number): string {
    const value = this.operands[index];
    if (value === undefined) throw new Error(`operand ${index} is not declared as required`);
    return value;
  }

  flag(name: string): boolean {
    return this.list(name).length > 0;
  }

  /** If the option is given several times, the last value counts. */
  text(name: string): string | undefined {
    return this.list(name).at(-1);
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : Number(value);
  }

  /** The value of an option with these choices; the parser has already refused any other value. */
  choice<C extends string>(name: string, choices: readonly C[]): C | undefined {
    const value = this.text(name);
    return choices.find((one) => one === value);
  }

  list(name: string): readonly string[] {
    if (this.#options[name] === undefined) throw new Error(`option ${name} is not declared`);
    return this.#values.get(name) ?? [];
  }
}

/** Options whose value is an id, which is never empty. */
const ID_OPTIONS: ReadonlySet<string> = new Set(["request", "session-id", "capture"]);

/** A command line that was parsed. The options and operands are not checked against the command yet. */
export interface CommandLine {
  /** The command or group that the user named; undefined: none. */
  readonly named: AnySyntax | undefined;
  /** The command to run; undefined if the user named none, or a group that has no fallback. */
  readonly command: CommandSyntax | undefined;
  /** The command's names as typed, such as "sessions rm". */
  readonly path: string;
  readonly options: readonly TypedOption[];
  readonly operands: readonly string[];
}

/** One option on the command line. */
interface TypedOption {
  readonly name: string;
  /** The option with its dashes, as typed. */
  readonly typed: string;
  readonly value: string | undefined;
  readonly inline: boolean;
}

/** Adds "--" before the arguments of another program if the user left it out. */
export function addSeparator(argv: readonly string[], commands: readonly AnySyntax[]): readonly string[] {
  const { tokens } = parse(argv, allOptions(commands));
  const [name, first] = tokens.filter(({ kind }) => kind !== "option");
  const command = name?.kind === "positional" ? commands.find((one) => one.name === name.value) : undefined;
  if (command === undefined || isGroup(command) || command.passesArguments !== true || first?.kind !== "positional")
    return argv;
  return [...argv.slice(0, first.index), "--", ...argv.slice(first.index)];
}

export function readCommandLine(argv: readonly string[], commands: readonly AnySyntax[]): CommandLine {
  const all = allOptions(commands);
  const { options, words } = tokenize(argv, all);
  // `holdfast help sessions rm` is `holdfast sessions rm --help`, and `holdfast version` is `holdfast --version`.
  const word = (["help", "version"] as const).find((one) => one === words[0]);
  if (word !== undefined) options.push({ name: word, typed: word, value: undefined, inline: false });
  const names = word === undefined ? words : words.slice(1);
  // An unknown option is reported first, because its value would look like the name of a command.
  const unknown = options.find((one) => all[one.name] === undefined);
  if (unknown !== undefined) {
    const named = findCommands(names, commands);
    const last = named.at(-1);
    const path = ["holdfast", ...named.map(({ name }) => name)].join(" ");
    throw unknownOption(unknown, last === undefined ? all : allOptions([last]), path, isQueryCommand(last));
  }
  return findCommand(names, options, commands);
}

/** The command or group that the words begin with, and the command of the group, if they name one. */
function findCommands([name, second]: readonly string[], commands: readonly AnySyntax[]): readonly AnySyntax[] {
  const named = commands.find((command) => command.name === name);
  if (named === undefined) return [];
  const sub = isGroup(named) ? findSubcommand(named, second) : undefined;
  return sub === undefined ? [named] : [named, sub];
}

const READ_HINT =
  "; `holdfast search WORD` finds messages of all sessions, `holdfast messages SESSION` prints a session's messages, " +
  "and `holdfast handover --request ID` prints what a coding agent did";
const CONTINUE_HINT =
  "; `holdfast run --request ID -- claude` continues a coding agent's session, `holdfast handover --request ID` prints what it did";

/** Words that users try as commands, with a hint about the command that does it. */
const RELATED_COMMANDS: Readonly<Record<string, string>> = {
  find: READ_HINT,
  grep: READ_HINT,
  history: READ_HINT,
  chat: READ_HINT,
  continue: CONTINUE_HINT,
  causes: "; `holdfast trace --causes SESSION#SEQ` prints what caused an event",
  tree: "; `holdfast sessions tree` draws sessions with their heads and forks",
  calls: "; `holdfast cost SESSION` adds them up, `holdfast log SESSION --type call/put` lists them",
  turns:
    "; `holdfast log SESSION --type turn/begun` lists where turns begin, `holdfast heads SESSION` where they ended",
  attach: "; a program attaches sessions with invocations.attach(); `holdfast sessions tree` shows attached sessions",
  spawn: "; a program spawns sessions with invocations.spawn(); `holdfast sessions tree` shows spawned sessions",
};

function findCommand(
  names: readonly string[],
  options: readonly TypedOption[],
  commands: readonly AnySyntax[],
): CommandLine {
  const [name, second] = names;
  if (name === undefined) return { named: undefined, command: undefined, path: "", options, operands: [] };
  const named = commands.find((command) => command.name === name);
  if (named === undefined) {
    const known = commands.filter((command) => !command.hidden).map((command) => command.name);
    const guess = RELATED_COMMANDS[name] ?? suggestPlural(names, commands) ?? didYouMean(name, known);
    throw new UsageError(`no command "${name}"${guess === "" ? "; `holdfast --help` lists them" : guess}`);
  }
  if (!isGroup(named)) {
    const meant = suggestPlural(names, commands);
    if (meant !== null) throw new UsageError(`holdfast ${name} has no "${second}"${meant}`);
    return { named, command: named, path: name, options, operands: names.slice(1) };
  }

  const sub = findSubcommand(named, second);
  if (sub !== undefined) return { named, command: sub, path: `${name} ${sub.name}`, options, operands: names.slice(2) };
  const fallback = named.commands.find((command) => command.name === named.fallback);
  const known = named.commands.map((command) => command.name);
  if (second !== undefined && (fallback === undefined || fallback.operands.length === 0)) {
    const guess = didYouMean(second, known) || suggestShow(named, second);
    throw new UsageError(`"${name}" has no "${second}"${guess === "" ? `; it has ${known.join(", ")}` : guess}`);
  }
  return { named, command: fallback, path: name, options, operands: names.slice(1) };
}

function findSubcommand({ commands }: GroupSyntax, name: string | undefined): CommandSyntax | undefined {
  if (name === undefined) return undefined;
  return commands.find((one) => one.name === name) ?? commands.find(({ aliases }) => aliases?.includes(name));
}

/** Suggests `runs show r1` for `run show r1`; null: the plural has no such command. */
function suggestPlural([name, second, ...more]: readonly string[], commands: readonly AnySyntax[]): string | null {
  const group = commands.filter(isGroup).find((one) => one.name === `${name}s`);
  const meant = group === undefined ? undefined : findSubcommand(group, second);
  if (group === undefined || meant === undefined) return null;
  return `; did you mean "holdfast ${[group.name, meant.name, ...more].join(" ")}"?`;
}

/** Suggests `runs show r1` for `runs r1`: a name after a group that lists things is most likely the thing to show. */
function suggestShow(group: GroupSyntax, operand: string): string {
  const shows = group.commands.find(({ name }) => name === "show" || name === "stat");
  return shows === undefined ? "" : `; did you mean "${group.name} ${shows.name} ${operand}"?`;
}

function allOptions(commands: readonly AnySyntax[]): OptionSyntaxes {
  const all: Record<string, OptionSyntax> = { ...GLOBAL_OPTIONS };
  for (const command of commands.flatMap((one) => (isGroup(one) ? one.commands : [one]))) {
    Object.assign(all, command.options);
  }
  return all;
}

function parse(argv: readonly string[], options: OptionSyntaxes) {
  const config = Object.entries(options).map(([name, spec]) => {
    const type = spec.type === "flag" ? ("boolean" as const) : ("string" as const);
    return [name, { type, multiple: true, ...(spec.short === undefined ? {} : { short: spec.short }) }] as const;
  });
  return parseArgs({
    args: [...argv],
    options: Object.fromEntries(config),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
}

function tokenize(argv: readonly string[], known: OptionSyntaxes): { options: TypedOption[]; words: string[] } {
  const { tokens } = parse(argv, known);
  const options: TypedOption[] = [];
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind === "option") {
      options.push({ name: token.name, typed: token.rawName, value: token.value, inline: token.inlineValue === true });
    }
  }
  return { options, words };
}

/** Checks the options and operands against what the command declares. */
export function checkArguments(line: CommandLine, command: CommandSyntax): Arguments {
  const options: OptionSyntaxes = { ...command.options, ...GLOBAL_OPTIONS };
  const values = new Map<string, string[]>();
  for (const one of line.options) {
    const spec = options[one.name];
    if (spec === undefined) throw unknownOption(one, options, `holdfast ${line.path}`, command.takesQuery === true);
    const value = checkValue(one, spec);
    values.set(one.name, [...(values.get(one.name) ?? []), value]);
  }
  checkOperands(line, command);
  return new Arguments(options, values, line.operands);
}

function isQueryCommand(command: AnySyntax | undefined): boolean {
  return command !== undefined && !isGroup(command) && command.takesQuery === true;
}

function unknownOption(one: TypedOption, options: OptionSyntaxes, command: string, takesQuery: boolean): UsageError {
  if (takesQuery && one.name.length === 1) {
    return new UsageError(
      `no option "${one.typed}"; to leave out what has a word, put -- before the query: ${command} -- tea -coffee`,
    );
  }
  const guess = one.name.length === 1 ? "" : didYouMean(one.name, Object.keys(options), "--");
  return new UsageError(`no option "${one.typed}"${guess === "" ? `; see \`${command} --help\`` : guess}`);
}

function checkValue(one: TypedOption, spec: OptionSyntax): string {
  if (spec.type === "flag") {
    if (one.value !== undefined) throw new UsageError(`${one.typed} takes no value`);
    return "";
  }
  const { value } = one;
  if (value === undefined || (!one.inline && value.startsWith("-") && value !== "-")) {
    const dashed = value === undefined ? "" : `; if you mean "${value}", write ${one.typed}=${value}`;
    throw new UsageError(`${one.typed} needs a value${dashed}`);
  }
  if (value === "" && ID_OPTIONS.has(one.name)) {
    throw new UsageError(`${one.typed} is empty: give an ID (is the variable set that you passed?)`);
  }
  if (spec.type === "number") checkNumber(value, one.typed, spec);
  if (spec.choices !== undefined) checkChoice(value, one.typed, spec.choices);
  return value;
}

function checkNumber(value: string, typed: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: OptionSyntax): void {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  throw new UsageError(`${typed} takes a whole number ${range}, not "${value}"`);
}

/** `what` is the option or operand that takes the value. */
export function checkChoice<C extends string>(value: string, what: string, choices: readonly C[]): C {
  const chosen = choices.find((one) => one === value);
  if (chosen !== undefined) return chosen;
  const [last, ...others] = choices.toReversed();
  const all = others.length === 0 ? last : `${others.toReversed().join(", ")} or ${last}`;
  throw new UsageError(`${what} takes ${all}, not "${value}"${didYouMean(value, choices)}`);
}

function checkOperands({ operands, path, named }: CommandLine, command: CommandSyntax): void {
  const missing = command.operands.find(
    (one, i) => (one.need === "required" || one.need === "one-or-more") && i >= operands.length,
  );
  if (missing !== undefined)
    throw new UsageError(`holdfast ${path} needs ${missing.name}; see \`holdfast ${path} --help\``);
  const endless = command.operands.some((one) => one.need === "zero-or-more" || one.need === "one-or-more");
  const extra = endless ? undefined : operands[command.operands.length];
  if (extra === undefined) return;
  throw new UsageError(`unexpected "${extra}"${adviseOnExtra(extra, operands[0] ?? "", path, named, command)}`);
}

function adviseOnExtra(
  extra: string,
  first: string,
  path: string,
  named: AnySyntax | undefined,
  { operands }: CommandSyntax,
): string {
  const group = named !== undefined && isGroup(named) ? named : undefined;
  // If the user named none of the group's commands, the first operand may be a misspelt one.
  const subs = group?.name === path ? group.commands.map(({ name }) => name) : [];
  const guess = didYouMean(first, subs, `${group?.name} `);
  if (guess !== "") return guess;
  if (operands.at(-1)?.name === "TEXT") return "; put quotes around a text with spaces";
  const shown = group === undefined || operands.length > 0 ? "" : suggestShow(group, extra);
  if (shown === "" && subs.length > 0) {
    return `; "${path}" has no command "${first}": it has ${subs.join(", ")}`;
  }
  return shown || `; see \`holdfast ${path} --help\``;
}

export function hasOption(line: CommandLine, option: keyof typeof GLOBAL_OPTIONS): boolean {
  return line.options.some((one) => one.name === option);
}
