// What a store holds and what sharing and compression saved.
import type { Stats } from "../contracts/holdfast.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkLimit, checkRecord } from "../core/check.ts";

export async function readStats(storage: Storage, asked: unknown): Promise<Stats> {
  const sessions = checkRecord(asked, "options", ["sessions"]).sessions;
  const most = checkLimit(sessions, "page", 10);
  const [tables, forms, largest, bytesOnDisk] = await Promise.all([
    storage.query("stats.tables"),
    storage.query("stats.blobs"),
    storage.query("stats.sessions", most),
    storage.size(),
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
    sessions: largest.map(({ shared, ...one }) => ({ ...one, sharedBytes: shared })),
  };
}

function saved(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.max(0, 1 - part / whole);
}
