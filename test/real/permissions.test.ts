// The modes of everything that the commands create, under the umask that hides nothing. `npm run torture -- --part permissions`
// takes every umask.
import { afterAll, expect, test } from "vitest";
import { scaled } from "../../src/testing/scale.ts";
import { createdUnder, EVERY_UMASK, exposedAmong } from "./permissions.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
afterAll(() => stores.remove());

const umasks = EVERY_UMASK.slice(0, scaled({ short: 1, long: EVERY_UMASK.length }));
const isLong = scaled({ short: 0, long: 1 }) === 1;

test.each(umasks.map((umask) => [umask.toString(8).padStart(3, "0"), umask] as const))(
  "ST16 with umask %s every command's files are 0600 and its directories 0700",
  (_, umask) => {
    const created = createdUnder(umask, stores.folder, isLong);
    expect(exposedAmong(created)).toEqual([]);
    expect(created.length).toBeGreaterThan(20);
  },
);
