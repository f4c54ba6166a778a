// What a command prints: lines for people or one JSON document for programs. Every write waits until the stream has taken it, so
// that a large answer does not pile up in memory. A closed stream throws OutputClosed, any other failure OutputFailed.
import { commandName, installCommand } from "./command-name.ts";
import { OutputClosed, OutputFailed } from "./failure.ts";
import type { Io, OutStream } from "./io.ts";
import type { Frame } from "./table.ts";
import { type Style, safeJson, styleFor, wrapWhole } from "./terminal.ts";

/** The least widths of text and of tables, however narrow the terminal is. */
const NARROWEST = 40;
const NARROWEST_TABLE = 20;

/** Added to a command whose password is hidden: the user must fill it in. */
const FILL_IN = "(replace *** by the password)";
/**
 * A command in backticks, as in wrapWhole. The library's hints say npx, because programs of projects with the package
 * print them.
 */
const COMMAND = /`(?:npx )?holdfast ((?:\\.|'[^']*'|[^`'\\])*)`/gs;

/** A hint of the library that names a package: it is for a program's project. */
const INSTALL = /\bnpm install ([a-z][\w-]*)/g;

export class Output {
  readonly json: boolean;
  readonly style: Style;
  /** Columns of the terminal; infinite for a pipe or a file. */
  readonly width: number;
  readonly interactive: boolean;
  readonly #io: Io;
  readonly #stdout: OutStream;
  readonly #frameWidth: number;
  #errorStream: ErrorStream | undefined;
  #command: string | undefined;
  #progressShown = false;
  #store = "";

  constructor(io: Io, json: boolean) {
    this.json = json;
    this.#io = io;
    this.#stdout = withErrorListener(io.stdout);
    this.style = styleFor(io.stdout, io.env);
    this.interactive = io.stdout.isTTY === true;
    const columns = columnsOf(io.stdout);
    this.width = Math.max(NARROWEST, columns);
    this.#frameWidth = Math.max(NARROWEST_TABLE, columns);
  }

  /** The error stream, created on first use: most commands write no errors. */
  get #errors(): ErrorStream {
    if (this.#errorStream !== undefined) return this.#errorStream;
    const { stderr, env } = this.#io;
    this.#errorStream = {
      stream: withErrorListener(stderr),
      style: styleFor(stderr, env),
      isTerminal: stderr.isTTY === true,
      width: Math.max(NARROWEST, columnsOf(stderr)),
    };
    return this.#errorStream;
  }

  get errorStyle(): Style {
    return this.#errors.style;
  }

  /** How the user starts this CLI, for hints: "holdfast" may not be on the user's PATH. */
  get command(): string {
    this.#command ??= commandName(this.#io);
    return this.#command;
  }

  /** Sets the options that name the store: hints repeat them, so that the next command uses the same store. */
  setStoreOptions(options: string): void {
    this.#store = options;
  }

  /** The options that name the store, as text to append to a command. */
  get storeOptions(): string {
    return this.#store;
  }

  /** A full command that the user can copy. */
  commandLine(words: string): string {
    const isNamed = words.includes(" --store ") || words.includes(this.#store);
    return `${this.command} ${words}${isNamed ? "" : this.#store}`;
  }

  /** Completes the `holdfast …` and `npm install …` commands in a text, so that the user can copy them. */
  withCommands(text: string): string {
    const installing = text.replace(INSTALL, (_, name: string) => installCommand(name, this.#io));
    const copied = installing.replace(COMMAND, (_, words: string) => `\`${this.commandLine(words)}\``);
    const isHidden = copied !== installing && this.#store.includes(":***@") && !copied.includes(FILL_IN);
    return isHidden ? `${copied} ${FILL_IN}` : copied;
  }

  get frame(): Frame {
    return { width: this.#frameWidth, style: this.style };
  }

  /** Prints the command's answer: the value as JSON, or as lines. */
  async answer(value: unknown, lines: () => readonly string[]): Promise<void> {
    if (this.json) await this.document(value);
    else await this.lines(lines());
  }

  async document(value: unknown): Promise<void> {
    await this.bytes(`${safeJson(value, 2)}\n`);
  }

  /** Prints one JSON document per line, for commands that print many. */
  async record(value: unknown): Promise<void> {
    await this.bytes(`${safeJson(value)}\n`);
  }

  async line(text = ""): Promise<void> {
    await this.bytes(`${text}\n`);
  }

  async lines(texts: readonly string[]): Promise<void> {
    if (texts.length > 0) await this.bytes(`${texts.join("\n")}\n`);
  }

  async bytes(chunk: string | Uint8Array): Promise<void> {
    await write(this.#stdout, chunk);
  }

  /** Prints a note for people on stderr, because programs read only stdout. */
  async note(text: string): Promise<void> {
    if (this.json) return;
    for (const line of wrapWhole(this.withCommands(text), this.#errors.width))
      await this.error(this.errorStyle.faint(line));
  }

  /** Prints how to get the next page, if there is one. */
  async noteNextPage(cursor: string | null): Promise<void> {
    if (cursor !== null) await this.note(`more: add --cursor '${cursor}'`);
  }

  /** Prints an error or a hint on stderr, wrapped to the terminal's width and indented under its first words. */
  async complaint(before: string, paint: (text: string) => string, text: string): Promise<void> {
    const [first = "", ...rest] = wrapWhole(text, Math.max(NARROWEST / 2, this.#errors.width - before.length - 1));
    const indent = " ".repeat(/^ */.exec(before)?.[0].length ?? 0);
    await this.error([`${paint(before)} ${first}`, ...rest.map((line) => `${indent}  ${line}`)].join("\n"));
  }

  async error(text: string): Promise<void> {
    await this.clearProgress();
    await write(this.#errors.stream, `${text}\n`).catch(() => {});
  }

  /** Replaces the last progress line; only a terminal shows it. */
  async progress(text: string): Promise<void> {
    if (this.json || !this.#errors.isTerminal) return;
    this.#progressShown = true;
    await write(this.#errors.stream, `\r\x1b[K${this.errorStyle.faint(text)}`).catch(() => {});
  }

  async clearProgress(): Promise<void> {
    if (!this.#progressShown) return;
    this.#progressShown = false;
    await write(this.#errors.stream, "\r\x1b[K").catch(() => {});
  }
}

interface ErrorStream {
  readonly stream: OutStream;
  readonly style: Style;
  readonly isTerminal: boolean;
  readonly width: number;
}

/** write() reports failed writes. Without a listener, Node would also end the process with a stack trace. */
function withErrorListener(stream: OutStream): OutStream {
  stream.on("error", () => {});
  return stream;
}

/** Columns of the terminal; infinite for a pipe or a file. */
function columnsOf({ isTTY, columns = 80 }: OutStream): number {
  return isTTY === true ? columns : Number.POSITIVE_INFINITY;
}

function write(stream: OutStream, chunk: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => {
      if (!error) resolve();
      else reject(isClosed(error) ? new OutputClosed("the reader has closed the output") : outputFailed(error));
    });
  });
}

/** Shortens "ENOSPC: no space left on device, write" to "no space left on device". */
function outputFailed(error: Error): OutputFailed {
  const why = /^E[A-Z0-9]+: ([^,]+)/.exec(error.message)?.[1] ?? error.message;
  return new OutputFailed(`the output cannot be written: ${why}`, { cause: error });
}

function isClosed(error: Error): boolean {
  return "code" in error && ["EPIPE", "ERR_STREAM_DESTROYED", "ECONNRESET"].includes(String(error.code));
}
