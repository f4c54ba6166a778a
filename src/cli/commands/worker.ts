// holdfast worker: claims runs and executes them until a signal stops it.
import type { Captures, CapturesRemoved } from "../../contracts/captures.ts";
import type { Run } from "../../contracts/run-record.ts";
import { WORKER_OPTIONS } from "../../contracts/verbs/runs.ts";
import type { Worker, WorkerNote } from "../../contracts/workers.ts";
import { realEnvironment } from "../../core/environment.ts";
import { AGENTS_HELP, ERASED_OPTION, loadAgents, readErased } from "../agents.ts";
import { sweptWords } from "../captures/tables.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import type { Io } from "../io.ts";
import { numberOption } from "../option.ts";
import { describeReason } from "../runs.ts";
import { safe, safeLine } from "../terminal.ts";
import { formatSpan, formatTime, parseDuration, parseDurationOrNever, plural } from "../units.ts";

const HOUR_MS = 3_600_000;
const LEAST_SWEEP_MS = 1000;
/** The longest time that a timer can wait. */
const MOST_SWEEP_MS = 24 * 24 * HOUR_MS;

const { concurrency: CONCURRENCY, pollMs: POLL_MS } = WORKER_OPTIONS.fields;

export const worker: Command = {
  name: "worker",
  summary: "execute runs of your agents until a signal stops it",
  usage: [
    "worker --agents FILE… [--concurrency N] [--poll MS] [--grace TIME] [--sweep TIME] [--allow-mismatch] [--erased RULE]",
  ],
  description:
    "Claims runs that can continue, executes several at a time, continues them at their timers and signals, and takes over runs whose " +
    "worker is gone, on any machine that shares the store. " +
    "At the start and every hour it deletes expired captures and prints their number. " +
    `${AGENTS_HELP} It prints a line for each run ` +
    "that it claims or releases (--json: one document per line). SIGTERM or Ctrl-C drains it: it claims nothing new, lets " +
    "iterations end, releases all runs and exits with 0. A second signal releases all runs at once, " +
    "in mid-iteration, and makes it exit with 4. In code: store.runs.createWorker({ agents }).",
  options: {
    agents: { type: "list", value: "FILE", summary: "a module that exports agents; may be given several times" },
    concurrency: { ...numberOption(CONCURRENCY), summary: `runs at a time (default ${CONCURRENCY.fallback})` },
    poll: {
      ...numberOption(POLL_MS),
      value: "MS",
      summary: `look for work every so many milliseconds (default ${POLL_MS.fallback})`,
    },
    grace: { type: "text", value: "TIME", summary: "how long iterations may take to end (default 10s)" },
    sweep: { type: "text", value: "TIME", summary: "how often to delete expired captures, or never (default 1h)" },
    "allow-mismatch": {
      type: "flag",
      summary: "also claim runs that another version of the agent, or one with other tools, began",
    },
    erased: ERASED_OPTION,
  },
  operands: [],
  examples: [
    { command: "holdfast worker --agents agents.ts", does: "until Ctrl-C" },
    {
      command: "holdfast worker --agents dist/agents.js --store postgres://db/app --concurrency 64 --json",
      does: "one of many machines",
    },
  ],
  next: "holdfast runs lists the runs; holdfast runs pending lists the questions to people.",
  run: async (context) => {
    const { args, output } = context;
    const files = args.list("agents");
    if (files.length === 0) throw new UsageError("name the module that exports the agents: --agents FILE");
    const grace = args.text("grace");
    const graceMs = grace === undefined ? undefined : parseDuration(grace, "--grace");
    const sweepMs = readSweep(context);
    const erased = readErased(args);
    const agents = await loadAgents(files, context);
    const printer = new WorkerPrinter(context);
    const holdfast = await context.open({ environment: { ...realEnvironment(), log: printer.log } });
    const [concurrency, pollMs] = [args.number("concurrency"), args.number("poll")];
    const working = holdfast.runs.createWorker({
      agents,
      watch: printer.watch,
      allowMismatch: args.flag("allow-mismatch"),
      ...erased,
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(pollMs === undefined ? {} : { pollMs }),
    });
    const names = agents.map(({ id, version }) => `${id} ${version}`).join(", ");
    if (output.json) await output.record({ event: "started", worker: working.id, agents: agents.map(({ id }) => id) });
    else await output.line(safe`${working.id} works for ${names} on ${context.storeName}; Ctrl-C stops it`);
    const sweeper = startSweeping(holdfast.captures, sweepMs, printer);
    const wasCutOff = await workUntilStopped(working, graceMs, context, printer).finally(() => sweeper.stop());
    await printer.flushed();
    return wasCutOff ? EXIT.refused : EXIT.ok;
  },
};

function readSweep({ args }: Context): number | null {
  const given = args.text("sweep");
  const ms = given === undefined ? HOUR_MS : parseDurationOrNever(given, "--sweep");
  if (ms === null) return null;
  if (ms < LEAST_SWEEP_MS || ms > MOST_SWEEP_MS)
    throw new UsageError(`--sweep takes a time from 1s to 24d, not "${given}"`);
  return ms;
}

/** Deletes expired captures at once and then at intervals. A failure is printed and does not stop the worker. */
function startSweeping(captures: Captures, everyMs: number | null, printer: WorkerPrinter): { stop(): Promise<void> } {
  const ended = new AbortController();
  const { sleep } = realEnvironment();
  const sweeping = (async () => {
    while (everyMs !== null && !ended.signal.aborted) {
      try {
        printer.swept(await captures.deleteExpired());
      } catch (error) {
        printer.log("error", "captures.sweep", { error: error instanceof Error ? error.message : String(error) });
      }
      await sleep(everyMs, ended.signal);
    }
  })();
  return {
    stop: async () => {
      ended.abort();
      await sweeping;
    },
  };
}

