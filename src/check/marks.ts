// A small number for each seq of a log: in a row of bytes where the log is whole, so that a long one takes little; one by
// one where it is not, because then a damaged seq may be any number.

export class Marks {
  readonly #dense: Uint8Array | Uint16Array | null;
  readonly #sparse = new Map<number, number>();

  constructor(dense: Uint8Array | Uint16Array | null) {
    this.#dense = dense;
  }

  get(seq: number): number {
    return (this.#dense === null ? this.#sparse.get(seq) : this.#dense[seq]) ?? 0;
  }

  set(seq: number, mark: number): void {
    if (this.#dense !== null) this.#dense[seq] = mark;
    else if (mark === 0) this.#sparse.delete(seq);
    else this.#sparse.set(seq, mark);
  }

  /** Those that are not 0, in order. */
  *left(): Generator<readonly [seq: number, mark: number]> {
    if (this.#dense === null) yield* [...this.#sparse].sort(([a], [b]) => a - b);
    else for (const [seq, mark] of this.#dense.entries()) if (mark > 0) yield [seq, mark];
  }
}
