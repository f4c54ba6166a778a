// A program of the suite in its own process, and the requests that the bench sends to it.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import * as path from "node:path";
import type { Reply, Request } from "./programs/load.ts";

const programs = path.join(import.meta.dirname, "programs");
const ANSWER_TIMEOUT_MS = 120_000;

function launch(name: string, setting: object, folder: string): ChildProcess {
  const log = openSync(logOf(name, folder), "a");
  return fork(path.join(programs, `${name}.ts`), [JSON.stringify(setting)], {
    execArgv: ["--disable-warning=ExperimentalWarning"],
    stdio: ["ignore", log, log, "ipc"],
  });
}

/** The program's output, including errors. */
function logOf(name: string, folder: string): string {
  return path.join(folder, `${name}.log`);
}

export class Program {
  readonly #child: ChildProcess;
  readonly #name: string;

  /** When the program's first step began, by the clock of this process; only if the program reports its steps. */
  readonly firstStep: Promise<number>;

  private constructor(name: string, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
    this.firstStep = this.#wait((reply) => reply.kind === "step").then(() => performance.now());
    this.firstStep.catch(() => {});
  }

  static async start(name: string, setting: object, folder: string): Promise<Program> {
    const program = new Program(name, launch(name, setting, folder));
    try {
      await program.#wait((reply) => reply.kind === "ready");
    } catch (error) {
      await program.kill();
      throw error;
    }
    return program;
  }

  async sequential(forMs: number, steps: number): Promise<readonly number[]> {
    const reply = await this.#ask({ kind: "sequential", forMs, steps });
    return reply.kind === "samples" ? reply.samples : [];
  }

  async concurrent(forMs: number, steps: number, runs: number): Promise<number> {
    const reply = await this.#ask({ kind: "concurrent", forMs, steps, runs });
    return reply.kind === "rate" ? reply.perSecond : Number.NaN;
  }

  /** Begins or continues a run; resolves when it has ended. */
  async execute(run: string, steps: number): Promise<void> {
    await this.#ask({ kind: "once", run, steps });
  }

  /** Resolves when the step with that number, or a later one, begins. */
  async reached(step: number): Promise<void> {
    await this.#wait((reply) => reply.kind === "step" && reply.step >= step);
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.send({ kind: "close" } satisfies Request);
    await exited;
  }

  async #ask(request: Request): Promise<Reply> {
    const answer = this.#wait((reply) => reply.kind !== "step");
    this.#child.send(request);
    return answer;
  }

  #wait(isWanted: (reply: Reply) => boolean): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#child.off("message", onMessage).off("exit", onExit);
        settle();
      };
      const fail = (why: string) => end(() => reject(new Error(`${this.#name}: ${why}`)));
      const onMessage = (reply: Reply) => {
        if (reply.kind === "error") fail(reply.message);
        else if (isWanted(reply)) end(() => resolve(reply));
      };
      const onExit = (code: number | null) => fail(`the process ended with ${code}`);
      const timer = setTimeout(() => fail(`no answer in ${ANSWER_TIMEOUT_MS / 1000} s`), ANSWER_TIMEOUT_MS);
      this.#child.on("message", onMessage).on("exit", onExit);
    });
  }
}

/** Runs a program that does one thing and sends one message. */
export async function runProgram<T>(name: string, setting: object, folder: string): Promise<T> {
  const child = launch(name, setting, folder);
  const sent = once(child, "message");
  const ended = once(child, "exit");
  const first = await Promise.race([sent, ended.then(([code]) => failure(name, code, folder))]);
  if (first instanceof Error) throw first;
  await ended;
  return first[0] as T;
}

function failure(name: string, code: unknown, folder: string): Error {
  return new Error(`${name} ended with ${code}:\n${readFileSync(logOf(name, folder), "utf8").slice(-2000)}`);
}
