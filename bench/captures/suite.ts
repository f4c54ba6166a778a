// The captures suite: the cost of saving a coding agent's session, beside gzipping its transcript into a row each time.
import { PRAGMAS } from "../foundation/floor.ts";
import { SharedServer } from "../foundation/postgres.ts";
import type { Suite } from "../suite.ts";
import { onPostgres, onSqlite } from "./engine.ts";
import { growing } from "./growing.ts";
import { openCodeRuns } from "./opencode.ts";
import { BuiltProgram, running, runOnPostgres, runOnSqlite } from "./running.ts";
import { saving } from "./saving.ts";
import { start } from "./start.ts";

export function captures(): Suite {
  const server = new SharedServer();
  const program = new BuiltProgram();
  return {
    about:
      "a coding agent's session of 12 MB saved, saved again and restored, what `holdfast run` adds, and how fast programs start",
    benches: [
      start(),
      ...[onSqlite, onPostgres(server)].flatMap((kind) => [
        saving(kind),
        growing(kind, "ordinary"),
        growing(kind, "repetitive"),
      ]),
      ...[runOnSqlite, runOnPostgres(server)].map((engine) => running(engine, program)),
      openCodeRuns(),
    ],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => server.version,
    close: () => server.stop(),
  };
}
