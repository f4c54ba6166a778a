// How many rows a page of a long read has. Short rows come five hundred at a time; where they carry long contents, a page
// has fewer, so that one statement neither holds the event loop for long nor fills the memory.

const FIRST_ROWS = 250;
const MOST_ROWS = 500;
const LEAST_ROWS = 10;
const PAGE_BYTES = 1024 * 1024;

/** What counts of a row: the content it brings along. */
interface CarryingRow {
  readonly body: Uint8Array | null;
}

export class PageSize {
  #rows = FIRST_ROWS;

  /** Of the next page. */
  get rows(): number {
    return this.#rows;
  }

  /** The rows to come are taken to be like those of the last page, but at most four times as many. */
  adjust(rows: readonly CarryingRow[]): void {
    if (rows.length === 0) return;
    let bytes = 0;
    for (const { body } of rows) bytes += body?.byteLength ?? 0;
    const fitting = Math.floor((PAGE_BYTES * rows.length) / Math.max(1, bytes));
    this.#rows = Math.max(LEAST_ROWS, Math.min(MOST_ROWS, fitting, this.#rows * 4));
  }
}
