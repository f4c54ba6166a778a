// Every contract suite on SQLite in a file, with several handles on it.
import { inFolder, runEverySuite } from "../test/suites.ts";

runEverySuite("sqlite in a file", inFolder(), { runs: 60 });
