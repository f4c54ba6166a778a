// Many pieces of work side by side, a bounded number at a time; what one of them throws is its own affair.
import { HoldfastError } from "../contracts/errors.ts";
import type { Envelope } from "../contracts/invocations.ts";
import type { JsonObject } from "../contracts/json.ts";

/** An error's message is cut to a readable length. */
const MESSAGE_CHARS = 20_000;

/** An envelope, and what was thrown when there was something. */
export interface WorkOutcome<T, M> {
  readonly envelope: Envelope<T, M>;
  readonly thrown: { readonly error: unknown } | null;
}

/** `meta` is missing where the work could not begin, or its end could not be recorded. */
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

/** One piece of work alone: what it throws is thrown on. */
export function runAlone<T, M>({ envelope, thrown }: WorkOutcome<T, M>): Envelope<T, M> {
  if (thrown !== null) throw thrown.error;
  return envelope;
}

/** Answers in the order of the items, whichever ends first. */
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

/** What is kept of something thrown, whatever it is. */
export function errorJson(thrown: unknown): JsonObject {
  try {
    if (!(thrown instanceof Error)) return { message: String(thrown).slice(0, MESSAGE_CHARS) };
    const name = String(thrown.name).slice(0, MESSAGE_CHARS);
    const message = String(thrown.message).slice(0, MESSAGE_CHARS);
    return thrown instanceof HoldfastError ? { name, message, code: thrown.code } : { name, message };
  } catch {
    return { message: "something that cannot be shown as text" };
  }
}
