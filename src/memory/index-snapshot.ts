// The text index of the memories of a scope, as a search reads it.
import type { Storage } from "../contracts/storage/storage.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { memoryItem } from "../search/index/memory-item.ts";
import { createNaiveIndex } from "../search/index/naive-index.ts";
import type { IndexSnapshot } from "../search/index/reader.ts";
import type { IndexItem } from "../search/index/units.ts";
import type { TextLanguage } from "../search/text/stem.ts";

export const LANGUAGE: TextLanguage = "english";

const PAGE_ROWS = 500;

export async function openMemoryIndex(storage: Storage, scope: number): Promise<IndexSnapshot> {
  const slice = new TimeSlice(storage.environment);
  const items: IndexItem[] = [];
  for (let after = 0; ; ) {
    const rows = await storage.query("memories.texts", { scope, after, limit: PAGE_ROWS });
    for (const row of rows) {
      items.push(memoryItem(row));
      if (slice.isSpent) await slice.pause();
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_ROWS) return createNaiveIndex("memories", items, LANGUAGE);
    after = last.no;
  }
}
