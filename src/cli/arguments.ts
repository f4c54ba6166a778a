// The arguments of one command, after the command line was read and checked.
import type { OptionSyntaxes } from "./option.ts";

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
