// The contract suites of work: sessions, their messages and state, tasks and runs; on PostgreSQL.
import { inSchema } from "../test/suite-schemas.ts";
import { runSuites } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

runSuites("work", "postgres", inSchema, { runs: scaled({ short: 3, long: 60 }) });
