// A small number for each seq of a log. A whole log's numbers are in an array, so that a long log takes little memory.
// The numbers of an incomplete log are in a map, because a damaged seq may be any number.

const FIRST_LENGTH = 1024;

export class SeqMarks {
  #dense: Uint8Array | Uint16Array | null;
  readonly #sparse = new Map<number, number>();

  /** `bytes`: the size of a mark of a whole log; null: the log is not whole. */
  constructor(bytes: 1 | 2 | null) {
    this.#dense = bytes === null ? null : arrayOf(bytes, FIRST_LENGTH);
  }

  get(seq: number): number {
    return (this.#dense === null ? this.#sparse.get(seq) : this.#dense[seq]) ?? 0;
  }

  set(seq: number, mark: number): void {
    if (this.#dense !== null) {
      if (seq >= this.#dense.length) this.#dense = grown(this.#dense, seq);
      this.#dense[seq] = mark;
    } else if (mark === 0) this.#sparse.delete(seq);
    else this.#sparse.set(seq, mark);
  }

  /** The marks that are not 0, in order of seq. */
  *nonZero(): Generator<readonly [seq: number, mark: number]> {
    if (this.#dense === null) yield* [...this.#sparse].sort(([a], [b]) => a - b);
    else for (const [seq, mark] of this.#dense.entries()) if (mark > 0) yield [seq, mark];
  }
}

function arrayOf(bytes: number, length: number): Uint8Array | Uint16Array {
  return bytes === 1 ? new Uint8Array(length) : new Uint16Array(length);
}

/** Doubles the length, so that the array is copied a few times and not once for each event. */
function grown(dense: Uint8Array | Uint16Array, seq: number): Uint8Array | Uint16Array {
  const longer = arrayOf(dense.BYTES_PER_ELEMENT, Math.max(dense.length * 2, seq + 1));
  longer.set(dense);
  return longer;
}
