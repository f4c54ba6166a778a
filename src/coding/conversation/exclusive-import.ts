// An import into a session is many commits that rely on the session's state at the start. Another writer must not add to the session
// between them: an import that finds such a change reads the session again and continues from there, as after a crash.
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { FENCE, type Fence, type FencedNouns, type Fencing } from "../../core/fence.ts";

export type FencedStores = FencedNouns & Pick<Holdfast, "log" | "blobs">;

/** Each attempt fails because another writer made progress. This limit is for a writer that never stops. */
const MOST_ATTEMPTS = 1000;

/** `before` creates the session if it is missing; `work` writes only through the stores that it gets. */
export async function importExclusively<T>(
  hf: FencedStores,
  session: string,
  before: () => Promise<void>,
  work: (stores: FencedStores) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    await before();
    const fence = await fenceOf(hf, session);
    try {
      return await work({ ...fence.stores, log: hf.log, blobs: hf.blobs });
    } catch (error) {
      // A refusal may be caused only by what another writer did meanwhile.
      const isOver = attempt === MOST_ATTEMPTS || !isHoldfastError(error);
      if (isOver || !(await fence.isStale().catch(() => false))) throw error;
      await fence.pause(attempt);
    }
  }
}

/** A store that open() did not make cannot detect other writers. */
async function fenceOf(hf: FencedStores & Partial<Fencing>, session: string): Promise<Fence> {
  return (await hf[FENCE]?.(session)) ?? { stores: hf, isStale: async () => false, pause: async () => {} };
}
