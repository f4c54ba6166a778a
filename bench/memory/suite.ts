// The memory suite: how well searches find what they should.
import { PRAGMAS } from "../foundation/floor.ts";
import type { Suite } from "../suite.ts";
import { cranfield } from "./cranfield.ts";
import { locomoText } from "./locomo.ts";

export function memory(): Suite {
  return {
    about: "what searches find: LoCoMo and Cranfield, of --data",
    benches: [locomoText, cranfield],
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    postgresVersion: () => null,
    close: async () => undefined,
  };
}
