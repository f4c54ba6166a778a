// A set of blob numbers with one bit for each number, because a store may have many millions of blobs.

/** A number above this is damage; the set keeps such numbers one by one. */
const DENSE_MAX = 2 ** 32;

export class BlobSet {
  #bits = new Uint8Array(1024);
  readonly #others = new Set<number>();

  add(no: number): void {
    if (!isDense(no)) {
      this.#others.add(no);
      return;
    }
    const index = Math.floor(no / 8);
    if (index >= this.#bits.length) {
      const grown = new Uint8Array(Math.max(this.#bits.length * 2, index + 1));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[index] = (this.#bits[index] ?? 0) | (1 << (no % 8));
  }

  has(no: number): boolean {
    if (!isDense(no)) return this.#others.has(no);
    return ((this.#bits[Math.floor(no / 8)] ?? 0) & (1 << (no % 8))) !== 0;
  }
}

function isDense(no: number): boolean {
  return no >= 0 && no < DENSE_MAX;
}
