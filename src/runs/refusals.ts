// Errors for an agent's own mistakes. They are thrown at the call in the iteration, so that the agent can handle them
// or the run fails with them. All other errors are those of the store or the lease, which an iteration cannot handle.
import { type ErrorCode, HoldfastError } from "../contracts/errors.ts";
import type { RunError } from "../contracts/run-record.ts";
import { errorOf } from "./errors.ts";
import type { IterationHost } from "./iteration-host.ts";
import type { StepRecord } from "./journal.ts";
import type { FinishOptions, StepIdentity, StepRequest } from "./steps.ts";

/** Errors that every repetition of the call gets. */
const ALWAYS: ReadonlySet<ErrorCode> = new Set([
  "InvalidArgument",
  "InvalidId",
  "InvalidText",
  "InvalidJson",
  "LimitExceeded",
]);

/** Errors that depend on the store at the time. They are recorded, so that a replay gets the same error. */
const AT_THE_TIME: ReadonlySet<ErrorCode> = new Set([
  "AlreadyExists",
  "NotFound",
  "SessionDeleted",
  "BlobNotFound",
  "BlobExpired",
]);

export function isMistakeOfCaller(error: unknown): boolean {
  return error instanceof HoldfastError && ALWAYS.has(error.code);
}

/** `record`: the step's record in the journal, if there is one. */
export async function refuseStep(
  host: IterationHost,
  identity: StepIdentity,
  error: unknown,
  record?: StepRecord,
): Promise<never> {
  if (!(error instanceof HoldfastError)) throw host.life.leave(error);
  if (ALWAYS.has(error.code)) throw error;
  if (!AT_THE_TIME.has(error.code)) throw host.life.leave(error);
  return recordRefusal(host, identity, errorOf(error), record);
}

/** Records that the step failed for good, and throws the error. `data` and `extras` are added to the event. */
export async function recordRefusal(
  { writer, steps, life }: IterationHost,
  identity: StepIdentity,
  error: RunError,
  record?: StepRecord,
  { data = {}, extras = {} }: Omit<FinishOptions, "intent"> = {},
): Promise<never> {
  // The event of a step that began a child still names the child.
  const isOpen = record?.status === "started" || record?.data.run !== undefined;
  const step = isOpen ? { step: record.seq } : steps.describe(identity, (record?.attempt ?? 0) + 1);
  const { writes = [], ...rest } = extras;
  try {
    const draft = steps.draft("step/failed", { ...step, ...data, error: { ...error }, final: true });
    await writer.add([{ ...draft, writes }], rest);
  } catch (trouble) {
    throw life.leave(trouble);
  }
  throw steps.failureAt(identity.path, error);
}

/** Refuses a step because a validator refused its input. */
export async function refuseInvalid(host: IterationHost, request: StepRequest, error: unknown): Promise<never> {
  const identity = host.steps.identify(request);
  return recordRefusal(host, identity, errorOf(error), (await host.steps.decide(identity)).record);
}
