// Every contract suite on SQLite in memory.
import { inMemory, runEverySuite } from "../test/suites.ts";

runEverySuite("sqlite in memory", inMemory, { runs: 200, oneHandle: "a store in memory has one handle" });
