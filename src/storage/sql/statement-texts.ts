// SQL texts by name, in parts that are made when one of their names is first looked up: a store has several hundred texts, and
// most programs use a few of them. A text names its parameters (:session); the drivers get `?` for each, and values in order.

type Part = () => Readonly<Record<string, string>>;

/** The names of all parts together. */
export type NamesOf<P extends readonly Part[]> = { [K in keyof P]: keyof ReturnType<P[K]> & string }[number];

/** The names that there must be: all of them have a text, and no other name has one. */
export type Complete<N extends Names, Names extends string> = [Names] extends [N] ? N : never;

/** A text with `?` for each parameter, and the name of the value that each `?` gets. */
export interface CompiledText {
  readonly sql: string;
  readonly params: readonly string[];
}

/** A quoted text, which is no parameter whatever it contains, or a parameter. */
const QUOTED_OR_PARAM = /'[^']*'|:([a-zA-Z]\w*)/g;

function compile(text: string): CompiledText {
  const params: string[] = [];
  const sql = text.replace(QUOTED_OR_PARAM, (found, name: string | undefined) => {
    if (name === undefined) return found;
    params.push(name);
    return "?";
  });
  return { sql, params };
}

/** The values for the `?` of a text, in their order. */
export function valuesInOrder<V>({ params }: CompiledText, values: Readonly<Record<string, V>>): V[] {
  return params.map((name) => values[name] as V);
}

export class StatementTexts<N extends string> {
  readonly #parts: readonly Part[];
  readonly #made = new Map<string, string>();
  /** Those that were looked up. */
  readonly #compiled = new Map<string, CompiledText>();
  /** Not made yet. */
  readonly #left: Part[];

  /** `first` are the parts that are looked into first: those that most programs use. */
  constructor(parts: readonly Part[], first: readonly Part[]) {
    this.#parts = parts;
    this.#left = [...first, ...parts.filter((part) => !first.includes(part))];
  }

  get(name: N): CompiledText {
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const compiled = compile(this.#find(name));
    this.#compiled.set(name, compiled);
    return compiled;
  }

  #find(name: N): string {
    for (;;) {
      const text = this.#made.get(name);
      if (text !== undefined) return text;
      const part = this.#left.shift();
      if (part === undefined) throw new Error(`bug: no statement is called ${name}`);
      for (const [other, made] of Object.entries(part())) this.#made.set(other, made);
    }
  }

  /** All of them as the drivers get them, for tests. */
  all(): Readonly<Record<N, string>> {
    const made: Readonly<Record<string, string>> = Object.assign({}, ...this.#parts.map((part) => part()));
    const entries = Object.entries(made).map(([name, text]) => [name, compile(text).sql]);
    return Object.fromEntries(entries) as Record<N, string>;
  }
}
