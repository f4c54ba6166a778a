// The sessions suite: the costs of sessions as a graph, each beside the cheapest alternative.
import { PRAGMAS } from "../foundation/floor.ts";
import { SharedServer } from "../foundation/postgres.ts";
import type { Suite } from "../suite.ts";
import { checking } from "./check.ts";
import { datalog, datalogOn } from "./datalog.ts";
import { lineage, lineageOn } from "./lineage.ts";
import { longReads, longReadsOn } from "./long-reads.ts";

export function sessions(): Suite {
  const server = new SharedServer();
  return {
    about:
      "forks, heads and turns; Datalog against SQL by hand and against DataScript; the event loop under long reads; checks of large stores",
    benches: [lineage, datalog, longReads, checking, lineageOn(server), datalogOn(server), longReadsOn(server)],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => server.version,
    close: () => server.stop(),
  };
}
