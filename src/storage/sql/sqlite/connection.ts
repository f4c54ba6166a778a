// One connection to a SQLite database: its statements are prepared once, those that write many rows in a few widths, and rows
// with values that Holdfast never writes can be read.
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { BulkSpec, Param, Row } from "../driver.ts";
import { addChecksumFunction } from "./checksum-function.ts";
import { sqlite } from "./dialect.ts";
import { isOutOfRange } from "./errors.ts";

const NO_BYTES = new Uint8Array(1).subarray(0, 0);

/** Before Node 24 an array without memory of its own is bound as NULL: no bytes must be a place with none in it. */
export const bindable =
  Number.parseInt(process.versions.node, 10) >= 24
    ? (params: readonly Param[]) => params
    : (params: readonly Param[]) =>
        params.map((param) => (param instanceof Uint8Array && param.byteLength === 0 ? NO_BYTES : param));

export class Connection {
  readonly db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    addChecksumFunction(this.db);
  }

  statement(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const made = this.db.prepare(sqlite.render(text));
    this.#statements.set(text, made);
    return made;
  }

  all(text: string, params: readonly Param[]): readonly Row[] {
    return this.statement(text).all(...bindable(params)) as readonly Row[];
  }

  /**
   * The same for code that decodes rows: a number that is larger than any we write is read as the nearest one there is,
   * so that its row can be named.
   */
  rows(text: string, params: readonly Param[]): readonly Row[] {
    try {
      return this.all(text, params);
    } catch (error) {
      if (!isOutOfRange(error)) throw error;
    }
    const statement = this.db.prepare(sqlite.render(text));
    statement.setReadBigInts(true);
    return statement.all(...bindable(params)).map(nearest);
  }

  /** How many rows it changed. */
  run(text: string, params: readonly Param[]): number {
    return Number(this.statement(text).run(...bindable(params)).changes);
  }
}

function nearest(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, cell]) => [name, typeof cell === "bigint" ? Number(cell) : cell]),
  );
}

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
