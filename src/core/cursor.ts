// Pages of lists, and their cursors: opaque to callers; to the store, the number of the last row of a page.
import { HoldfastError } from "../contracts/errors.ts";
import type { Page, PageOptions } from "../contracts/json.ts";

export type ListOrder = NonNullable<PageOptions["order"]>;

export interface PageRead<R, T> {
  readonly limit: number;
  /** Reads at most so many rows. */
  read(most: number): Promise<readonly R[]>;
  item(row: R): T | Promise<T>;
  /** The cursor behind a row. */
  cursor(row: R): string;
}

/** Reads one row more than a page has: it shows whether there is a next page. */
export async function readPage<R, T>({ limit, read, item, cursor }: PageRead<R, T>): Promise<Page<T>> {
  const rows = await read(limit + 1);
  const page = rows.slice(0, limit);
  const items = await Promise.all(page.map(item));
  const last = page.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursor(last) : null };
}

export function writeCursor(no: number): string {
  return Buffer.from(`n${no}`).toString("base64url");
}

/** null when none was given. */
export function readCursor(value: unknown): number | null {
  const [no] = read(value, /^n([0-9]{1,15})$/) ?? [null];
  return no ?? null;
}

/** Where a list by number starts when no cursor is given. */
export function listStart(order: ListOrder): number {
  return order === "newest" ? Number.MAX_SAFE_INTEGER : 0;
}

/** Of lists that are in order of two numbers. */
export function writePairCursor(first: number, second: number): string {
  return Buffer.from(`p${first}.${second}`).toString("base64url");
}

export function readPairCursor(value: unknown): readonly [number, number] | null {
  const [first = 0, second = 0] = read(value, /^p([0-9]{1,15})\.([0-9]{1,15})$/) ?? [];
  return value === undefined ? null : [first, second];
}

function read(value: unknown, form: RegExp): readonly number[] | null {
  if (value === undefined) return null;
  const text = typeof value === "string" ? Buffer.from(value, "base64url").toString("utf8") : "";
  const found = form.exec(text);
  if (found !== null) return found.slice(1).map(Number);
  throw new HoldfastError("InvalidArgument", "cursor must be one that a list returned as `next`", {
    details: { what: "cursor" },
  });
}
