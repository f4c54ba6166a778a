// The texts of statements that write many rows: a few constant ones for each table, for as many rows as there are.
import type { BulkSpec, Param } from "../driver.ts";
import { sqlite } from "./dialect.ts";

/** Rows of one insert. */
const WIDTHS = [16, 2, 1];

export interface BulkText {
  readonly width: number;
  readonly text: string;
}

export class BulkTexts {
  readonly #known = new Map<BulkSpec, readonly BulkText[]>();

  /** The widest first. */
  of(spec: BulkSpec): readonly BulkText[] {
    const known = this.#known.get(spec);
    if (known !== undefined) return known;
    const widths = spec.verb === "insert" ? WIDTHS : [1];
    const made = widths.map((width) => ({ width, text: sqlite.renderBulk(spec, width) }));
    this.#known.set(spec, made);
    return made;
  }
}

export function joinRows(rows: readonly (readonly Param[])[], from: number, width: number): readonly Param[] {
  const params: Param[] = [];
  for (let i = from; i < from + width; i++) for (const param of rows[i] ?? []) params.push(param);
  return params;
}
