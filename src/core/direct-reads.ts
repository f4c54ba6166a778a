// Reads that an iteration of a run makes on the store's handle instead of by a recorded read. They are allowed, and a replay
// gets something else from them: when an iteration turns out non-deterministic, the error names them.
import { AsyncLocalStorage } from "node:async_hooks";

/** What a handle reads, and the recorded read that gives the same. */
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

/** Called by the reads of a handle; does nothing outside of an iteration. */
export function noteDirectRead(read: DirectRead): void {
  reads.getStore()?.add(read);
}

/** `found` gets the direct reads of the work, also of what it begins and does not await. */
export function watchDirectReads<T>(found: Set<DirectRead>, work: () => T): T {
  return reads.run(found, work);
}

/** Tools and models may read whatever they like: their results are recorded. */
export function allowDirectReads<T>(work: () => T): T {
  return reads.getStore() === undefined ? work() : reads.run(undefined, work);
}

/** Which recorded read to use in place of each. */
export function adviseRecordedReads(found: ReadonlySet<DirectRead>): string {
  return [...found].map((read) => `it read ${read}: use ${RECORDED[read]} instead`).join("; ");
}
