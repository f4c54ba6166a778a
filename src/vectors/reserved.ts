// The collections that the store keeps for itself, of passages of messages and memories. Callers neither see nor name them.
import { HoldfastError } from "../contracts/errors.ts";

const PREFIX = "holdfast:";

export type PassageKind = "messages" | "memories";

export const MESSAGES_COLLECTION = `${PREFIX}messages`;

/** Each scope of memories has a collection: a search reads no other scope's embeddings. */
export function memoriesCollection(scope: number): string {
  return `${PREFIX}memories:${scope}`;
}

/** What the passages of a collection are of; null: it has documents of callers. */
export function passageKindOf(collection: string): PassageKind | null {
  if (!collection.startsWith(PREFIX)) return null;
  return collection === MESSAGES_COLLECTION ? "messages" : "memories";
}

/** InvalidId if callers cannot have a collection of that name. */
export function checkCollectionName(name: string): string {
  if (!name.startsWith(PREFIX)) return name;
  throw new HoldfastError("InvalidId", `a collection cannot be named ${JSON.stringify(name.slice(0, 80))}`, {
    details: { what: "collection", id: name },
    hint: `Names that begin with "${PREFIX}" are the store's own. Choose another name.`,
  });
}
