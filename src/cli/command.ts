// What a command is: enough words to teach it, the options it takes, and what it does. main() owns the rest: parsing,
// opening and closing the store, telling failures, exit codes.
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { Arguments } from "./arguments.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import type { CommandOutput, OutputCaptureOptions } from "./output-capture.ts";

/** How an option is written. */
export interface OptionSyntax {
  /** flag takes no value; list may be given several times. */
  readonly type: "flag" | "text" | "number" | "list";
  readonly short?: string;
  readonly min?: number;
  readonly max?: number;
}

export interface OptionSpec extends OptionSyntax {
  readonly summary: string;
  /** What the value is called in --help. */
  readonly value?: string;
}

export type Options = Readonly<Record<string, OptionSpec>>;

export interface Operand {
  readonly name: string;
  /** one: must be there; optional: may be; any: none or more; some: at least one. The last two only at the end. */
  readonly need: "one" | "optional" | "any" | "some";
}

export interface Example {
  readonly command: string;
  readonly does: string;
}

/** What it takes to read a command line and to run the command, without the words that teach it. */
export interface CommandSyntax {
  readonly name: string;
  /** Not shown in the overview. */
  readonly hidden?: boolean;
  /** Other words for it, inside a group. */
  readonly aliases?: readonly string[];
  readonly options: Readonly<Record<string, OptionSyntax>>;
  readonly operands: readonly Operand[];
  /** Tells when every user of the machine can read the store's files. */
  readonly tellsExposure?: boolean;
  /** From its first operand on, what follows is another command's: none of it is an option of ours. */
  readonly rest?: boolean;
  /** Answers with the exit code; nothing means 0. */
  run(context: Context): Promise<number | undefined>;
}

/** Commands about one noun; the fallback is meant when none is named. */
export interface GroupSyntax {
  readonly name: string;
  readonly hidden?: boolean;
  readonly commands: readonly CommandSyntax[];
  readonly fallback?: string;
}

export type AnySyntax = CommandSyntax | GroupSyntax;

interface Lesson {
  readonly name: string;
  readonly summary: string;
  /** Without "holdfast". */
  readonly usage: readonly string[];
  /** What it is for, in sentences. */
  readonly description: string;
  readonly examples: readonly Example[];
  /** What to do next. */
  readonly next?: string;
}

export interface Command extends CommandSyntax, Lesson {
  readonly options: Options;
  /** What an option of every command does here, where that is something else. */
  readonly means?: Readonly<Record<string, string>>;
}

export interface CommandGroup extends GroupSyntax, Lesson {
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
  /** Opens the store the user named; main closes it. Creates nothing unless told to. */
  open(options?: OpenOptions): Promise<Holdfast>;
  /** Runs another command of this CLI and keeps what it prints. */
  capture(argv: readonly string[], options?: OutputCaptureOptions): Promise<CommandOutput>;
}
