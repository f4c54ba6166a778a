// From argv to a command and its checked arguments. All options are known before the command is, so they may stand
// before its name; the price is that an option takes a value in every command or in none (and has one short form).
import { parseArgs } from "node:util";
import { didYouMean } from "../core/distance.ts";
import {
  type AnySyntax,
  type CommandSyntax,
  type GroupSyntax,
  isGroup,
  type OptionSyntax,
  type Options,
} from "./command.ts";
import { UsageError } from "./failure.ts";

export const GLOBAL_OPTIONS = {
  store: {
    type: "text",
    value: "URL",
    summary: "the store: a file or postgres://…  (default $HOLDFAST_STORE, else ./holdfast.db)",
  },
  "blob-dir": {
    type: "text",
    value: "DIR",
    summary: "where blob bytes live, for a store that keeps them in files  (default $HOLDFAST_BLOB_DIR)",
  },
  json: { type: "flag", summary: "print one JSON document; errors are JSON on stderr" },
  help: { type: "flag", short: "h", summary: "explain the command" },
  version: { type: "flag", short: "v", summary: "print the version" },
} as const satisfies Options;

/** Options whose value names one thing. Nothing has an empty name. */
const IDS: ReadonlySet<string> = new Set(["request", "session-id", "capture"]);

type Syntaxes = Readonly<Record<string, OptionSyntax>>;

/** What the user asked for, before the command's own rules are applied. */
export interface Request {
  /** The command or group named; undefined when none was. */
  readonly named: AnySyntax | undefined;
  /** What to run; undefined when none was named, or a group that has no fallback. */
  readonly command: CommandSyntax | undefined;
  /** As typed: "sessions rm". */
  readonly path: string;
  readonly given: readonly Given[];
  readonly operands: readonly string[];
}

interface Given {
  readonly name: string;
  /** With its dashes, as typed. */
  readonly typed: string;
  readonly value: string | undefined;
  readonly inline: boolean;
}

/** With a "--" before what is another command's, where the user left it out. */
export function withRest(argv: readonly string[], commands: readonly AnySyntax[]): readonly string[] {
  const { tokens } = parse(argv, allOptions(commands));
  const [name, first] = tokens.filter(({ kind }) => kind !== "option");
  const command = name?.kind === "positional" ? commands.find((one) => one.name === name.value) : undefined;
  if (command === undefined || isGroup(command) || command.rest !== true || first?.kind !== "positional") return argv;
  return [...argv.slice(0, first.index), "--", ...argv.slice(first.index)];
}

export function readRequest(argv: readonly string[], commands: readonly AnySyntax[]): Request {
  const all = allOptions(commands);
  const { given, words } = tokenize(argv, all);
  // `holdfast help sessions rm` is `holdfast sessions rm --help`, and `holdfast version` is `holdfast --version`.
  const word = (["help", "version"] as const).find((one) => one === words[0]);
  if (word !== undefined) given.push({ name: word, typed: word, value: undefined, inline: false });
  const names = word === undefined ? words : words.slice(1);
  // Told first: the value of an option nobody knows looks like the name of a command.
  const stranger = given.find((one) => all[one.name] === undefined);
  if (stranger !== undefined) {
    const meant = commandsNamed(names, commands);
    const last = meant.at(-1);
    const path = ["holdfast", ...meant.map(({ name }) => name)].join(" ");
    throw unknownOption(stranger, last === undefined ? all : allOptions([last]), path);
  }
  return resolve(names, given, commands);
}

/** The command or group that the words begin with, and the command of the group, if they name one. */
function commandsNamed([name, second]: readonly string[], commands: readonly AnySyntax[]): readonly AnySyntax[] {
  const named = commands.find((command) => command.name === name);
  if (named === undefined) return [];
  const sub = isGroup(named) ? subcommandOf(named, second) : undefined;
  return sub === undefined ? [named] : [named, sub];
}

const READING =
  "; `holdfast messages SESSION` prints what was said, `holdfast handover --request ID` what a coding agent did, and " +
  "`holdfast query` asks about all sessions";
const GOING_ON =
  "; `holdfast run --request ID -- claude` goes on with a coding agent's session, `holdfast handover --request ID` tells what it did";

