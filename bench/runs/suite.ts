// The runs suite: the costs of durable steps and checkpoints, each beside the cheapest alternative.
import { PRAGMAS } from "../foundation/floor.ts";
import { SharedServer } from "../foundation/postgres.ts";
import type { Suite } from "../suite.ts";
import { sequential as checkpoints, load, recover } from "./checkpoints.ts";
import { concurrentOn, ratesOn, sequentialOn } from "./postgres.ts";
import { contextRead, contextReadOn } from "./reads.ts";
import { overhead, overheadOn, resume, resumeOn } from "./rerun.ts";
import { concurrent, growth, loopDelay, rates, sequential } from "./steps.ts";

export function runs(): Suite {
  const server = new SharedServer();
  return {
    about: "steps, checkpoints, recovery and recorded reads of runs on SQLite; steps and recorded reads on PostgreSQL",
    benches: [
      sequential,
      checkpoints,
      concurrent,
      growth,
      recover,
      load,
      loopDelay,
      rates,
      contextRead,
      overhead,
      resume,
      sequentialOn(server),
      concurrentOn(server),
      ratesOn(server),
      contextReadOn(server),
      overheadOn(server),
      resumeOn(server),
    ],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => server.version,
    close: () => server.stop(),
  };
}
