// People's verbs over many seeds, at two rates of faults: a failure names the one command that plays it again.
import { describe } from "vitest";
import { played } from "./required.ts";
import { SLOW, VERBS } from "./scenarios.ts";

describe("people who do anything at any moment", () => {
  played([VERBS], (own) => own, 60);
  played([VERBS], () => 0.5, 30);
});

describe("workers who stand still and go on", () => {
  played([SLOW], (own) => own, 120);
  played([SLOW], () => 0.5, 60);
});
