// The `holdfast` command that tests start: `npm test` builds it once, as it is published, because it starts in a third of the
// processor time that the sources take. Without `npm test` it is the sources.
import * as path from "node:path";

/** For Node to execute. */
export const CLI = process.env.HOLDFAST_TEST_COMMAND || path.resolve(import.meta.dirname, "../src/cli/entry.ts");
