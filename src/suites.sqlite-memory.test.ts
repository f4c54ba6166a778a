// Every contract suite on SQLite in memory.
import { inMemory, runEverySuite } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

runEverySuite("sqlite in memory", inMemory, {
  runs: scaled({ short: 4, long: 300 }),
  oneHandle: "a store in memory has one handle",
});
