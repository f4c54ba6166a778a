// A set of row numbers as bits: the rows that a filter keeps.

export class RowBitmap {
  readonly #first: number;
  readonly #bits: Uint8Array;

  /** Of rows from `first` to `last`; none is in it yet. */
  constructor(first: number, last: number) {
    this.#first = first;
    this.#bits = new Uint8Array(Math.max(0, Math.ceil((last - first + 1) / 8)));
  }

  add(row: number): void {
    const at = row - this.#first;
    const byte = Math.floor(at / 8);
    const bits = this.#bits[byte];
    if (bits === undefined) throw new Error(`bug: row ${row} is outside of the bitmap`);
    this.#bits[byte] = bits | (1 << (at % 8));
  }

  has(row: number): boolean {
    const at = row - this.#first;
    // A row outside of it reads undefined, which is 0 to the shift.
    return (((this.#bits[Math.floor(at / 8)] as number) >> (at % 8)) & 1) === 1;
  }
}
