// Runs many pieces of work concurrently, a bounded number at a time. An error of one does not stop the others.
import { HoldfastError } from "../contracts/errors.ts";
import type { Envelope } from "../contracts/invocations.ts";
import type { JsonObject } from "../contracts/json.ts";

/** An error's message is cut to a readable length. */
const MESSAGE_CHARS = 20_000;

/** An envelope, and what the work threw if it failed. */
export interface WorkOutcome<T, M> {
  readonly envelope: Envelope<T, M>;
  readonly thrown: { readonly error: unknown } | null;
}

/** `meta` is null if the work could not begin, or its end could not be recorded. */
export function failedOutcome<M>(
  error: unknown,
  {
    session,
    head,
    meta = null,
  }: { readonly session: string | null; readonly head: string | null; readonly meta?: M | null },
): WorkOutcome<never, M> {
  return { envelope: { value: null, session, head, status: "failed", error, meta }, thrown: { error } };
}

/** One piece of work alone: its error is rethrown. */
export function unwrapOutcome<T, M>({ envelope, thrown }: WorkOutcome<T, M>): Envelope<T, M> {
  if (thrown !== null) throw thrown.error;
  return envelope;
}

/** Returns results in the order of the items. */
export async function runInOrder<I, T, M>(
  items: readonly I[],
  concurrency: number,
  each: (item: I, index: number) => Promise<WorkOutcome<T, M>>,
): Promise<readonly Envelope<T, M>[]> {
  const envelopes: Envelope<T, M>[] = [];
  const next = items.entries();
  // They share one iterator: each takes the next item when it has finished the one before.
  const worker = async () => {
    for (const [index, item] of next) envelopes[index] = (await each(item, index)).envelope;
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker));
  return envelopes;
}

/** The JSON that is stored for any thrown value. */
export function errorJson(thrown: unknown): JsonObject {
  try {
    if (!(thrown instanceof Error)) return { message: String(thrown).slice(0, MESSAGE_CHARS) };
    const name = String(thrown.name).slice(0, MESSAGE_CHARS);
    const message = String(thrown.message).slice(0, MESSAGE_CHARS);
    return thrown instanceof HoldfastError ? { name, message, code: thrown.code } : { name, message };
  } catch {
    return { message: "a value that cannot be converted to text" };
  }
}
