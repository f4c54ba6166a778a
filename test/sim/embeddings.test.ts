// EM4 to EM9 under faults of disks, processes and embedders.
import { describe } from "vitest";
import { EMBEDDINGS, OTHER_EMBEDDER, PASSAGES } from "./embeddings.ts";
import { played } from "./required.ts";

describe("EM4 every document gets the embedding of its text, whatever fails", () => {
  played([EMBEDDINGS], (own) => own, { short: 3, long: 200 });
  played([EMBEDDINGS], () => 0.4, { short: 2, long: 200 });
});

describe("EM6 another embedder takes over, whatever fails", () => {
  played([OTHER_EMBEDDER], (own) => own, { short: 3, long: 200 });
  played([OTHER_EMBEDDER], () => 0.4, { short: 2, long: 200 });
});

describe("EM8 every passage of messages and memories gets its vector, whatever fails", () => {
  played([PASSAGES], (own) => own, { short: 3, long: 200 });
  played([PASSAGES], () => 0.4, { short: 2, long: 200 });
});
