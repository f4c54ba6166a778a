// Which embedder a store's embeddings are of. A new embedder takes over by itself, and the texts are embedded again. One that the store
// has left takes over only on request: otherwise two programs with different embedders would take turns to pay for all texts.
import type { Storage } from "../contracts/storage/storage.ts";
import { plainObject } from "../core/decode.ts";
import type { CheckedEmbedder } from "../core/embed-texts.ts";
import { readFact, replaceFact } from "./store-facts.ts";

const NAME = "embedding:model";

export interface ModelRecord {
  readonly current: string;
  /** Ids of the embedders before it. */
  readonly left: readonly string[];
}

export async function readModel(storage: Storage): Promise<ModelRecord | null> {
  const text = await readFact(storage, NAME);
  return text === null ? null : decodeModel(text);
}

/** Makes the embedder the store's if the store never had it, or in any case with `isRequested`. */
export async function adoptModel(
  storage: Storage,
  { id }: Pick<CheckedEmbedder, "id">,
  isRequested: boolean,
): Promise<ModelRecord> {
  for (;;) {
    const text = await readFact(storage, NAME);
    const record = text === null ? null : decodeModel(text);
    if (record !== null && (record.current === id || (record.left.includes(id) && !isRequested))) return record;
    const left = record === null ? [] : [...record.left.filter((one) => one !== id), record.current];
    const next: ModelRecord = { current: id, left };
    if (await replaceFact(storage, NAME, text, JSON.stringify(next))) {
      if (record !== null) storage.environment.log("info", "embeddings.model", { from: record.current, to: id });
      return next;
    }
  }
}

function decodeModel(text: string): ModelRecord | null {
  const { current, left } = plainObject.read(JSON.parse(text)) ?? {};
  if (typeof current !== "string" || !Array.isArray(left)) return null;
  return { current, left: left.filter((one): one is string => typeof one === "string") };
}
