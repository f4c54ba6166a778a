// What a command is: the text of its help, the options it takes, and what it does. main() does the rest: it parses the
// command line, opens and closes the store, reports failures and returns the exit code.
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import type { OptionSyntaxes, Options } from "./option.ts";
import type { Output } from "./output.ts";
import type { CommandOutput, OutputCaptureOptions } from "./output-capture.ts";

interface Operand {
  readonly name: string;
  /**
   * one: required; optional: may be left out; any: none or more; some: at least one. Only the last operand may be any
   * or some.
   */
  readonly need: "one" | "optional" | "any" | "some";
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

export function isGroup<C extends AnySyntax>(command: C): command is Extract<C, GroupSyntax> {
  return "commands" in command;
}

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
