// Real processes for the tests of this folder. A child prints one line per thing it knows to be true, with a
// synchronous write, so that what it said is known here even when it is killed in the next moment.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import * as path from "node:path";
import { COMPILED } from "../compiled.ts";

/** A script of this folder, and what it is told (as JSON, in its first argument). */
export interface Start {
  readonly script: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Called at once for every line. */
  readonly onLine?: (line: string) => void;
  /** A program that runs the child, such as strace with its flags. */
  readonly under?: readonly string[];
  /** Run as this user; needs root. */
  readonly uid?: number;
}

export interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

export class Child {
  readonly lines: string[] = [];
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<End>;
  readonly #waiting = new Set<() => void>();
  #taken = 0;
  #over = false;
  #errors = "";

  /** `cache` keeps the compiled code of children: starting one takes half the time with it. */
  constructor({ script, args, onLine, under = [], uid }: Start, cache: string) {
    const argv = [process.execPath, path.join(import.meta.dirname, script), JSON.stringify(args)];
    const [program = "", ...flags] = [...under, ...argv];
    const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_|VITEST)/.test(name));
    this.#process = spawn(program, flags, {
      stdio: "pipe",
      env: { ...Object.fromEntries(inherited), ...(uid === undefined ? { NODE_COMPILE_CACHE: cache } : {}) },
      ...(uid === undefined ? {} : { uid, gid: uid }),
    });
    this.#process.stdin.on("error", () => undefined);
    let unread = "";
    this.#process.stdout.setEncoding("utf8").on("data", (text: string) => {
      const parts = (unread + text).split("\n");
      unread = parts.pop() ?? "";
      for (const line of parts) {
        this.lines.push(line);
        onLine?.(line);
      }
      this.#wake();
    });
    this.#process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    // "close" comes after the last of its output.
    this.#ended = once(this.#process, "close").then(([code, signal]: unknown[]) => {
      this.#over = true;
      this.#wake();
      return { code: typeof code === "number" ? code : null, signal: typeof signal === "string" ? signal : null };
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#over;
  }

  get errors(): string {
    return this.#errors;
  }

  say(line: string): void {
    this.#process.stdin.write(`${line}\n`);
  }

  /** The rest of the next line that begins with this word; lines before it are passed over. */
  async heard(word: string): Promise<string> {
    for (;;) {
      while (this.#taken < this.lines.length) {
        const line = this.lines[this.#taken++] ?? "";
        if (line === word || line.startsWith(`${word} `)) return line.slice(word.length + 1);
      }
      if (this.#over)
        throw new Error(`the child ended without saying "${word}": ${this.#errors || this.lines.join("\n")}`);
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  /** Such as SIGSTOP and SIGCONT. */
  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** kill -9, and waits until the process is gone and all it said has been read. */
  async kill(): Promise<End> {
    this.#process.kill("SIGKILL");
    return this.#ended;
  }

  /** Waits for its own end, which must be a good one. */
  async done(): Promise<void> {
    const { code, signal } = await this.#ended;
    if (code !== 0)
      throw new Error(`the child ended with ${code ?? signal}: ${this.#errors}\n${this.lines.at(-1) ?? ""}`);
  }

  ended(): Promise<End> {
    return this.#ended;
  }
}

/** Children of one test file: whatever a failed test left running ends with it. */
export class Children {
  readonly #all: Child[] = [];
  readonly #cache: string;

  /** The caller removes `folder`. */
  constructor(folder: string) {
    this.#cache = COMPILED.NODE_COMPILE_CACHE ?? path.join(folder, "compiled");
  }

  start(start: Start): Child {
    const child = new Child(start, this.#cache);
    this.#all.push(child);
    return child;
  }

  async end(): Promise<void> {
    await Promise.all(this.#all.splice(0).map((child) => child.kill()));
  }
}
