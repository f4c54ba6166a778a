// Counts the content of a store and the savings by sharing and compression.
import type { Embeddings } from "../contracts/embeddings.ts";
import type { Holdfast, Stats } from "../contracts/holdfast.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { STATS_VERBS } from "../contracts/verbs/store.ts";
import { readTextIndexStats } from "../core/index-stats.ts";
import { bindVerbs } from "../core/verbs.ts";

export function createStats(storage: Storage, embeddings: Embeddings): Pick<Holdfast, "stats"> {
  return bindVerbs(STATS_VERBS, null, { stats: ({ sessions }) => readStats(storage, embeddings, sessions) });
}

async function readStats(storage: Storage, embeddings: Embeddings, most: number): Promise<Stats> {
  const [tables, forms, largest, bytesOnDisk, textIndex, embedding] = await Promise.all([
    storage.query("stats.tables", {}),
    storage.query("stats.blobs", {}),
    storage.query("stats.sessions", { limit: most }),
    storage.size(),
    readTextIndexStats(storage),
    embeddings.status(),
  ]);
  const sum = (pick: (form: (typeof forms)[number]) => number) => forms.reduce((total, form) => total + pick(form), 0);
  const bytes = sum((form) => form.size);
  const referencedBytes = sum((form) => form.referenced);
  const storedBytes = sum((form) => form.stored);
  return {
    bytesOnDisk,
    nouns: Object.fromEntries(
      tables.map(({ name, rows, deleted, partial }) => [
        name,
        {
          rows,
          ...(deleted === null ? {} : { deleted: deleted - partial }),
          ...(partial === 0 ? {} : { partial }),
        },
      ]),
    ),
    blobs: {
      count: sum((form) => form.n),
      bytes,
      referencedBytes,
      storedBytes,
      outsideBytes: sum((form) => form.outside),
      dedupSavings: saved(bytes, referencedBytes),
      compressionSavings: saved(storedBytes, bytes),
    },
    textIndex,
    embeddings: embedding,
    sessions: largest.map(({ shared, ...one }) => ({ ...one, sharedBytes: shared })),
  };
}

function saved(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.max(0, 1 - part / whole);
}
