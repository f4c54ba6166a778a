// The verbs of promotion, which belong to the noun memory.
import { BOOLEAN, ID, input, orElse, param, read, write } from "./vocabulary.ts";

const SCOPE = { namespace: orElse(ID, "default"), agent: ID };
const OPTIONS = param("options", input(SCOPE));
const MEMORY = param("id", ID);

export const PROMOTION_VERBS = {
  promote: write(param("options", input({ ...SCOPE, dryRun: orElse(BOOLEAN, false) }))),
  undoPromotion: write(OPTIONS),
  explainPromotion: read(MEMORY, OPTIONS),
  pin: write(MEMORY, OPTIONS),
  unpin: write(MEMORY, OPTIONS),
};
