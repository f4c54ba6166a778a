// The foundation suite: the costs of the store's guarantees, each beside the cheapest alternative.
import type { Suite } from "../suite.ts";
import { concurrent, loopDelay, sequential } from "./appends.ts";
import { growing, growingRepetitive, wholes } from "./blobs.ts";
import { blocks } from "./blocks.ts";
import { PRAGMAS } from "./floor.ts";
import { growth } from "./growth.ts";
import { concurrentOn, growthOn, SharedServer, sequentialOn } from "./postgres.ts";
import { fanout, fanoutOn } from "./tails.ts";

export function foundation(): Suite {
  const server = new SharedServer();
  return {
    about: "appends, tails, reads, blocks and blobs on SQLite; appends and tails on PostgreSQL",
    benches: [
      sequential,
      concurrent,
      loopDelay,
      growth,
      fanout,
      blocks,
      growing,
      growingRepetitive,
      wholes,
      sequentialOn(server),
      concurrentOn(server),
      growthOn(server),
      fanoutOn(server),
    ],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => server.version,
    close: () => server.stop(),
  };
}
