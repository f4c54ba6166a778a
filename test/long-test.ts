// Tests that are left out of `npm test`, by a name that says so: cases that are rare and take long, next to a common case
// of the same guarantee that always runs.
import { test } from "vitest";
import { isLong } from "../src/testing/scale.ts";

/** Runs only in `npm run test:long`. */
export function testLong(name: string, options: { readonly timeout?: number }, body: () => Promise<void>): void {
  test.skipIf(!isLong)(isLong ? name : `${name} (skipped: only npm run test:long runs it)`, { ...options }, body);
}
