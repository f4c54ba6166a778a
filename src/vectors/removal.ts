// Removes items of a collection: documents, their words in the text index, embeddings of all generations, codes, fields of metadata.
// It happens in the commit that needs it, so that nothing of an erased embedding stays behind, not even its code.
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { removeItemsFieldsWrite } from "../core/metadata-index.ts";
import { removeItemsWrites } from "../search/index/item-source.ts";
import { type CollectionState, DOCUMENTS, type Generation, generationOf, putGeneration } from "./collections.ts";
import { codeBytes } from "./kernel/code.ts";
import { decodePage, encodePage, removeSlot } from "./kernel/pages.ts";

export interface Removal {
  readonly writes: readonly Write[];
  /** The current generation without the items; its row is not among the writes. */
  readonly current: Generation | null;
}

/**
 * The guard of the collection's change keeps what was read here right. `erasedAt`: also removes the blobs that only these documents
 * name; otherwise garbage collection does.
 */
export async function removeItems(
  storage: Storage,
  state: CollectionState,
  items: readonly number[],
  erasedAt: number | null,
): Promise<Removal> {
  if (items.length === 0) return { writes: [], current: state.current };
  const { no: collection } = state;
  const list = JSON.stringify(items);
  const writes: Write[] = [
    { op: "run", statement: "documents.release", params: { collection, items: list } },
    ...(erasedAt === null ? [] : [dropWrite(collection, list, erasedAt)]),
    { op: "run", statement: "documents.remove", params: { collection, items: list } },
    removeItemsFieldsWrite({ kind: DOCUMENTS, scope: collection }, items),
    ...removeItemsWrites(DOCUMENTS, collection, items),
    { op: "run", statement: "failures.forget", params: { kind: DOCUMENTS, scope: collection, items: list } },
  ];
  let { current } = state;
  for (const row of await storage.query("vectors.generations", { collection })) {
    const generation = generationOf(state.name, row);
    const changed = await removeEmbeddings(storage, state, generation, list, writes);
    if (generation.generation === current?.generation) current = changed;
    else if (changed !== generation) writes.push(putGeneration(collection, changed));
  }
  return { writes, current };
}

function dropWrite(collection: number, items: string, now: number): Write {
  return { op: "run", statement: "documents.drop", params: { collection, items, now } };
}

async function removeEmbeddings(
  storage: Storage,
  state: CollectionState,
  generation: Generation,
  items: string,
  writes: Write[],
): Promise<Generation> {
  const of = { collection: state.no, generation: generation.generation };
  const embedded = (await storage.query("vectors.itemsIn", { ...of, items })).map(({ item }) => item);
  if (embedded.length === 0) return generation;
  writes.push({ op: "run", statement: "vectors.remove", params: { ...of, items } });
  const packed = embedded.filter((item) => item <= generation.packed);
  for (const write of await removeCodes(storage, state, generation, packed)) writes.push(write);
  return {
    ...generation,
    vectors: generation.vectors - embedded.length,
    removals: generation.removals + (embedded.length - packed.length),
  };
}

/** The pages without the codes of those items, which are sorted. */
async function removeCodes(
  storage: Storage,
  { no: collection, name, change }: CollectionState,
  { generation, dimension }: Generation,
  items: readonly number[],
): Promise<readonly Write[]> {
  if (items.length === 0) return [];
  const of = { collection, generation };
  const starts = (await storage.query("vectors.pageStarts", of)).map(({ first_item }) => first_item);
  const byPage = groupByPage(starts, items);
  const writes: Write[] = [];
  for (const row of await storage.query("vectors.pagesAt", { ...of, starts: JSON.stringify([...byPage.keys()]) })) {
    const page = decodePage(row.codes, codeBytes(dimension), `page ${row.first_item} of ${JSON.stringify(name)}`);
    const gone = new Set(byPage.get(row.first_item));
    for (let slot = page.usedSlots - 1; slot >= 0; slot--) if (gone.has(page.rows[slot] ?? 0)) removeSlot(page, slot);
    writes.push({
      op: "put",
      table: "vector_pages",
      row: {
        collection_no: collection,
        generation,
        first_item: row.first_item,
        change: change + 1,
        codes: encodePage(page),
      },
    });
  }
  return writes;
}

/** A page has the items from its first one to before the next page's first one. */
function groupByPage(starts: readonly number[], items: readonly number[]): ReadonlyMap<number, readonly number[]> {
  const byPage = new Map<number, number[]>();
  let at = -1;
  for (const item of items) {
    while ((starts[at + 1] ?? Number.POSITIVE_INFINITY) <= item) at++;
    const start = starts[at];
    // No page has an item before the first page: its code is gone already.
    if (start === undefined) continue;
    const group = byPage.get(start);
    if (group === undefined) byPage.set(start, [item]);
    else group.push(item);
  }
  return byPage;
}
