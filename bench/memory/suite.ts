// The memory suite: how well searches find what they should.
import { PRAGMAS } from "../foundation/floor.ts";
import type { Suite } from "../suite.ts";
import { vectorBenches } from "../vectors/benches.ts";
import { cranfield } from "./cranfield.ts";
import { locomoText } from "./locomo.ts";

export function memory(): Suite {
  const vectors = vectorBenches();
  return {
    about: "what searches find (LoCoMo and Cranfield, of --data), and vectors",
    benches: [locomoText, cranfield, ...vectors.benches],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => null,
    close: vectors.close,
  };
}
