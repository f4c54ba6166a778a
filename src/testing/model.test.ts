// The naive model keeps the contracts it claims: the suites prove the model, as the model proves the store.
import { describe, test } from "vitest";
import { adjustableEnvironment } from "./environment.ts";
import { naiveModel } from "./model.ts";
import type { Fixture, Skip } from "./suite.ts";
import { runHistorySuite } from "./suites/history.ts";
import { runSessionsSuite } from "./suites/sessions.ts";
import { runStateSuite } from "./suites/state.ts";
import { runTasksSuite } from "./suites/tasks.ts";

async function make(): Promise<Fixture> {
  const environment = adjustableEnvironment();
  return { store: naiveModel(environment), environment, close: async () => undefined };
}

const absent: Skip = {
  reason: "the model has no log, blobs, agents or statistics, and lives in one process",
  needs: ["log", "blobs", "agents", "stats", "another", "close"],
};
const trusting = (...tests: string[]): Skip => ({
  reason: "the model believes its callers and knows no limits",
  tests,
});
const harness = { describe, test };

runHistorySuite("naive model", make, {
  harness,
  skip: [absent, trusting("ST2 appendMany is all or nothing", "ST8", "ST7")],
});
runStateSuite("naive model", make, { harness, skip: [absent, trusting("ST8")] });
runSessionsSuite("naive model", make, { harness, skip: [absent, trusting("ST8 a page over")] });
runTasksSuite("naive model", make, { harness, skip: [absent, trusting("ST8")] });
