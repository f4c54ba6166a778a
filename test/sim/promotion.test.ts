// ME5 under faults of disks and processes.
import { describe } from "vitest";
import { PROMOTION } from "./promotion.ts";
import { played } from "./required.ts";

describe("ME5 blocks and memories agree, whatever fails", () => {
  played([PROMOTION], (own) => own, { short: 4, long: 200 });
  played([PROMOTION], () => 0.4, { short: 2, long: 200 });
});
