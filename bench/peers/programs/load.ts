// The code that all programs of the peers suite share: it executes workflows of durable steps when the bench asks for them, and reports
// when each step began. A program adds the system that makes the steps durable.
import { setTimeout as sleep } from "node:timers/promises";

export interface System {
  /** Executes a workflow of that many durable steps, each of which awaits `step`; the same id again continues it. */
  execute(run: string, steps: number): Promise<void>;
  close(): Promise<void>;
}

export type Request =
  | { readonly kind: "sequential"; readonly forMs: number; readonly steps: number }
  | { readonly kind: "concurrent"; readonly forMs: number; readonly steps: number; readonly runs: number }
  | { readonly kind: "once"; readonly run: string; readonly steps: number }
  | { readonly kind: "close" };

export type Reply =
  | { readonly kind: "ready" }
  /** Milliseconds from the beginning of each step to that of the next in the same run. */
  | { readonly kind: "samples"; readonly samples: readonly number[] }
  | { readonly kind: "rate"; readonly perSecond: number }
  | { readonly kind: "step"; readonly step: number }
  | { readonly kind: "done" }
  | { readonly kind: "error"; readonly message: string };

const RESULT = "The result of a durable step, as long as a short answer of a tool. ".repeat(3);

/**
 * The options of the recovery bench. It counts from the start of the program, because some systems continue a run
 * before the program asks.
 */
export interface StepReporting {
  /** How long each step takes; every step is reported when it begins. */
  readonly pauseMs?: number;
}

const { pauseMs }: StepReporting = programSetting();
let onStep: (run: string, step: number) => void = (_run, n) => {
  if (pauseMs !== undefined) send({ kind: "step", step: n });
};
let made = 0;

/** The body of a durable step. */
export async function step(run: string, n: number): Promise<string> {
  onStep(run, n);
  if (pauseMs !== undefined) await sleep(pauseMs);
  return RESULT;
}

/** Answers the bench until it says "close" or is gone. */
export function serve(system: System): void {
  process.on("message", (request: Request) => {
    answer(system, request).catch((error: unknown) => {
      send({ kind: "error", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    });
  });
  process.on("disconnect", () => process.exit(0));
  send({ kind: "ready" });
}

async function answer(system: System, request: Request): Promise<void> {
  if (request.kind === "close") {
    await system.close();
    process.exit(0);
  } else if (request.kind === "sequential") send({ kind: "samples", samples: await sequential(system, request) });
  else if (request.kind === "concurrent") send({ kind: "rate", perSecond: await concurrent(system, request) });
  else {
    await system.execute(request.run, request.steps);
    send({ kind: "done" });
  }
}

async function sequential(system: System, { forMs, steps }: { forMs: number; steps: number }): Promise<number[]> {
  const samples: number[] = [];
  let last = 0;
  onStep = (_run, n) => {
    const now = performance.now();
    if (n > 0) samples.push(now - last);
    last = now;
  };
  const deadline = performance.now() + forMs;
  while (performance.now() < deadline) await system.execute(newRun(), steps);
  return samples;
}

async function concurrent(
  system: System,
  { forMs, steps, runs }: { forMs: number; steps: number; runs: number },
): Promise<number> {
  onStep = () => {};
  const start = performance.now();
  let done = 0;
  const workflows = Array.from({ length: runs }, async () => {
    while (performance.now() < start + forMs) {
      await system.execute(newRun(), steps);
      done += steps;
    }
  });
  await Promise.all(workflows);
  return (done / (performance.now() - start)) * 1000;
}

function newRun(): string {
  return `run-${process.pid}-${++made}`;
}

function send(reply: Reply): void {
  process.send?.(reply);
}

/** The options that the bench passed to this program. */
export function programSetting<T>(): T {
  return JSON.parse(process.argv[2] ?? "null") as T;
}
