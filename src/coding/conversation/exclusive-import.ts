// Bringing a conversation into a session is many commits that rely on what was there at first. Nobody else adds to the session
// between them: who was overtaken looks again at what is there, and goes on from it as after a crash.
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { FENCE, type Fence, type FencedNouns, type Fencing } from "../../core/fence.ts";

export type FencedStores = FencedNouns & Pick<Holdfast, "log" | "blobs">;

/** Each time somebody has got further: this is for one who never stops. */
const MOST_ATTEMPTS = 1000;

/** `before` sees to it that the session is there; `work` is given what it may write through. */
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
      // Whatever the rules refuse may be so only because of what was done meanwhile.
      const isOver = attempt === MOST_ATTEMPTS || !isHoldfastError(error);
      if (isOver || !(await fence.isStale().catch(() => false))) throw error;
      await fence.pause(attempt);
    }
  }
}

/** Of a store that was not made by open() nothing is known of others. */
async function fenceOf(hf: FencedStores & Partial<Fencing>, session: string): Promise<Fence> {
  return (await hf[FENCE]?.(session)) ?? { stores: hf, isStale: async () => false, pause: async () => {} };
}
