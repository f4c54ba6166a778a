// holdfast/testing: the contract suites, the naive model and the environments, to test your own backend; and the
// simulator, to test your own agent. Nothing here needs a test framework at run time; suite.ts says how to pass one in.
export { adjustableEnvironment, type SimulatedEnvironment, simulatedEnvironment } from "./environment.ts";
export { naiveModel } from "./model.ts";
export { type PropertyOptions, runPropertySuite } from "./property.ts";
export type { SimulationClient } from "./sim/client.ts";
export type { Effect, ObservedEffects } from "./sim/external-effects.ts";
export type { Fault } from "./sim/faults.ts";
export { crashMatrix, type Matrix } from "./sim/matrix.ts";
export { type Simulation, type SimulationReport, simulate } from "./sim/simulate.ts";
export type { Clock, Fixture, SuiteOptions } from "./suite.ts";
export { runSuite } from "./suites/all.ts";
export { runSessionStoreSuite } from "./suites/session-store.ts";
