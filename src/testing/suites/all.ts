// The contract suites by the noun whose contract they prove.
import type { Fixture, SuiteOptions } from "../suite.ts";
import { runAgentsSuite } from "./agents.ts";
import { runArchiveSuite } from "./archive.ts";
import { runBlobsSuite } from "./blobs.ts";
import { runCapturesSuite } from "./captures.ts";
import { runCheckSuite } from "./check.ts";
import { runEmbeddingsSuite } from "./embeddings.ts";
import { runHistorySuite } from "./history.ts";
import { runHostileSuite } from "./hostile.ts";
import { runLineageSuite } from "./lineage.ts";
import { runLogSuite } from "./log.ts";
import { runMemorySuite } from "./memory.ts";
import { runQuerySuite } from "./query.ts";
import { runRunsSuite } from "./runs.ts";
import { runSearchSuite } from "./search.ts";
import { runSessionsSuite } from "./sessions.ts";
import { runStateSuite } from "./state.ts";
import { runStoreSuite } from "./store.ts";
import { runTasksSuite } from "./tasks.ts";
import { runTraceSuite } from "./trace.ts";
import { runVectorsSuite } from "./vectors.ts";

const SUITES = {
  agents: runAgentsSuite,
  archive: runArchiveSuite,
  blobs: runBlobsSuite,
  captures: runCapturesSuite,
  check: runCheckSuite,
  embeddings: runEmbeddingsSuite,
  history: runHistorySuite,
  hostile: runHostileSuite,
  lineage: runLineageSuite,
  log: runLogSuite,
  memory: runMemorySuite,
  query: runQuerySuite,
  runs: runRunsSuite,
  search: runSearchSuite,
  sessions: runSessionsSuite,
  state: runStateSuite,
  store: runStoreSuite,
  tasks: runTasksSuite,
  trace: runTraceSuite,
  vectors: runVectorsSuite,
};

/**
 * Proves that what `make` makes keeps the contract of a noun. "store" is about opening and closing, "hostile" about
 * arguments of every verb. A store that has only some nouns leaves out the cases that need others, with `skip`.
 */
export function runSuite(
  noun:
    | ("agents" | "archive" | "blobs" | "captures" | "check" | "embeddings" | "history" | "hostile" | "lineage")
    | ("log" | "memory" | "query" | "runs" | "search" | "sessions" | "state" | "store" | "tasks" | "trace" | "vectors"),
  name: string,
  make: () => Promise<Fixture>,
  options?: SuiteOptions,
): void {
  SUITES[noun](name, make, options);
}
