// What a command is: the text of its help, the options it takes, what it does, and the arguments it gets. main() does the rest: it
// parses the command line, opens and closes the store, reports failures and returns the exit code.
import type { Holdfast, OpenOptions } from "../contracts/holdfast.ts";
import type { Io } from "./io.ts";
import type { OptionSyntaxes, Options } from "./option.ts";
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
