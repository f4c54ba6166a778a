// Passages as the worker embeds them: rows of numbers whose texts are read from their messages and memories.
import type { PassageRow } from "../contracts/storage/passage-queries.ts";
import { dropPassageWrites } from "../core/erasure.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { type CollectionState, collectionGuards } from "../vectors/collections.ts";
import { type PassageKind, passageKindOf } from "../vectors/reserved.ts";
import type { ItemTable } from "./item-table.ts";
import { type PassageTexts, passagesOf } from "./passage-texts.ts";
import type { TextItem } from "./source.ts";

/** Scores are computed from what is stored: half precision changes the fourth digit of a cosine, and halves the space. */
const PRECISION = "f16";

export function passageTable(kind: PassageKind, texts: PassageTexts): ItemTable {
  const { storage } = texts;
  const readRows = ({ no: collection }: CollectionState, items: readonly number[]) =>
    storage.query("passages.byItems", { collection, items: JSON.stringify(items) });
  return {
    kind,
    table: "passages",
    precision: PRECISION,
    has: (collection) => passageKindOf(collection) === kind,
    readTexts: async (state, items) => readTexts(texts, await readRows(state, items)),
    findItems: async (state, items) =>
      (await readRows(state, items)).map(({ item }) => ({ item, moveWrites: () => [] })),
    indexWrites: () => [],
    skipCommit: (state, items) => {
      const params = { collection: state.no, items: JSON.stringify(items) };
      return {
        solo: true,
        guards: collectionGuards(state, false),
        writes: dropPassageWrites([{ op: "run", statement: "passages.mark", params }]),
      };
    },
  };
}

/** Each text is read and cut once, however many of its passages are wanted. */
async function readTexts(texts: PassageTexts, rows: readonly PassageRow[]): Promise<readonly TextItem[]> {
  const slice = new TimeSlice(texts.storage.environment);
  const language = await texts.readLanguage();
  const found: TextItem[] = [];
  const bySource = Map.groupBy(rows, ({ group_no, number }) => `${group_no}/${number}`);
  for (const wanted of bySource.values()) {
    const [first] = wanted;
    const text = first === undefined ? null : await texts.readText(first.group_no, first.number);
    if (text === null) continue;
    const items = new Map(wanted.map(({ part, item }) => [part, item]));
    const passages = await runInSlices(passagesOf(text, language, Math.max(...items.keys())), slice);
    for (const { part, text: passage } of passages) {
      const item = items.get(part);
      if (item !== undefined) found.push({ item, text: passage });
    }
  }
  return found.sort((a, b) => a.item - b.item);
}
