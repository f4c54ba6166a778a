// holdfast/testing: the contract suites, the naive model and the environments, to prove a backend of your own. Nothing
// here needs a test framework at run time; suite.ts says how to pass one in.
export {
  adjustableEnvironment,
  type LogEntry,
  type SimulatedEnvironment,
  simulatedEnvironment,
} from "./environment.ts";
export { type Model as NaiveModel, naiveModel } from "./model.ts";
export { type FastCheck, type PropertyFixture, type PropertyOptions, runPropertySuite } from "./property.ts";
export type { Client } from "./sim/client.ts";
export type { Effect, ExternalEffects } from "./sim/external-effects.ts";
export type { Fault, FaultKind, Opportunity } from "./sim/faults.ts";
export { crashMatrix, type Matrix, type MatrixPoint } from "./sim/matrix.ts";
export { type Simulation, type SimulationReport, simulate } from "./sim/simulate.ts";
export type { CaseContext, Clock, ContextName, Fixture, Harness, MakeFixture, Skip, SuiteOptions } from "./suite.ts";
export { runAgentsSuite } from "./suites/agents.ts";
export { runArchiveSuite } from "./suites/archive.ts";
export { runBlobsSuite } from "./suites/blobs.ts";
export { runCapturesSuite } from "./suites/captures.ts";
export { runCheckSuite } from "./suites/check.ts";
export { runHistorySuite } from "./suites/history.ts";
export { runHostileSuite } from "./suites/hostile.ts";
export { runLineageSuite } from "./suites/lineage.ts";
export { runLogSuite } from "./suites/log.ts";
export { runQuerySuite } from "./suites/query.ts";
export { runRunsSuite } from "./suites/runs.ts";
export { runSessionStoreSuite, type SessionStoreSuiteOptions } from "./suites/session-store.ts";
export type { FullSessionStore, MakeSessionStore, SessionStoreNouns } from "./suites/session-store-entries.ts";
export { runSessionsSuite } from "./suites/sessions.ts";
export { runStateSuite } from "./suites/state.ts";
export { runStoreSuite } from "./suites/store.ts";
export { runTasksSuite } from "./suites/tasks.ts";
export { runTraceSuite } from "./suites/trace.ts";
