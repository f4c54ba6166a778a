// TI1 to TI4 under faults of disks and processes.
import { describe } from "vitest";
import { played } from "./required.ts";
import { SEARCH } from "./search.ts";

describe("TI1 TI2 TI3 TI4 a search finds what is committed, whatever fails", () => {
  played([SEARCH], (own) => own, { short: 2, long: 200 });
  played([SEARCH], () => 0.4, { short: 1, long: 200 });
});
