// The contract suites of records: lineage, memories, vectors, queries, and hostile calls; on PostgreSQL.
import { inSchema } from "../test/suite-schemas.ts";
import { runSuites } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

runSuites("records", "postgres", inSchema, { runs: scaled({ short: 3, long: 60 }) });
