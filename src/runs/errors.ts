// Errors of runs, and what the caller can do about them.
import { HoldfastError } from "../contracts/errors.ts";
import type { RunError } from "../contracts/run-record.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { adviseRecordedReads, type DirectRead } from "../core/direct-reads.ts";
import { rowId } from "../core/row-id.ts";

/** The maximum length of a recorded error message: enough to recognise the error, not the whole output of a tool. */
const MOST_CHARS = 500;

export function errorOf(thrown: unknown): RunError {
  return readSafely(() => describeThrown(thrown), { code: "Error", message: "what was thrown cannot be read" });
}

/** Reads a thrown value, which can be any value, also an object that throws when it is read. */
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
  // Only a HoldfastError has a usable hint.
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

/** The error that a failed step throws in the iteration, also in a replay. */
export class StepFailed extends Error {
  /**
   * The code of the thrown error, or its name. `Denied`: a person refused the step, or decided that it did not happen
   * and must not.
   */
  readonly code: string;
  /** The iteration, and the step's position in it: "2/1.1". */
  readonly step: string;
  /** True if the tool had returned: its effect happened, and only its result could not be recorded. */
  readonly effectDone: boolean;

  constructor({ code, message }: RunError, step: string, effectDone = false) {
    super(message);
    this.name = "StepFailed";
    this.code = code;
    this.step = step;
    this.effectDone = effectDone;
  }
}

/** Whether another attempt is useless, as for a result that cannot be stored. */
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

/** Whether the error is most likely a mistake in the agent's code. Then its stack is logged. */
export function isCodeMistake(thrown: unknown): thrown is Error {
  return readSafely(() => thrown instanceof Error && MISTAKES.has(thrown.name), false);
}

const DEEPEST_CAUSE = 8;

/** The step whose failure ended a run, also if the agent threw another error with this one as its cause. */
export function findFailedStep(thrown: unknown): string | null {
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
  return new HoldfastError("LeaseLost", `another worker has claimed the run ${JSON.stringify(id)}`, {
    details: { run: id, epoch },
    hint: "Stop working on this run here: the store refuses all further writes of the old worker.",
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
        `Make iterations deterministic: use only the state, the input, the results of steps, now() and random().${advice} ` +
        `If the code has changed, runs.rewind(${JSON.stringify(run)}, { iteration }) begins again after a complete iteration; ` +
        "later steps are executed again.",
    },
  );
}

/** The error for an erased message, or an erased value of the state, that a recorded read had returned. */
export function contentErased(
  { id, session: own }: Pick<RunRow, "id" | "session">,
  step: string,
  { session, seq, key }: { readonly session: string; readonly seq: number; readonly key?: string },
): HoldfastError {
  const what = key === undefined ? `message ${rowId(session, seq)}` : `the value of ${JSON.stringify(key)}`;
  return new HoldfastError(
    "ContentErased",
    `at ${step} the run ${JSON.stringify(id)} read ${what} of the session ${JSON.stringify(own)}, which was erased since`,
    {
      details: { session, seq, run: id, step, ...(key === undefined ? {} : { key }) },
      hint: erasedHint(id),
    },
  );
}

/** `what` names a block or a memory that the context of a step had. */
export function systemErased(
  { id, session }: Pick<RunRow, "id" | "session">,
  step: string,
  what: string,
): HoldfastError {
  const message = `at ${step} the run ${JSON.stringify(id)} read ${what}, which was erased since`;
  return new HoldfastError("ContentErased", message, {
    details: { session, run: id, step, erased: what },
    hint: erasedHint(id),
  });
}

function erasedHint(run: string): string {
  return (
    `runs.resume(agent, ${JSON.stringify(run)}, { erased: "placeholder" }) continues with a placeholder in its place; ` +
    `runs.cancel(${JSON.stringify(run)}) ends the run.`
  );
}
