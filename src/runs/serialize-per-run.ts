// Serializes the changes that one handle makes to a run. Changes at the same time would all rely on the same version of its row, and
// all but one would be refused; so only other handles can cause a retry (rule ST2: none starves).
import type { Storage } from "../contracts/storage/storage.ts";

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
