// Runs the agent as if nobody stood in between: its own input and output, the signals that reach us, its exit code.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { HoldfastError } from "../../contracts/errors.ts";
import { descendantsOf } from "../../core/processes.ts";
import type { Io } from "../io.ts";
import type { AgentLine } from "./agent-line.ts";

const CAUGHT = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
/** Those that ask for an end. */
const STOPS: ReadonlySet<string> = new Set(["SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT"]);

export interface Ended {
  /** As a shell tells it: 128 and the signal's number when one ended it. */
  readonly code: number;
  readonly signal: string | null;
  /** The last signal that reached us and asked for the end; null: none did. */
  readonly stoppedBy: NodeJS.Signals | null;
}

export interface Child {
  readonly ended: Promise<Ended>;
  readonly pid: number;
  /** SIGKILL to it and to all that it started. */
  kill(): void;
}

export interface StartOptions {
  /** Words that its standard input begins with. */
  readonly before: string | null;
  /** Called when a signal asks for the end. */
  readonly onStop?: () => void;
}

export function startAgent(line: AgentLine, io: Io, { before, onStop = () => {} }: StartOptions): Promise<Child> {
  const child = spawn(line.program, [...(line.launcher ?? []), ...line.args], {
    ...{ cwd: io.cwd, env: withoutSession(io.env) },
    stdio: [before === null ? "inherit" : "pipe", "inherit", "inherit"],
  });
  let stoppedBy: NodeJS.Signals | null = null;
  const stop = forward(child, io, (signal) => {
    stoppedBy = signal;
    // Ctrl-C at a terminal is the agent's to understand.
    if (signal !== "SIGINT" || io.stdin.isTTY !== true) onStop();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once("exit", (code, signal) => {
      stop();
      resolve({ code: code ?? (signal === null ? 128 : exitCodeOf(signal)), signal, stoppedBy });
    });
  });
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      stop();
      reject(notStarted(line.program, cause));
    });
    child.once("spawn", () => {
      if (before !== null && child.stdin !== null) void feed(child.stdin, before, io, ended);
      const pid = child.pid ?? 0;
      resolve({ ended, pid, kill: () => killTree(pid) });
    });
  });
}

/** As shells tell that a signal ended a program. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + (constants.signals[signal] ?? 0);
}

function notStarted(program: string, cause: NodeJS.ErrnoException): HoldfastError {
  const where = program.includes("/") ? "there is no such program" : "it is in no directory of PATH";
  const why = cause.code === "ENOENT" ? where : cause.code === "EACCES" ? "it is not executable" : cause.message;
  return new HoldfastError("MissingDependency", `${JSON.stringify(program)} cannot be started: ${why}`, {
    details: { program, code: cause.code },
    hint: "Install it, or give its whole path after --.",
    cause,
  });
}

/** What was handed over is a whole conversation, and may be larger than a program's environment may be. */
function withoutSession(env: Io["env"]): Io["env"] {
  const { AGENT_SESSION_BLOB: _, ...rest } = env;
  return rest;
}

function forward(child: ChildProcess, io: Io, onStop: (signal: NodeJS.Signals) => void): () => void {
  const listen = (signal: NodeJS.Signals) => {
    // Ctrl-C reaches everybody in front of the terminal, and an agent may take it for the end of a turn; sent by a program it
    // reaches us alone.
    if (signal !== "SIGINT" || io.stdin.isTTY !== true) child.kill(signal);
    if (STOPS.has(signal)) onStop(signal);
  };
  for (const signal of CAUGHT) process.on(signal, listen);
  return () => {
    for (const signal of CAUGHT) process.removeListener(signal, listen);
  };
}

/** An agent that was started by npx or a shell is not our own child. */
function killTree(pid: number): void {
  for (const one of [...descendantsOf(pid), pid]) {
    try {
      process.kill(one, "SIGKILL");
    } catch {
      // it is gone
    }
  }
}

async function feed(stdin: NodeJS.WritableStream, before: string, io: Io, ended: Promise<Ended>): Promise<void> {
  // It may end before it has read all: that is its own business, and nobody waits for more then.
  stdin.on("error", () => {});
  void ended.then(() => io.stdin.destroy?.());
  try {
    stdin.write(`${before}\n\n`);
    for await (const piece of io.stdin) {
      if (!stdin.write(piece)) await Promise.race([once(stdin, "drain"), ended]);
    }
  } catch {
    // Whoever wrote to us went away, or the agent did.
  }
  stdin.end();
}
