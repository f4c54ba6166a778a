// A change that relies on a version: when another writer was first, it reads again and decides again.
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";

/** SessionDeleted: the memory directory was erased after it was read; the next attempt begins another one. */
const REPEATED: readonly string[] = ["Conflict", "SessionDeleted"];

export async function repeatOnConflict<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < LIMITS.decideAttempts; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof HoldfastError) || !REPEATED.includes(error.code)) throw error;
    }
  }
  throw new HoldfastError("Conflict", `other writers change ${what} faster than it can be edited`, {
    retryable: true,
    hint: "Try again.",
  });
}
