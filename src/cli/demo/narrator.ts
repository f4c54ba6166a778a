// Prints the demo: numbered steps, real commands with their real output, and checked claims.
import type { Context } from "../command-line.ts";
import type { CommandOutput } from "../output-capture.ts";
import { type StoreChoice, storeEnvironment } from "../store.ts";
import { quoted, safe, wrap } from "../terminal.ts";

export interface Claim {
  readonly claim: string;
  readonly holds: boolean;
}

const INDENT = "   ";
/** Wider lines are hard to read, however wide the terminal is. */
const WIDEST = 80;

export class Narrator {
  readonly claims: Claim[] = [];
  readonly #context: Context;
  readonly #choice: StoreChoice;
  #steps = 0;
  #lastLine = "";

  constructor(context: Context, choice: StoreChoice) {
    this.#context = context;
    this.#choice = choice;
  }

  /**
   * The options that name the store, for a command that users copy into another terminal. Empty for a store with a
   * password.
   */
  get store(): readonly string[] {
    const { name, blobDirectory } = this.#choice;
    if (name.includes("***")) return [];
    return ["--store", name, ...(blobDirectory === undefined ? [] : ["--blob-dir", blobDirectory])];
  }

  get allHold(): boolean {
    return this.claims.every(({ holds }) => holds);
  }

  async title(text: string): Promise<void> {
    await this.#blank();
    await this.#print([this.#context.output.style.heading(text)]);
  }

  async step(title: string, ...paragraphs: readonly string[]): Promise<void> {
    this.#steps++;
    const heading = this.#context.output.style.heading(`${this.#steps}. ${title}`);
    await this.#blank();
    await this.#print([heading, ...paragraphs.flatMap((text) => this.#wrapped(text))]);
  }

  async say(text: string): Promise<void> {
    await this.#print(this.#wrapped(text));
  }

  /** Prints a command line for the user's own shell. */
  async shell(command: string): Promise<void> {
    await this.#print([this.#prompt(command)]);
  }

  /** Prints commands to try with their descriptions: next to them, or above them if there is no room. */
  async commands(pairs: readonly (readonly [string, string])[]): Promise<void> {
    const lines = pairs.map(([argv, does]) => [`${this.#context.output.command} ${argv}`, does] as const);
    const column = Math.max(...lines.map(([command]) => command.length)) + 2;
    const widest = INDENT.length + column + Math.max(...lines.map(([, does]) => does.length));
    const fitsOneLine = widest <= Math.min(this.#context.output.width, WIDEST);
    await this.#print(
      lines.flatMap(([command, does]) =>
        fitsOneLine ? [`${INDENT}${command.padEnd(column)}${does}`] : [`${INDENT}${does}:`, `${INDENT}  ${command}`],
      ),
    );
  }

  /** Runs a command of this CLI on the demo's store, and shows both. */
  async run(...argv: readonly string[]): Promise<CommandOutput> {
    const { output, io } = this.#context;
    const terminal = output.interactive ? { columns: Math.min(output.width, WIDEST) - INDENT.length - 2 } : {};
    // The environment names the store, so that the printed commands are short and still work.
    const env = { ...io.env, ...storeEnvironment(this.#choice) };
    const captured = await this.#context.capture(argv, { ...terminal, env });
    const lines = (captured.stdout || captured.stderr).trimEnd().split("\n");
    await this.#blank();
    await this.#print([
      this.#prompt(`holdfast ${argv.map(quoted).join(" ")}`),
      ...lines.map((line) => `${INDENT}  ${line}`.trimEnd()),
      "",
    ]);
    return captured;
  }

  /** Prints a checked claim. The demo fails if a claim does not hold. */
  async claim(claim: string, holds: boolean): Promise<void> {
    const { style } = this.#context.output;
    this.claims.push({ claim, holds });
    const mark = holds ? style.good("✓") : style.bad("✗ NOT TRUE:");
    await this.#print([`${INDENT}${mark} ${claim}`]);
  }

  #prompt(command: string): string {
    return `${INDENT}${this.#context.output.style.strong(safe`$ ${command}`)}`;
  }

  /** Prints an empty line, unless the last line is empty already. */
  async #blank(): Promise<void> {
    if (this.#lastLine !== "") await this.#print([""]);
  }

  #wrapped(text: string): string[] {
    return wrap(text, Math.min(this.#context.output.width, WIDEST) - INDENT.length).map((line) => INDENT + line);
  }

  async #print(lines: readonly string[]): Promise<void> {
    this.#lastLine = lines.at(-1) ?? this.#lastLine;
    if (!this.#context.output.json) await this.#context.output.lines(lines);
  }
}
