// What an agent asked wrongly: thrown at it where it asked, so that the run fails with it or lives with it. Anything else is
// trouble with the store or the lease, which no iteration could mend.
import { type ErrorCode, HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { RunError } from "../contracts/runs.ts";
import { errorOf, StepFailed } from "./errors.ts";
import { errorIn, type StepRecord } from "./journal.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Beside, Writer } from "./writer.ts";

/** Wrong whenever it is asked again. */
const ALWAYS: ReadonlySet<ErrorCode> = new Set([
  ...(["InvalidArgument", "InvalidId", "InvalidText", "InvalidJson", "LimitExceeded"] as const),
]);

/** Wrong as the store was then: recorded, so that a replay is told the same. */
const THEN: ReadonlySet<ErrorCode> = new Set([
  ...(["AlreadyExists", "NotFound", "SessionDeleted", "BlobNotFound", "BlobExpired"] as const),
]);

export function isMistakeOfCaller(error: unknown): boolean {
  return error instanceof HoldfastError && ALWAYS.has(error.code);
}

export interface Refusing {
  readonly writer: Writer;
  readonly steps: Steps;
  readonly leave: (error?: unknown) => Promise<never>;
}

/** At the place of `found`, if the journal has its intent. */
export async function refuseStep(
  { writer, steps, leave }: Refusing,
  identity: Identity,
  error: unknown,
  found?: StepRecord,
): Promise<never> {
  if (!(error instanceof HoldfastError)) return leave(error);
  if (ALWAYS.has(error.code)) throw error;
  if (!THEN.has(error.code)) return leave(error);
  return recordRefusal({ writer, steps, leave }, identity, errorOf(error), found);
}

/** Records that the step failed for good, and throws that. `more` and `beside` go with the event. */
export async function recordRefusal(
  { writer, steps, leave }: Refusing,
  identity: Identity,
  failure: RunError,
  found?: StepRecord,
  more: JsonObject = {},
  beside: Beside = {},
): Promise<never> {
  // Of a child that was begun the step goes on naming it.
  const isOpen = found?.status === "started" || found?.data.run !== undefined;
  const of = isOpen ? { step: found.seq } : steps.said(identity, (found?.attempt ?? 0) + 1);
  const { writes = [], ...rest } = beside;
  try {
    const draft = steps.draft("step/failed", { ...of, ...more, error: { ...failure }, final: true });
    await writer.add([{ ...draft, writes }], rest);
  } catch (trouble) {
    return leave(trouble);
  }
  throw failed(identity, failure, steps);
}

/** What a validator refused before the step began. */
export async function refuseInvalid(refusing: Refusing, asked: Asked, error: unknown): Promise<never> {
  const identity = refusing.steps.identify(asked);
  return recordRefusal(refusing, identity, errorOf(error), await refusing.steps.recorded(identity));
}

/** A refusal that the journal has; where it failed in a run that this one takes up, it is asked again. */
export function refusedBefore(identity: Identity, found: StepRecord | undefined, steps: Steps): StepFailed | null {
  if (found?.status !== "failed" || found.isRetryPoint === true) return null;
  return failed(identity, errorIn(found.end?.data ?? {}), steps);
}

function failed(identity: Identity, error: { readonly code: string; readonly message: string }, steps: Steps) {
  return new StepFailed(error, `${String(steps.said(identity, 1).iteration)}/${identity.path}`);
}