/** What people look for under a name of its own. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ...{ search: READING, find: READING, grep: READING, history: READING, chat: READING },
  continue: GOING_ON,
  causes: "; `holdfast trace --causes SESSION#SEQ` tells what led to an event",
  tree: "; `holdfast sessions tree` draws sessions with their heads and forks",
  calls: "; `holdfast cost SESSION` sums them up, `holdfast log SESSION --type call/put` lists them",
  turns: "; `holdfast log SESSION --type turn/begun` lists where they begin, `holdfast heads SESSION` where they ended",
  attach:
    "; sessions are attached by the library, invocations.attach(); `holdfast sessions tree` shows what was attached",
  spawn: "; sessions are spawned by the library, invocations.spawn(); `holdfast sessions tree` shows what was spawned",
};

function resolve(names: readonly string[], given: readonly Given[], commands: readonly AnySyntax[]): Request {
  const [name, second] = names;
  if (name === undefined) return { named: undefined, command: undefined, path: "", given, operands: [] };
  const named = commands.find((command) => command.name === name);
  if (named === undefined) {
    const known = commands.filter((command) => !command.hidden).map((command) => command.name);
    const guess = ELSEWHERE[name] ?? pluralInstead(names, commands) ?? didYouMean(name, known);
    throw new UsageError(`no command "${name}"${guess === "" ? "; `holdfast --help` lists them" : guess}`);
  }
  if (!isGroup(named)) {
    const meant = pluralInstead(names, commands);
    if (meant !== null) throw new UsageError(`holdfast ${name} has no "${second}"${meant}`);
    return { named, command: named, path: name, given, operands: names.slice(1) };
  }

  const sub = subcommandOf(named, second);
  if (sub !== undefined) return { named, command: sub, path: `${name} ${sub.name}`, given, operands: names.slice(2) };
  const fallback = named.commands.find((command) => command.name === named.fallback);
  const known = named.commands.map((command) => command.name);
  if (second !== undefined && (fallback === undefined || fallback.operands.length === 0)) {
    const guess = didYouMean(second, known) || showInstead(named, second);
    throw new UsageError(`"${name}" has no "${second}"${guess === "" ? `; it has ${known.join(", ")}` : guess}`);
  }
  return { named, command: fallback, path: name, given, operands: names.slice(1) };
}

function subcommandOf({ commands }: GroupSyntax, name: string | undefined): CommandSyntax | undefined {
  if (name === undefined) return undefined;
  return commands.find((one) => one.name === name) ?? commands.find(({ aliases }) => aliases?.includes(name));
}

/** `run show r1` is most likely `runs show r1`; null: the plural has no such command. */
function pluralInstead([name, second, ...more]: readonly string[], commands: readonly AnySyntax[]): string | null {
  const group = commands.filter(isGroup).find((one) => one.name === `${name}s`);
  const meant = group === undefined ? undefined : subcommandOf(group, second);
  if (group === undefined || meant === undefined) return null;
  return `; did you mean "holdfast ${[group.name, meant.name, ...more].join(" ")}"?`;
}

/** A name where a list was asked for is most likely that of the thing to show. */
function showInstead(group: GroupSyntax, operand: string): string {
  const shows = group.commands.find(({ name }) => name === "show" || name === "stat");
  return shows === undefined ? "" : `; did you mean "${group.name} ${shows.name} ${operand}"?`;
}

function allOptions(commands: readonly AnySyntax[]): Syntaxes {
  const all: Record<string, OptionSyntax> = { ...GLOBAL_OPTIONS };
  for (const command of commands.flatMap((one) => (isGroup(one) ? one.commands : [one]))) {
    Object.assign(all, command.options);
  }
  return all;
}

function parse(argv: readonly string[], options: Syntaxes) {
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

function tokenize(argv: readonly string[], options: Syntaxes): { given: Given[]; words: string[] } {
  const { tokens } = parse(argv, options);
  const given: Given[] = [];
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind === "option") {
      given.push({ name: token.name, typed: token.rawName, value: token.value, inline: token.inlineValue === true });
    }
  }
  return { given, words };
}

