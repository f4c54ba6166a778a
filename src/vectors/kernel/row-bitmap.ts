// A set of row numbers as bits: the rows that a filter keeps.

export class RowBitmap {
  readonly #first: number;
  readonly #size: number;
  readonly #bits: Uint8Array;

  /** Of rows from `first` to `last`, fewer than 2³¹; none is in it yet. */
  constructor(first: number, last: number) {
    this.#first = first;
    this.#size = Math.max(0, last - first + 1);
    if (this.#size >= 2 ** 31) throw new Error(`bug: a bitmap of ${this.#size} rows`);
    this.#bits = new Uint8Array(Math.ceil(this.#size / 8));
  }

  add(row: number): void {
    const at = row - this.#first;
    if (!(at >= 0 && at < this.#size)) throw new Error(`bug: row ${row} is outside of the bitmap`);
    this.#bits[at >> 3] = (this.#bits[at >> 3] as number) | (1 << (at & 7));
  }

  /** Rows outside of it are not in it. */
  has(row: number): boolean {
    const at = row - this.#first;
    return at >= 0 && at < this.#size && (((this.#bits[at >> 3] as number) >> (at & 7)) & 1) === 1;
  }
}
