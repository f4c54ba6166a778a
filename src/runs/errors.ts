// Errors of runs, in words that the caller can act on.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunError } from "../contracts/run-record.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { adviseRecordedReads, type DirectRead } from "../core/direct-reads.ts";
import { rowId } from "../core/row-id.ts";

/** Enough to recognise an error; never the whole output of a tool. */
const MOST_CHARS = 500;

export function errorOf(thrown: unknown): RunError {
  return readSafely(() => describeThrown(thrown), { code: "Error", message: "what was thrown cannot be read" });
}

/** Anything can be thrown, also an object that throws when it is read. */
export function readSafely<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

function describeThrown(thrown: unknown): RunError {
  const given = (typeof thrown === "object" && thrown !== null ? thrown : { message: thrown }) as {
    readonly code?: unknown;
    readonly name?: unknown;
    readonly message?: unknown;
  };
  const code = typeof given.code === "string" ? given.code : typeof given.name === "string" ? given.name : "Error";
  const message = typeof given.message === "string" ? given.message : String(given.message ?? "");
  // Only of our own errors: the hint of another could be anything.
  const hint = thrown instanceof HoldfastError ? thrown.hint : undefined;
  return {
    code: clip(code.toWellFormed(), 80),
    message: clip(message.toWellFormed(), MOST_CHARS),
    ...(hint === undefined ? {} : { hint: clip(hint.toWellFormed(), MOST_CHARS) }),
  };
}

function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text;
}

/** Thrown into the iteration by a step that failed, also in a replay. */
export class StepFailed extends Error {
  /** The code of what was thrown, or its name; `Denied`: a person said that it did not happen and shall not. */
  readonly code: string;
  /** Its iteration and its place there, "2/1.1". */
  readonly step: string;
  /** The tool has returned: its effect happened, and only its result could not be recorded. */
  readonly effectDone: boolean;

  constructor({ code, message }: RunError, step: string, effectDone = false) {
    super(message);
    this.name = "StepFailed";
    this.code = code;
    this.step = step;
    this.effectDone = effectDone;
  }
}

/** A result that cannot be kept would not change with another attempt. */
export function isFinal(thrown: unknown): boolean {
  const { code, retryable } = readSafely(
    () => {
      const given = (thrown ?? {}) as { readonly code?: unknown; readonly retryable?: unknown };
      return { code: given.code, retryable: given.retryable };
    },
    { code: undefined, retryable: undefined },
  );
  return code === "InvalidJson" || code === "LimitExceeded" || retryable === false;
}

const MISTAKES: ReadonlySet<string> = new Set(["TypeError", "ReferenceError", "RangeError", "SyntaxError"]);

/** Most likely a mistake in the agent's code: its stack is logged. */
export function isCodeMistake(thrown: unknown): thrown is Error {
  return readSafely(() => thrown instanceof Error && MISTAKES.has(thrown.name), false);
}

const DEEPEST_CAUSE = 8;

/** The step whose failure ended a run, also where the agent threw something else because of it. */
export function stepBehind(thrown: unknown): string | null {
  return readSafely(() => causedBy(thrown), null);
}

function causedBy(thrown: unknown): string | null {
  let error = thrown;
  for (let depth = 0; depth < DEEPEST_CAUSE; depth++) {
    if (error instanceof StepFailed) return error.step;
    if (!(error instanceof Error)) return null;
    error = error.cause;
  }
  return null;
}

export function leaseLost({ id, epoch }: Pick<RunRow, "id" | "epoch">): HoldfastError {
  return new HoldfastError("LeaseLost", `another worker has taken the run ${JSON.stringify(id)}`, {
    details: { run: id, epoch },
    hint: "Stop working on it: what it still does here is refused.",
  });
}

export function nonDeterminism(
  run: string,
  where: string,
  then: string,
  now: string,
  directReads: ReadonlySet<DirectRead> = new Set(),
): HoldfastError {
  const advice = directReads.size === 0 ? "" : ` In this iteration ${adviseRecordedReads(directReads)}.`;
  return new HoldfastError(
    "NonDeterminism",
    `at ${where} the run ${JSON.stringify(run)} did ${then} before the interruption, and ${now} now`,
    {
      details: {
        run,
        step: where,
        recorded: then,
        asked: now,
        ...(directReads.size === 0 ? {} : { directReads: [...directReads] }),
      },
      hint:
        `Let an iteration depend on its state, its input and the results of its steps only: use now() and random().${advice} ` +
        `With changed code, runs.rewind(${JSON.stringify(run)}, { iteration }) begins again after a complete iteration; what ` +
        "was done since is done again.",
    },
  );
}

/** For a message, or a value of the state, that a recorded read returned. */
export function contentErased(
  { id, session: own }: Pick<RunRow, "id" | "session">,
  step: string,
  { session, seq, key }: { readonly session: string; readonly seq: number; readonly key?: string },
): HoldfastError {
  const what = key === undefined ? `message ${rowId(session, seq)}` : `the value of ${JSON.stringify(key)}`;
  return new HoldfastError(
    "ContentErased",
    `at ${step} the run ${JSON.stringify(id)} read ${what} of ${JSON.stringify(own)}, which was erased since`,
    {
      details: { session, seq, run: id, step, ...(key === undefined ? {} : { key }) },
      hint:
        `runs.resume(agent, ${JSON.stringify(id)}, { erased: "placeholder" }) goes on with a placeholder in its place; ` +
        `runs.cancel(${JSON.stringify(id)}) ends the run.`,
    },
  );
}
