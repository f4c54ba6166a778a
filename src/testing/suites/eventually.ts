// Waits for work in the background of a real store.
import assert from "node:assert/strict";

/** Asks until the answer is neither null nor false. */
export async function until<T>(ask: () => Promise<T | null | false>): Promise<T> {
  const end = performance.now() + 120_000;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== false) return answer;
    assert.ok(performance.now() < end, "it did not happen in time");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
