// Reads lists page by page. A cursor is opaque to callers. It contains the list's name, a digest of the filter and
// order, and the position of the page's last row.
import { hash } from "node:crypto";
import { HoldfastError } from "../contracts/errors.ts";
import type { Page, PageOptions } from "../contracts/json.ts";

export type ListOrder = NonNullable<PageOptions["order"]>;

/** The list, filter and order of a call. A cursor works only with the same three; with others, rows would be skipped or repeated. */
export interface ListCall {
  /** As the catalogue names it, such as `sessions.list`. */
  readonly list: string;
  readonly order: ListOrder | "largest";
  /** What the rows must match, always in the same order. */
  readonly filter?: readonly (string | number | boolean | null | undefined)[];
}

/** The numbers by which a list is ordered. */
type Position = readonly number[];

export interface PageRead<P extends Position, R, T> extends ListCall {
  readonly limit: number;
  readonly cursor: string | null;
  /** The position before the first row. */
  readonly start: P;
  /** Reads at most `most` rows after a position. */
  read(after: P, most: number): Promise<readonly R[]>;
  item(row: R): T | Promise<T>;
  position(row: R): P;
}

/** Reads one row more than a page has: it shows whether there is a next page. */
export async function readPage<const P extends Position, R, T>(page: PageRead<P, R, T>): Promise<Page<T>> {
  const { limit, cursor, start } = page;
  const after = cursor === null ? start : readCursor(page, cursor, start);
  const rows = await page.read(after, limit + 1);
  const shown = rows.slice(0, limit);
  const items = await Promise.all(shown.map((row) => page.item(row)));
  const last = shown.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? writeCursor(page, page.position(last)) : null };
}

/** Where a list by number starts when no cursor is given. */
export function listStart(order: ListOrder): readonly [number] {
  return [order === "newest" ? Number.MAX_SAFE_INTEGER : 0];
}

export function writeCursor(call: ListCall, position: Position): string {
  const text = `${call.list} ${callDigest(call)} ${position.join(".")}`;
  return Buffer.from(`${text} ${shortDigest(text)}`).toString("base64url");
}

const FORM = /^(([a-zA-Z]+\.[a-zA-Z]+) ([0-9a-f]{8}) ([0-9]{1,15}(?:\.[0-9]{1,15})*)) ([0-9a-f]{8})$/;
const CURSOR_LENGTH_MAX = 400;

/** Any whole cursor that a list returned; the list checks that it is its own. A cursor that was cut off would end the list early. */
export function checkCursor(value: unknown, what: string): string {
  if (typeof value === "string" && isWhole(value)) return value;
  throw notACursor(what);
}

function isWhole(cursor: string): boolean {
  if (cursor.length > CURSOR_LENGTH_MAX) return false;
  const text = decode(cursor);
  const [, content = "", , , , digest] = FORM.exec(text) ?? [];
  return digest === shortDigest(content) && Buffer.from(text).toString("base64url") === cursor;
}

function notACursor(what: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${what} must be a whole one that a list returned as \`next\``, {
    hint: "Give the `next` of a page of this list, or no cursor to begin with the first page.",
    details: { what },
  });
}

function readCursor<P extends Position>(call: ListCall, cursor: string, start: P): P {
  const [, , list = "", digest, numbers = ""] = FORM.exec(decode(cursor)) ?? [];
  if (list !== call.list) {
    throw new HoldfastError("InvalidArgument", `cursor belongs to ${list}, not to ${call.list}`, {
      hint: "Give the `next` of a page of this list, or no cursor to begin with the first page.",
      details: { what: "cursor", list: call.list, cursorOf: list },
    });
  }
  if (digest !== callDigest(call)) {
    throw new HoldfastError(
      "InvalidArgument",
      `cursor belongs to another call of ${list}, with another filter or order`,
      {
        hint: "Give the filter and the order of the call that returned it; only the limit may differ.",
        details: { what: "cursor", list },
      },
    );
  }
  const position = numbers.split(".").map(Number);
  if (position.length !== start.length) throw notACursor("cursor");
  return position as Position as P;
}

function callDigest({ order, filter = [] }: ListCall): string {
  return shortDigest(JSON.stringify([order, ...filter.map((one) => one ?? null)]));
}

function shortDigest(text: string): string {
  return hash("sha256", text, "hex").slice(0, 8);
}

function decode(cursor: string): string {
  return Buffer.from(cursor, "base64url").toString("utf8");
}
