// The text of --help: the purpose of a command, its usage, examples that run, and the next commands.
import { type AnyCommand, type Command, isGroup } from "./command-line.ts";
import { EXIT_MEANINGS } from "./exit.ts";
import { GLOBAL_OPTIONS, type Options } from "./option.ts";
import type { Frame } from "./table.ts";
import { padEnd, wrap } from "./terminal.ts";

/** Wider lines are hard to read, however wide the terminal is. */
const WIDEST = 80;
const NARROWEST = 40;
const NO_BREAK = "\u00a0";

const OVERVIEW = "Holdfast: the durable state store for AI agents. Agent state that survives.";

export interface Section {
  readonly title: string;
  readonly commands: readonly AnyCommand[];
}

export function overview(sections: readonly Section[], frame: Frame): string[] {
  const { style } = frame;
  const names = sections.flatMap(({ commands }) => commands.map(({ name }) => name.length));
  const width = Math.max(...names) + 2;
  const groups = sections.flatMap(({ title, commands }) => [
    style.heading(title),
    ...commands.flatMap(({ name, summary }) => entry(name, summary, width, frame)),
    "",
  ]);
  return [
    ...wrap(OVERVIEW, textWidth(frame)).map((line) => line.replace(/^Holdfast/, style.heading)),
    "",
    "Usage: holdfast COMMAND [options]",
    "",
    ...groups,
    ...optionLines("Options of every command", GLOBAL_OPTIONS, frame),
    style.heading("Exit codes"),
    ...EXIT_MEANINGS.flatMap(([code, meaning]) => entry(String(code), meaning, 4, frame)),
    "",
    style.heading("Try"),
    "  holdfast demo              watch an agent survive kill -9",
    "  holdfast init              create ./holdfast.db",
    "  holdfast COMMAND --help    learn a command",
  ];
}

export function commandHelp(command: AnyCommand, path: string, frame: Frame): string[] {
  const { style } = frame;
  const width = textWidth(frame);
  const examples = command.examples.flatMap((example) => [
    `  ${style.faint("$")} ${example.command}`,
    ...wrap(example.does, width - 6).map((line) => `      ${style.faint(line)}`),
  ]);
  return [
    ...wrap(`${path}: ${command.summary}`, width).map(style.heading),
    "",
    style.heading("Usage"),
    ...command.usage.flatMap((usage) => usageLines(usage, width)),
    ...aliasLines(command),
    "",
    ...wrap(command.description, width),
    "",
    ...(isGroup(command) ? groupLines(command.commands, frame) : optionLines("Options", command.options, frame)),
    ...optionLines("Options of every command", globalOptions(command), frame),
    style.heading("Examples"),
    ...examples,
    ...(command.next === undefined ? [] : ["", style.heading("Next"), ...indented(command.next, frame)]),
  ];
}

/** The global options, with their meaning in this command. */
function globalOptions(command: AnyCommand): Options {
  const overrides = isGroup(command) ? undefined : command.globalOptionHelp;
  const options = Object.entries(GLOBAL_OPTIONS).map(([name, spec]) => {
    return [name, { ...spec, summary: overrides?.[name] ?? spec.summary }] as const;
  });
  return Object.fromEntries(options);
}

/** Breaks the usage between words, and inside brackets only if necessary. */
function usageLines(usage: string, width: number): string[] {
  const whole = usage.replace(/\[[^[\]]*\]/g, (option) => option.replaceAll(" ", NO_BREAK));
  return wrap(`holdfast ${whole}`, width - 6).map((line, i) => {
    return `${i === 0 ? "  " : "      "}${line.replaceAll(NO_BREAK, " ")}`;
  });
}

function aliasLines(command: AnyCommand): string[] {
  if (isGroup(command) || command.aliases === undefined) return [];
  return [`  (${command.aliases.join(" and ")} ${command.aliases.length === 1 ? "means" : "mean"} ${command.name})`];
}

function groupLines(commands: readonly Command[], frame: Frame): string[] {
  const named = commands.map((command) => [[command.name, ...(command.aliases ?? [])].join(", "), command] as const);
  const width = Math.max(...named.map(([names]) => names.length)) + 2;
  return [
    frame.style.heading("Commands"),
    ...named.flatMap(([names, { summary }]) => entry(names, summary, width, frame)),
    "",
    ...commands.flatMap(({ name, options }) => optionLines(`Options of ${name}`, options, frame)),
  ];
}

function optionLines(title: string, options: Options, frame: Frame): string[] {
  const labelled = Object.entries(options).map(([name, spec]) => {
    const short = spec.short === undefined ? "" : `-${spec.short}, `;
    const value = spec.type === "flag" ? "" : ` ${spec.value ?? (spec.type === "number" ? "N" : "TEXT")}`;
    const many = spec.type === "list" ? " (may be repeated)" : "";
    return { label: `${short}--${name}${value}`, summary: spec.summary + many };
  });
  if (labelled.length === 0) return [];
  const width = Math.max(...labelled.map(({ label }) => label.length)) + 2;
  return [
    frame.style.heading(title),
    ...labelled.flatMap(({ label, summary }) => entry(label, summary, width, frame)),
    "",
  ];
}

function entry(label: string, text: string, labelWidth: number, frame: Frame): string[] {
  const lines = wrap(text, textWidth(frame) - labelWidth - 2);
  return lines.map((line, i) => `  ${frame.style.name(padEnd(i === 0 ? label : "", labelWidth))}${line}`);
}

function indented(text: string, frame: Frame): string[] {
  return wrap(text, textWidth(frame) - 2).map((line) => `  ${line}`);
}

function textWidth(frame: Frame): number {
  return Math.max(NARROWEST, Math.min(frame.width, WIDEST));
}

/** The document of `--help --json`, for programs. */
export function describeCommand(command: AnyCommand): Record<string, unknown> {
  const { name, summary, usage, description, examples } = command;
  const document = { name, summary, usage: usage.map((line) => `holdfast ${line}`), description, examples };
  if (isGroup(command)) return { ...document, commands: command.commands.map(describeCommand) };
  const { aliases = [], operands, options } = command;
  return { ...document, aliases, operands, options };
}
