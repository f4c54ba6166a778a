// The best of many rows by their keys, the higher the better; of equal keys the lower row number is better. It is a heap whose root is
// the worst of the kept rows, so that a row which is not among the best costs one comparison.

export interface RankedRow {
  readonly row: number;
  readonly key: number;
  /** What came with the key. */
  readonly note: number;
}

export class BestRows {
  readonly #count: number;
  readonly #keys: Float64Array;
  readonly #rows: Float64Array;
  readonly #notes: Float64Array;
  #size = 0;
  /** Rows with a lower key need not be offered: −∞ until there are `count`. */
  worstKey: number;

  constructor(count: number) {
    this.#count = count;
    this.#keys = new Float64Array(count);
    this.#rows = new Float64Array(count);
    this.#notes = new Float64Array(count);
    this.worstKey = count === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }

  offer(key: number, row: number, note = 0): void {
    if (this.#size < this.#count) {
      this.#size++;
      this.#rise(this.#size - 1, key, row, note);
    } else if (this.#count > 0 && this.#isWorse(0, key, row)) {
      this.#sink(key, row, note);
    }
    if (this.#size === this.#count && this.#count > 0) this.worstKey = this.#keys[0] as number;
  }

  /** Best first. */
  sorted(): RankedRow[] {
    const kept = Array.from({ length: this.#size }, (_, i) => ({
      row: this.#rows[i] as number,
      key: this.#keys[i] as number,
      note: this.#notes[i] as number,
    }));
    return kept.sort((a, b) => b.key - a.key || a.row - b.row);
  }

  /** Whether what is at i is worse than that key and row. */
  #isWorse(i: number, key: number, row: number): boolean {
    const found = this.#keys[i] as number;
    return found < key || (found === key && (this.#rows[i] as number) > row);
  }

  #set(i: number, key: number, row: number, note: number): void {
    this.#keys[i] = key;
    this.#rows[i] = row;
    this.#notes[i] = note;
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#keys[from] as number, this.#rows[from] as number, this.#notes[from] as number);
  }

  #rise(start: number, key: number, row: number, note: number): void {
    let i = start;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#isWorse(parent, key, row)) break;
      this.#move(parent, i);
      i = parent;
    }
    this.#set(i, key, row, note);
  }

  #sink(key: number, row: number, note: number): void {
    let i = 0;
    for (let child = 1; child < this.#size; child = 2 * i + 1) {
      const right = child + 1;
      const isRightWorse =
        right < this.#size && this.#isWorse(right, this.#keys[child] as number, this.#rows[child] as number);
      const worse = isRightWorse ? right : child;
      if (!this.#isWorse(worse, key, row)) break;
      this.#move(worse, i);
      i = worse;
    }
    this.#set(i, key, row, note);
  }
}