/** Returns whether a second signal made the worker release runs in the middle of an iteration. */
async function workUntilStopped(
  worker: Worker,
  graceMs: number | undefined,
  { io, output }: Context,
  printer: WorkerPrinter,
): Promise<boolean> {
  const stop = listenForStop(io);
  try {
    worker.start();
    await Promise.race([stop.first, printer.failed]);
    const left = worker.working.length;
    await output.note(left === 0 ? "stopping" : `stopping, once the iteration of ${plural(left, "run")} has ended …`);
    const stopped = worker.stop(graceMs === undefined ? {} : { graceMs }).then(() => "stopped" as const);
    const how = await Promise.race([stopped, stop.second]);
    if (how === "stopped") return false;
    const cut = worker.working.length;
    await worker.stop({ graceMs: 0 });
    await stopped;
    if (cut > 0) await output.note(`stopped at once: ${plural(cut, "run")} released in mid-iteration`);
    return cut > 0;
  } finally {
    stop.release();
  }
}

/**
 * Resolves on the first and the second signal to stop. After the second the listeners are gone, so a third ends the
 * process.
 */
function listenForStop(io: Io): {
  readonly first: Promise<"first">;
  readonly second: Promise<"second">;
  release(): void;
} {
  const [first, second] = [Promise.withResolvers<"first">(), Promise.withResolvers<"second">()];
  let times = 0;
  const onSignal = () => {
    times++;
    if (times === 1) first.resolve("first");
    else {
      second.resolve("second");
      release();
    }
  };
  const release = () => {
    process.removeListener("SIGINT", onSignal);
    process.removeListener("SIGTERM", onSignal);
    io.signal?.removeEventListener("abort", onSignal);
  };
  if (io.signal === undefined) {
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  } else if (io.signal.aborted) onSignal();
  else io.signal.addEventListener("abort", onSignal);
  return { first: first.promise, second: second.promise, release };
}

/** Prints the worker's notes in order. If the output is closed, `failed` rejects and the worker stops. */
class WorkerPrinter {
  readonly failed: Promise<never>;
  readonly #output: Context["output"];
  readonly #begun = new Map<string, number>();
  readonly #fail: (error: unknown) => void;
  #last: Promise<void> = Promise.resolve();

  constructor({ output }: Context) {
    this.#output = output;
    const failed = Promise.withResolvers<never>();
    this.failed = failed.promise;
    this.failed.catch(() => {});
    this.#fail = failed.reject;
  }

  /** Resolves when everything so far is printed, or printing has failed. */
  async flushed(): Promise<void> {
    await this.#last;
  }

  readonly watch = (note: WorkerNote): void => {
    const at = Date.now();
    const ms = note.kind === "left" ? at - (this.#begun.get(note.run.id) ?? at) : null;
    if (note.kind === "begun") this.#begun.set(note.run.id, at);
    else this.#begun.delete(note.run.id);
    const error = note.kind === "refused" ? note.error : note.run.error;
    const { id, session, agent, status, iteration } = note.run;
    const record = { event: note.kind, at, run: id, session, agent, status, iteration, ms, error };
    this.#print(record, `${this.#time(at)}  ${safe`${id}  ${session}`}  ${this.#describe(note, ms)}`);
  };

  swept(gone: CapturesRemoved): void {
    if (gone.removed.length === 0) return;
    const at = Date.now();
    this.#print({ event: "swept", at, ...gone }, `${this.#time(at)}  deleted ${sweptWords(gone)}`);
  }

  /** Prints warnings and errors of the library, such as an unreachable store or a lost lease. */
  readonly log = (level: string, event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    // `watch` prints refused runs with more details.
    if ((level !== "warn" && level !== "error") || event === "worker.refused") return;
    const at = Date.now();
    this.#print(
      { event: "trouble", at, what: event, ...fields },
      `${this.#time(at)}  ${safe`${event}: ${fields.error === undefined ? "" : String(fields.error)}`}`,
    );
  };

  /** A terminal leaves out the date. */
  #time(at: number): string {
    return this.#output.interactive ? formatTime(at).slice("2026-01-01 ".length) : formatTime(at);
  }

  #describe(note: WorkerNote, ms: number | null): string {
    const { style } = this.#output;
    const { run } = note;
    if (note.kind === "refused") return style.bad(`cannot continue here: ${safeLine(note.error.message)}`);
    if (note.kind === "begun") {
      const from = `from iteration ${run.iteration + 1}`;
      return run.status === "recovering" ? style.warn(`taken over ${from}: its worker was gone`) : `claimed ${from}`;
    }
    return `${describeOutcome(run, style)}${ms === null ? "" : `, after ${formatSpan(ms)}`}`;
  }

  #print(record: unknown, line: string): void {
    this.#last = this.#last
      .then(() => (this.#output.json ? this.#output.record(record) : this.#output.line(line)))
      .catch((error: unknown) => this.#fail(error));
  }
}

function describeOutcome(run: Run, style: Context["output"]["style"]): string {
  const why = safeLine(describeReason(run));
  if (run.status === "completed") return style.good("completed");
  if (run.status === "failed" || run.status === "cancelled")
    return style.bad(why === "" ? run.status : `${run.status}: ${why}`);
  if (run.status === "waiting" || run.status === "paused") return style.warn(`${run.status} ${why}`.trimEnd());
  return "released";
}
