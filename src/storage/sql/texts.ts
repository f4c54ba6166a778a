// SQL texts by name, in parts that are made when one of their names is first looked up: a store has several hundred texts, and
// most programs use a few of them.

type Part = () => Readonly<Record<string, string>>;

/** The names of all parts together. */
export type NamesOf<P extends readonly Part[]> = { [K in keyof P]: keyof ReturnType<P[K]> & string }[number];

/** The names that there must be: all of them have a text, and no other name has one. */
export type Complete<N extends Names, Names extends string> = [Names] extends [N] ? N : never;

export class Texts<N extends string> {
  readonly #parts: readonly Part[];
  readonly #made = new Map<string, string>();
  /** Not made yet. */
  readonly #left: Part[];

  /** `first` are the parts that are looked into first: those that most programs use. */
  constructor(parts: readonly Part[], first: readonly Part[]) {
    this.#parts = parts;
    this.#left = [...first, ...parts.filter((part) => !first.includes(part))];
  }

  get(name: N): string {
    for (;;) {
      const text = this.#made.get(name);
      if (text !== undefined) return text;
      const part = this.#left.shift();
      if (part === undefined) throw new Error(`bug: no statement is called ${name}`);
      for (const [other, made] of Object.entries(part())) this.#made.set(other, made);
    }
  }

  /** All of them, for tests. */
  all(): Readonly<Record<N, string>> {
    return Object.assign({}, ...this.#parts.map((part) => part()));
  }
}
