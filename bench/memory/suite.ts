// The memory suite: how well and how fast searches find what they should.
import { PRAGMAS } from "../foundation/floor.ts";
import { SharedServer } from "../foundation/postgres.ts";
import type { Suite } from "../suite.ts";
import { vectorBenches } from "../vectors/benches.ts";
import { recallBenches } from "../vectors/recall.ts";
import { cranfield } from "./cranfield.ts";
import { locomoText } from "./locomo.ts";
import { locomoHybrid } from "./locomo-hybrid.ts";
import { searchMemory } from "./resident.ts";
import { closeFilled, loopDelay, searchGrowth, searchText, searchTextOn } from "./searches.ts";
import { appendIndexed, appendIndexedOn } from "./writes.ts";

export function memory(): Suite {
  const server = new SharedServer();
  const vectors = vectorBenches();
  return {
    about: "text search (quality on LoCoMo and Cranfield, of --data; speed; cost of the index), and vectors",
    benches: [
      locomoText,
      locomoHybrid,
      cranfield,
      appendIndexed,
      searchText,
      loopDelay,
      searchGrowth,
      appendIndexedOn(server),
      searchTextOn(server),
      ...vectors.benches,
      searchMemory(vectors.filled),
      ...recallBenches(server),
    ],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => server.version,
    async close() {
      await closeFilled();
      await vectors.close();
      await server.stop();
    },
  };
}
