// How many rows a page of a long read has. A page has five hundred short rows, and fewer rows with long contents, so
// that one statement neither blocks the event loop for long nor fills the memory.

const FIRST_ROWS = 250;
const MOST_ROWS = 500;
const LEAST_ROWS = 10;
const PAGE_BYTES = 1024 * 1024;

/** A row, of which only the content counts for the size of a page. */
interface CarryingRow {
  readonly body: Uint8Array | null;
}

export class PageSize {
  #rows = FIRST_ROWS;

  /** The number of rows of the next page. */
  get rows(): number {
    return this.#rows;
  }

  /** Assumes that the next rows are as long as those of the last page, but at most multiplies their number by four. */
  adjust(rows: readonly CarryingRow[]): void {
    if (rows.length === 0) return;
    let bytes = 0;
    for (const { body } of rows) bytes += body?.byteLength ?? 0;
    const fitting = Math.floor((PAGE_BYTES * rows.length) / Math.max(1, bytes));
    this.#rows = Math.max(LEAST_ROWS, Math.min(MOST_ROWS, fitting, this.#rows * 4));
  }
}