/** Applies the command's own rules to what was given. */
export function checkArguments(request: Request, command: CommandSyntax): Arguments {
  const options: Syntaxes = { ...command.options, ...GLOBAL_OPTIONS };
  const values = new Map<string, string[]>();
  for (const one of request.given) {
    const spec = options[one.name];
    if (spec === undefined) throw unknownOption(one, options, `holdfast ${request.path}`);
    const value = checkValue(one, spec);
    values.set(one.name, [...(values.get(one.name) ?? []), value]);
  }
  checkOperands(request, command);
  return new Arguments(options, values, request.operands);
}

function unknownOption(one: Given, options: Syntaxes, command: string): UsageError {
  const guess = one.name.length === 1 ? "" : didYouMean(one.name, Object.keys(options), "--");
  return new UsageError(`no option "${one.typed}"${guess === "" ? `; see \`${command} --help\`` : guess}`);
}

function checkValue(one: Given, spec: OptionSyntax): string {
  if (spec.type === "flag") {
    if (one.value !== undefined) throw new UsageError(`${one.typed} takes no value`);
    return "";
  }
  const { value } = one;
  if (value === undefined || (!one.inline && value.startsWith("-") && value !== "-")) {
    const dashed = value === undefined ? "" : `; if you mean "${value}", write ${one.typed}=${value}`;
    throw new UsageError(`${one.typed} needs a value${dashed}`);
  }
  if (value === "" && IDS.has(one.name)) {
    throw new UsageError(`${one.typed} is empty: give an ID (is the variable that it came from set?)`);
  }
  if (spec.type === "number") checkNumber(value, one.typed, spec);
  return value;
}

function checkNumber(value: string, typed: string, { min = 0, max = Number.MAX_SAFE_INTEGER }: OptionSyntax): void {
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return;
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  throw new UsageError(`${typed} takes a whole number ${range}, not "${value}"`);
}

function checkOperands({ operands, path, named }: Request, command: CommandSyntax): void {
  const missing = command.operands.find(
    (one, i) => (one.need === "one" || one.need === "some") && i >= operands.length,
  );
  if (missing !== undefined)
    throw new UsageError(`holdfast ${path} needs ${missing.name}; see \`holdfast ${path} --help\``);
  const endless = command.operands.some((one) => one.need === "any" || one.need === "some");
  const extra = endless ? undefined : operands[command.operands.length];
  if (extra === undefined) return;
  throw new UsageError(`unexpected "${extra}"${adviceFor(extra, operands[0] ?? "", path, named, command)}`);
}

function adviceFor(
  extra: string,
  first: string,
  path: string,
  named: AnySyntax | undefined,
  { operands }: CommandSyntax,
): string {
  const group = named !== undefined && isGroup(named) ? named : undefined;
  // Only where none of its commands was named: then the first word may be a slip of one.
  const subs = group?.name === path ? group.commands.map(({ name }) => name) : [];
  const guess = didYouMean(first, subs, `${group?.name} `);
  if (guess !== "") return guess;
  if (operands.at(-1)?.name === "TEXT") return "; quote a text that holds spaces";
  const shown = group === undefined || operands.length > 0 ? "" : showInstead(group, extra);
  return shown || `; see \`holdfast ${path} --help\``;
}

/** What a command was given. Asking for an option it did not declare is a bug. */
export class Arguments {
  readonly operands: readonly string[];
  readonly #options: Syntaxes;
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(options: Syntaxes, values: ReadonlyMap<string, readonly string[]>, operands: readonly string[]) {
    this.#options = options;
    this.#values = values;
    this.operands = operands;
  }

  /** An operand that checkOperands made sure of. */
  operand(index: number): string {
    const value = this.operands[index];
    if (value === undefined) throw new Error(`operand ${index} is not declared as needed`);
    return value;
  }

  flag(name: string): boolean {
    return this.list(name).length > 0;
  }

  /** The last one given wins. */
  text(name: string): string | undefined {
    return this.list(name).at(-1);
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : Number(value);
  }

  list(name: string): readonly string[] {
    if (this.#options[name] === undefined) throw new Error(`option ${name} is not declared`);
    return this.#values.get(name) ?? [];
  }
}

export function wants(request: Request, option: keyof typeof GLOBAL_OPTIONS): boolean {
  return request.given.some((one) => one.name === option);
}
