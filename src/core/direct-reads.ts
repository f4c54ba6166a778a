// Reads that an iteration of a run makes on the store's handle instead of with a recorded read. They are allowed, but a
// replay may get another answer. If an iteration turns out to be non-deterministic, the error names its direct reads.
import { AsyncLocalStorage } from "node:async_hooks";

/** Reads of a handle, and for each the recorded read that returns the same. */
const RECORDED = {
  "hf.sessions.context()": "it.context()",
  "hf.sessions.at()": "it.history() or it.state()",
  "hf.history.get()": "it.history()",
  "hf.history.session()": "it.history({ agent: null })",
  "hf.history.count()": "it.history()",
  "hf.history.byAgent()": "it.history()",
  "hf.state.get()": "it.state()",
  "hf.state.getVersioned()": "it.state()",
  "hf.state.getKey()": "it.state()",
} as const;

export type DirectRead = keyof typeof RECORDED;

const reads = new AsyncLocalStorage<Set<DirectRead> | undefined>();

/** Reads of a handle call this. Outside of an iteration it does nothing. */
export function noteDirectRead(read: DirectRead): void {
  reads.getStore()?.add(read);
}

/** `found` is called for every direct read of the work, also in promises that the work does not await. */
export function watchDirectReads<T>(found: Set<DirectRead>, work: () => T): T {
  return reads.run(found, work);
}

/** Runs a tool or a model, whose direct reads are not reported because its result is recorded. */
export function allowDirectReads<T>(work: () => T): T {
  return reads.getStore() === undefined ? work() : reads.run(undefined, work);
}

/** For each direct read, says which recorded read to use instead. */
export function adviseRecordedReads(found: ReadonlySet<DirectRead>): string {
  return [...found].map((read) => `it read ${read}: use ${RECORDED[read]} instead`).join("; ");
}
