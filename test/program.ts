// A program of a user as a process: started, watched, killed and started again.
import { type ChildProcess, spawn } from "node:child_process";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { COMPILED } from "./compiled.ts";

export interface ProgramOptions {
  readonly cwd: string;
  /** On top of a bare environment: nothing of the caller's, but the PATH. */
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** Killed then, because it hangs: no example takes so long, on the busiest machine. */
const DEADLINE_MS = 240_000;

export class Program {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #ended: Promise<number | null>;
  #output = "";
  #errors = "";
  #isOver = false;

  constructor(command: readonly string[], { cwd, env = {}, args = [] }: ProgramOptions) {
    const bare = { PATH: process.env.PATH ?? "", HOME: cwd, LANG: "C.UTF-8", ...COMPILED };
    const flags = [...command, ...args];
    this.#name = flags.map((flag) => path.basename(flag)).join(" ");
    this.#child = spawn(process.execPath, flags, { cwd, env: { ...bare, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    const deadline = setTimeout(() => this.#child.kill("SIGKILL"), DEADLINE_MS);
    this.#ended = new Promise<number | null>((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", resolve);
    }).finally(() => {
      clearTimeout(deadline);
      this.#isOver = true;
    });
    this.#ended.catch(() => undefined);
  }

  /** Standard output so far. */
  get output(): string {
    return this.#output;
  }

  /** Standard output of a program that must end well and complain of nothing. */
  async done(): Promise<string> {
    const code = await this.#ended;
    if (code !== 0 || this.#errors !== "")
      throw new Error(`${this.#name} ended with ${code}:\n${this.#describeOutput()}`);
    return this.#output;
  }

  /** Waits for a moment in the middle. */
  async until(isReached: (output: string) => boolean): Promise<void> {
    while (!isReached(this.#output)) {
      if (this.#isOver) throw new Error(`${this.#name} ended too early:\n${this.#describeOutput()}`);
      await sleep(5);
    }
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.#ended;
  }

  #describeOutput(): string {
    return `${this.#errors}${this.#output}`;
  }
}
