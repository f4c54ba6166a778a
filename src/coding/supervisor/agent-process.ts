// Runs the process of a coding agent: it gets this process's input, output and signals, as if the user had started it directly, and its
// exit code is reported. The grace time limits all work after the agent's end, or after a signal that asks for the end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { descendantsOf } from "../../core/environment.ts";
import type { AgentCommand } from "./command-line.ts";

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Signals that ask for the end. */
const STOPS: ReadonlySet<string> = new Set(["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"]);

export interface AgentEnd {
  /** As shells report it: 128 plus the signal's number if a signal ended the agent. */
  readonly code: number;
  readonly signal: string | null;
  /** The last signal to this process that asked for the end; null: none did. */
  readonly stoppedBy: NodeJS.Signals | null;
}

export interface AgentProcess {
  readonly ended: Promise<AgentEnd>;
  readonly pid: number;
  /** Sends SIGKILL to the agent and to all processes that it started. */
  kill(): void;
}

/** What the agent gets from this process. */
export interface LaunchContext {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: AsyncIterable<Uint8Array | string> & { readonly isTTY?: boolean; destroy?(): unknown };
}

export interface AgentStartOptions {
  /** A text that is written to the agent's standard input first; null: the agent inherits the input. */
  readonly stdinPrefix: string | null;
  /** Called when a signal asks for the end. */
  readonly onStop?: () => void;
}

export function startAgent(
  command: AgentCommand,
  context: LaunchContext,
  { stdinPrefix, onStop = () => {} }: AgentStartOptions,
): Promise<AgentProcess> {
  const child = spawn(command.program, [...(command.launcher ?? []), ...command.args], {
    cwd: context.cwd,
    env: withoutSession(context.env),
    stdio: [stdinPrefix === null ? "inherit" : "pipe", "inherit", "inherit"],
  });
  let stoppedBy: NodeJS.Signals | null = null;
  const stop = forward(child, context, (signal) => {
    stoppedBy = signal;
    // At a terminal the agent decides what Ctrl-C means.
    if (signal !== "SIGINT" || context.stdin.isTTY !== true) onStop();
  });
  const ended = new Promise<AgentEnd>((resolve) => {
    child.once("exit", (code, signal) => {
      stop();
      resolve({ code: code ?? (signal === null ? 128 : exitCodeOf(signal)), signal, stoppedBy });
    });
  });
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      stop();
      reject(startFailure(command.program, cause));
    });
    child.once("spawn", () => {
      if (stdinPrefix !== null && child.stdin !== null) void feed(child.stdin, stdinPrefix, context, ended);
      const pid = child.pid ?? 0;
      resolve({ ended, pid, kill: () => killTree(pid) });
    });
  });
}

/** The exit code that shells give a program that a signal ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}

function startFailure(program: string, cause: NodeJS.ErrnoException): HoldfastError {
  const where = program.includes("/") ? "there is no such program" : "it is in no directory of PATH";
  const why = cause.code === "ENOENT" ? where : cause.code === "EACCES" ? "it is not executable" : cause.message;
  return new HoldfastError("MissingDependency", `${JSON.stringify(program)} cannot be started: ${why}`, {
    details: { program, code: cause.code },
    hint: "Install it, or give its full path after --.",
    cause,
  });
}

/** AGENT_SESSION_BLOB is a whole conversation, and may be larger than the environment of a program may be. */
function withoutSession(env: LaunchContext["env"]): LaunchContext["env"] {
  const { AGENT_SESSION_BLOB: _, ...rest } = env;
  return rest;
}

function forward(child: ChildProcess, { stdin }: LaunchContext, onStop: (signal: NodeJS.Signals) => void): () => void {
  const listen = (signal: NodeJS.Signals) => {
    // Ctrl-C at a terminal signals every process of the terminal, so the agent has it already. A program that sends SIGINT reaches only
    // this process.
    if (signal !== "SIGINT" || stdin.isTTY !== true) child.kill(signal);
    if (STOPS.has(signal)) onStop(signal);
  };
  for (const signal of FORWARDED) process.on(signal, listen);
  return () => {
    for (const signal of FORWARDED) process.removeListener(signal, listen);
  };
}

