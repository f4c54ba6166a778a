// Keeps the text index of an open store: what core/index-schedule.ts drives in the background, and reindex.
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Reindexing, TextLanguage } from "../contracts/text-index.ts";
import { REINDEX_VERBS } from "../contracts/verbs/store.ts";
import type { IndexedKind, IndexUpkeep } from "../core/index-schedule.ts";
import { readTextIndexStats } from "../core/index-stats.ts";
import { bindVerbs } from "../core/verbs.ts";
import { allTextIndexes } from "./index/all-indexes.ts";
import { searchIsOff } from "./index/search-off.ts";
import type { TextIndex } from "./index/text-index.ts";

interface IndexPart {
  readonly verbs: Reindexing;
  readonly upkeep: IndexUpkeep;
}

/** `search` is null if the store was opened without. */
export function createUpkeep(
  storage: Storage,
  payloads: Payloads,
  search: { readonly language: TextLanguage } | null,
): IndexPart {
  const language = search?.language ?? "english";
  const indexes = allTextIndexes(storage, { payloads, language });
  const indexOf = (kind: IndexedKind) => {
    const found = indexes.find(({ source }) => source.kind === kind);
    if (found === undefined) throw new Error(`bug: there is no index of ${kind}`);
    return found;
  };
  const verbs: Reindexing = bindVerbs(REINDEX_VERBS, null, {
    reindex: async (options = {}) => {
      if (search === null) throw searchIsOff();
      await reindexAll(indexes, options);
      return readTextIndexStats(storage);
    },
  });
  const upkeep: IndexUpkeep = {
    run: async (kind, least, background) => {
      try {
        await indexOf(kind).writer.run({ least, language, background });
      } catch (error) {
        // A later run does it, or a search.
        storage.environment.log("warn", "search.index.write", { kind, error: String(error) });
      }
    },
    forget: (kind) => indexOf(kind).forget(),
    stop: async () => {
      await Promise.all(indexes.map(({ writer }) => writer.stop()));
    },
  };
  return { verbs, upkeep };
}

/** One after the other; the progress is that of all so far. */
async function reindexAll(
  indexes: readonly TextIndex[],
  { onProgress, ...options }: Parameters<Reindexing["reindex"]>[0] = {},
): Promise<void> {
  let before = 0;
  for (const index of indexes) {
    let done = 0;
    await index.reindex({
      ...options,
      onProgress: ({ units, total }) => {
        done = total;
        onProgress?.({ units: before + units, total: before + total });
      },
    });
    before += done;
  }
}
