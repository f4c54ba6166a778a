// One after the other: verbs that move a run by its version, within one handle. Asked for at once they would all rely on the
// same version, and all but one of them in vain; so only other handles can send them back (rule ST2: none starves).
import type { Storage } from "../contracts/storage.ts";

const LAST = new WeakMap<Storage, Map<string, Promise<void>>>();

export async function serializePerRun<T>(storage: Storage, run: string, work: () => Promise<T>): Promise<T> {
  const lasts = LAST.get(storage) ?? new Map<string, Promise<void>>();
  LAST.set(storage, lasts);
  const done = Promise.withResolvers<void>();
  const before = lasts.get(run);
  lasts.set(run, done.promise);
  await before;
  try {
    return await work();
  } finally {
    if (lasts.get(run) === done.promise) lasts.delete(run);
    done.resolve();
  }
}
