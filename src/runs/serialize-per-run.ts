// Serializes the changes that one handle makes to a run. Concurrent changes would all rely on the same version of its
// row, and all but one would be refused. With this queue only other handles can cause a retry (rule ST2: no change
// starves).
import type { Storage } from "../contracts/storage/storage.ts";
import { SerialQueue } from "../core/serial-queue.ts";

const QUEUES = new WeakMap<Storage, SerialQueue>();

export async function serializePerRun<T>(storage: Storage, run: string, work: () => Promise<T>): Promise<T> {
  const queue = QUEUES.get(storage) ?? new SerialQueue();
  QUEUES.set(storage, queue);
  return queue.run(run, work);
}
