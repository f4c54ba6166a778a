// The index of metadata: rows (kind, scope, path, value, item) that are written with the item. A condition is one range of its
// key; `and`, `or` and `not` are computed here over sorted item numbers.
import type { JsonObject } from "../contracts/json.ts";
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { fieldsOf } from "./metadata-fields.ts";
import type { ParsedFilter } from "./metadata-filter.ts";

/** The items that one filter is about: of a kind ("documents"), in one of its scopes (the number of a collection). */
export interface MetadataScope {
  readonly kind: string;
  readonly scope: number;
}

/** The rows of a new item, or of one whose rows were removed. */
export function addFieldWrites({ kind, scope }: MetadataScope, item: number, metadata: JsonObject): readonly Write[] {
  return fieldsOf(metadata).map(({ path, value }) => ({
    op: "insert",
    table: "metadata_fields",
    row: { kind, scope, path, value, item },
  }));
}

export function removeFieldsWrite({ kind, scope }: MetadataScope, item: number): Write {
  return { op: "run", statement: "metadata.removeItem", params: { kind, scope, item } };
}

export function removeItemsFieldsWrite({ kind, scope }: MetadataScope, items: readonly number[]): Write {
  return { op: "run", statement: "metadata.removeItems", params: { kind, scope, items: JSON.stringify(items) } };
}

export function removeScopeFieldsWrite({ kind, scope }: MetadataScope): Write {
  return { op: "run", statement: "metadata.removeScope", params: { kind, scope } };
}

const PAGE_ROWS = 10_000;

/** Sorted numbers of items, each once. */
type ItemNumbers = readonly number[];

/**
 * The items that match, sorted. `readAll` gives all items of the scope, sorted; it is called once at most, and only for a filter that
 * cannot do without. Items that are written meanwhile may be in the answer or not: the reader of an item checks its metadata again.
 */
export async function findItems(
  storage: Storage,
  scope: MetadataScope,
  filter: ParsedFilter,
  readAll: () => Promise<ItemNumbers>,
): Promise<ItemNumbers> {
  let all: Promise<ItemNumbers> | undefined;
  const evaluator: Evaluator = {
    storage,
    scope,
    readAll: () => {
      all ??= readAll();
      return all;
    },
  };
  return evaluate(evaluator, filter);
}

interface Evaluator {
  readonly storage: Storage;
  readonly scope: MetadataScope;
  readAll(): Promise<ItemNumbers>;
}

async function evaluate(evaluator: Evaluator, filter: ParsedFilter): Promise<ItemNumbers> {
  switch (filter.kind) {
    case "field":
      return readRange(evaluator, filter);
    case "not":
      return subtract(await evaluator.readAll(), await evaluate(evaluator, filter.of));
    case "any": {
      const found: number[] = [];
      for (const one of filter.of) for (const item of await evaluate(evaluator, one)) found.push(item);
      return sortUnique(found);
    }
    case "all":
      return evaluateAll(evaluator, filter.of);
  }
}

/** What a filter excludes is subtracted from what the others found, so that most filters never read all items. */
async function evaluateAll(evaluator: Evaluator, filters: readonly ParsedFilter[]): Promise<ItemNumbers> {
  let found: ItemNumbers | undefined;
  for (const one of filters) {
    if (one.kind === "not") continue;
    const items = await evaluate(evaluator, one);
    found = found === undefined ? items : intersect(found, items);
    if (found.length === 0) return found;
  }
  found ??= await evaluator.readAll();
  for (const one of filters) if (one.kind === "not") found = subtract(found, await evaluate(evaluator, one.of));
  return found;
}

async function readRange(
  { storage, scope }: Evaluator,
  { path, range }: Extract<ParsedFilter, { kind: "field" }>,
): Promise<ItemNumbers> {
  const items: number[] = [];
  let from = { value: range.from, item: 0 };
  for (;;) {
    const page = await storage.query("metadata.items", {
      ...scope,
      path,
      from: from.value,
      after: from.item,
      to: range.to,
      limit: PAGE_ROWS,
    });
    for (const { item } of page) items.push(item);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return sortUnique(items);
    from = last;
  }
}

/** An item has several values of a field if it is a list. */
function sortUnique(items: number[]): ItemNumbers {
  items.sort((a, b) => a - b);
  return items.filter((item, i) => item !== items[i - 1]);
}

function intersect(some: ItemNumbers, others: ItemNumbers): ItemNumbers {
  const found: number[] = [];
  let at = 0;
  for (const item of some) {
    while (at < others.length && (others[at] as number) < item) at++;
    if (others[at] === item) found.push(item);
  }
  return found;
}

function subtract(some: ItemNumbers, others: ItemNumbers): ItemNumbers {
  let at = 0;
  return some.filter((item) => {
    while (at < others.length && (others[at] as number) < item) at++;
    return others[at] !== item;
  });
}
