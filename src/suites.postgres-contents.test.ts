// The contract suites of contents: blobs, captures, archives, and what looks through all of them; on PostgreSQL.
import { inSchema } from "../test/suite-schemas.ts";
import { runSuites } from "../test/suites.ts";
import { scaled } from "./testing/scale.ts";

runSuites("contents", "postgres", inSchema, { runs: scaled({ short: 3, long: 60 }) });
