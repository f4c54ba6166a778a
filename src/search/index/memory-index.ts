// The text index of memories: an item for each, in the group of its scope.
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { ItemRef } from "./item-source.ts";
import { memoryItem } from "./memory-item.ts";
import { textIndexOf } from "./snapshot.ts";
import type { TextIndex } from "./text-index.ts";
import type { IndexItem } from "./units.ts";

/** `language` is that of a store whose index of memories is empty. */
export function memoryIndex(storage: Storage, language: TextLanguage): TextIndex {
  return textIndexOf(storage, "memories", { readItems: (items) => readItems(storage, items), language });
}

async function readItems(storage: Storage, items: readonly ItemRef[]): Promise<readonly IndexItem[]> {
  const scopes = Map.groupBy(items, ({ group }) => group);
  const found = await Promise.all(
    [...scopes].map(([scope, refs]) =>
      storage.query("memories.texts", { scope, items: JSON.stringify(refs.map(({ item }) => item)) }),
    ),
  );
  return found.flat().map(memoryItem);
}
