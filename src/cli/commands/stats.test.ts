// What `holdfast stats` says of clocks. The rest of it: integrity.test.ts.
import { expect, test } from "vitest";
import { describeClock } from "./stats.ts";

test.each([
  [600_000, "the database server's; this machine's is 10 min ahead of it (measured to 3 ms)"],
  [-7000, "the database server's; this machine's is 7 s behind it (measured to 3 ms)"],
  [200, "the database server's; this machine's agrees with it (measured to 3 ms)"],
])("ST3 stats tells how far the machine's clock is from the server's (%d ms)", (machineAheadMs, words) => {
  expect(describeClock({ now: 1, source: "server", machineAheadMs, uncertaintyMs: 3 })).toBe(words);
});

test("ST3 stats says nothing of a clock that is the machine's own", () => {
  expect(describeClock({ now: 1, source: "machine", machineAheadMs: 0, uncertaintyMs: 0 })).toBe("");
});
