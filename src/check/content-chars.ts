// The character counts that messages record for their content, by the number of the content's blob. The checker
// compares a count when it reads the blob, because no index leads from a blob to its messages. Each takes four bytes: a
// store may have many millions.
import { BlobSet } from "./blob-set.ts";

/** More characters than any message has. */
const MOST = 2 ** 32 - 1;
/** A blob number above this is damage. */
const DENSE_MAX = 2 ** 28;

export class ContentChars {
  readonly #contents = new BlobSet();
  #counts = new Uint32Array(1024);

  /** False when another message counted the same blob differently. */
  add(no: number, chars: number | null): boolean {
    const known = this.#contents.has(no) ? this.of(no) : null;
    this.#contents.add(no);
    const isPlausible = chars !== null && Number.isSafeInteger(chars) && chars >= 0 && chars < MOST;
    if (!isPlausible || no < 0 || no >= DENSE_MAX) return chars === null || isPlausible;
    if (known !== null) return known === chars;
    if (no >= this.#counts.length) {
      const grown = new Uint32Array(Math.max(this.#counts.length * 2, no + 1));
      grown.set(this.#counts);
      this.#counts = grown;
    }
    this.#counts[no] = chars + 1;
    return true;
  }

  has(no: number): boolean {
    return this.#contents.has(no);
  }

  /** null: no message counted it. */
  of(no: number): number | null {
    const count = this.#counts[no] ?? 0;
    return count === 0 ? null : count - 1;
  }
}
