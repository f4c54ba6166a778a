// All text indexes of a store: what holds of each of them, such as making it anew and checking it, is done with this list.
import type { Storage } from "../../contracts/storage/storage.ts";
import { documentIndex } from "./document-index.ts";
import { memoryIndex } from "./memory-index.ts";
import { type MessageIndexOptions, textIndexOf } from "./snapshot.ts";
import type { TextIndex } from "./text-index.ts";

export function allTextIndexes(storage: Storage, options: MessageIndexOptions): readonly TextIndex[] {
  return [
    textIndexOf(storage, "messages", options),
    memoryIndex(storage, options.language ?? "english"),
    documentIndex(storage, options),
  ];
}
