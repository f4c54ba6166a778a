// Every contract suite on SQLite in a file, with several handles on it.
import { inFolder, runEverySuite } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

runEverySuite("sqlite in a file", inFolder(), { runs: scaled({ short: 4, long: 120 }) });
