// People's verbs over many seeds, at two rates of faults: a failure names the one command that plays it again.
import { describe } from "vitest";
import { played } from "./required.ts";
import { SLOW, VERBS } from "./scenarios.ts";

describe("callers that do anything at any moment", () => {
  played([VERBS], (own) => own, { short: 3, long: 200 });
  played([VERBS], () => 0.5, { short: 2, long: 200 });
});

describe("workers that stand still and go on", () => {
  played([SLOW], (own) => own, { short: 4, long: 200 });
  played([SLOW], () => 0.5, { short: 2, long: 200 });
});