/** An agent that npx or a shell started is not a direct child. */
function killTree(pid: number): void {
  for (const one of [...descendantsOf(pid), pid]) {
    try {
      process.kill(one, "SIGKILL");
    } catch {
      // the process has ended
    }
  }
}

async function feed(
  stdin: NodeJS.WritableStream,
  stdinPrefix: string,
  { stdin: input }: LaunchContext,
  ended: Promise<AgentEnd>,
): Promise<void> {
  // The agent may end before it has read everything. Then nothing more is written.
  stdin.on("error", () => {});
  void ended.then(() => input.destroy?.());
  try {
    stdin.write(`${stdinPrefix}\n\n`);
    for await (const piece of input) {
      if (!stdin.write(piece)) await Promise.race([once(stdin, "drain"), ended]);
    }
  } catch {
    // The writer of the input has ended, or the agent has.
  }
  stdin.end();
}

/** This part of the grace time is reserved for saving: an agent that still runs then is killed. */
const SAVING_MS = 3000;
/** How long reading the session may take in addition. */
const LONGEST_PAUSE_MS = 60_000;

/**
 * How long a run may take after the agent has ended, or after a signal asked it to stop. An orchestrator kills a program that does not
 * end in time, and the program could not report what it saved.
 */
export class Grace {
  readonly ms: number;
  readonly #environment: Pick<Environment, "monotonic" | "sleep">;
  readonly #urgent = Promise.withResolvers<void>();
  #deadline = Number.POSITIVE_INFINITY;
  #isUrgent = false;
  #pausedAt: number | null = null;
  #pauseLeft = LONGEST_PAUSE_MS;

  constructor(ms: number, environment: Pick<Environment, "monotonic" | "sleep">) {
    this.ms = ms;
    this.#environment = environment;
  }

  /** The part of the grace time that the agent gets. */
  get agentMs(): number {
    return this.ms - Math.min(SAVING_MS, this.ms / 2);
  }

  /** Call it when a signal arrives: from then on pause() has no effect. Later calls have no effect. */
  beginUrgent(): void {
    if (this.#isUrgent) return;
    this.#begin();
    this.resume();
    this.#deadline = Math.min(this.#deadline, this.#now() + this.ms);
    this.#isUrgent = true;
    this.#urgent.resolve();
  }

  /** Stops the clock while OpenCode's own program reads the session: no orchestrator waits, only the user does. */
  pause(): void {
    if (!this.#isUrgent) this.#pausedAt ??= this.#now();
  }

  resume(): void {
    const took = this.#pausedMs();
    this.#pausedAt = null;
    this.#pauseLeft -= took;
    this.#deadline += took;
  }

  /** Resolves when a signal has arrived and the agent's part of the time is over; never without a signal. */
  async waitForAgentDeadline(signal: AbortSignal): Promise<void> {
    await this.#urgent.promise;
    await this.#environment.sleep(Math.max(0, this.#remainingMs() - (this.ms - this.agentMs)), signal);
  }

  /** Call it when the agent has ended. It resolves when the time is over or the signal aborts. */
  async waitForDeadline(signal: AbortSignal): Promise<void> {
    this.#begin();
    while (!signal.aborted && this.#remainingMs() > 0) {
      await Promise.race([
        this.#environment.sleep(this.#remainingMs(), signal),
        this.#isUrgent ? never : this.#urgent.promise,
      ]);
    }
  }

  #begin(): void {
    this.#deadline = Math.min(this.#deadline, this.#now() + this.ms);
  }

  #remainingMs(): number {
    return this.#deadline + this.#pausedMs() - this.#now();
  }

  #pausedMs(): number {
    return this.#pausedAt === null ? 0 : Math.min(this.#now() - this.#pausedAt, this.#pauseLeft);
  }

  #now(): number {
    return this.#environment.monotonic();
  }
}

const never = new Promise<void>(() => {});
