// The error for a stored embedding that is none.
import type { HoldfastError } from "../contracts/errors.ts";
import { damagedRow } from "../core/decode.ts";

export function damagedEmbedding(collection: string, item: number, why: string): HoldfastError {
  return damagedRow({ kind: "embedding", collection, item }, why, "embedding");
}
