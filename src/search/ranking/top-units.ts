// The best few of many units, in a heap whose top is the worst of them.
export class TopUnits {
  readonly units: Int32Array;
  readonly scores: Float64Array;
  length = 0;
  readonly #compare: (a: number, b: number) => number;

  /** `compare` orders units with equal scores. */
  constructor(limit: number, compare: (a: number, b: number) => number) {
    this.units = new Int32Array(limit);
    this.scores = new Float64Array(limit);
    this.#compare = compare;
  }

  get isFull(): boolean {
    return this.length === this.units.length;
  }

  /** Of the worst; only of a heap that is full. */
  get threshold(): number {
    return this.scores[0] ?? 0;
  }

  add(unit: number, score: number): void {
    if (!this.isFull) {
      this.length += 1;
      this.#moveUp(this.length - 1, unit, score);
    } else if (this.#isWorse(this.units[0] ?? 0, this.scores[0] ?? 0, unit, score)) {
      this.#moveDown(unit, score);
    }
  }

  /** Best first. */
  sorted(): readonly { readonly unit: number; readonly score: number }[] {
    return Array.from({ length: this.length }, (_, at) => ({
      unit: this.units[at] ?? 0,
      score: this.scores[at] ?? 0,
    })).sort((a, b) => b.score - a.score || this.#compare(a.unit, b.unit));
  }

  #isWorse(unit: number, score: number, than: number, thanScore: number): boolean {
    return score < thanScore || (score === thanScore && this.#compare(unit, than) > 0);
  }

  #moveUp(from: number, unit: number, score: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const other = this.units[parent] ?? 0;
      const otherScore = this.scores[parent] ?? 0;
      if (!this.#isWorse(unit, score, other, otherScore)) break;
      this.units[at] = other;
      this.scores[at] = otherScore;
      at = parent;
    }
    this.units[at] = unit;
    this.scores[at] = score;
  }

  /** From the top. */
  #moveDown(unit: number, score: number): void {
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= this.length) break;
      const other = child + 1;
      if (
        other < this.length &&
        this.#isWorse(this.units[other] ?? 0, this.scores[other] ?? 0, this.units[child] ?? 0, this.scores[child] ?? 0)
      ) {
        child = other;
      }
      const childUnit = this.units[child] ?? 0;
      const childScore = this.scores[child] ?? 0;
      if (!this.#isWorse(childUnit, childScore, unit, score)) break;
      this.units[at] = childUnit;
      this.scores[at] = childScore;
      at = child;
    }
    this.units[at] = unit;
    this.scores[at] = score;
  }
}
