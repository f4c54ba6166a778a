// A cache of the last parsed and compiled queries: agents repeat queries, and parsing often costs
// more than the answer.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import type { Query } from "./ast.ts";
import { type CompiledQuery, compileQuery } from "./compile.ts";
import { checkPattern } from "./pulling.ts";
import { readQuery } from "./query.ts";

export interface PreparedQuery extends CompiledQuery {
  readonly query: Query;
}

const KEPT = 100;
/** Longer queries are not cached. */
const KEY_CHARS = 20_000;

export class PreparedQueries {
  readonly #fragments: SqlFragments;
  readonly #kept = new Map<string, PreparedQuery>();

  constructor(fragments: SqlFragments) {
    this.#fragments = fragments;
  }

  prepare(query: unknown, inputs: readonly unknown[], limit: number | null, maxRows: number): PreparedQuery {
    const key = keyOf(query, [...inputs, limit ?? 0, maxRows]);
    const known = key === null ? undefined : this.#kept.get(key);
    const made = known ?? this.#make(query, inputs, limit, maxRows);
    if (key !== null) this.#keep(key, made);
    return made;
  }

  #make(query: unknown, inputs: readonly unknown[], limit: number | null, maxRows: number): PreparedQuery {
    const read = limited(readQuery(query, inputs), limit);
    const compiled = compileQuery(read, this.#fragments, maxRows);
    for (const output of compiled.outputs) if (output.kind === "pull") checkPattern(output.of, output.pattern);
    return { ...compiled, query: read };
  }

  /** Removes the least recently used query. */
  #keep(key: string, made: PreparedQuery): void {
    this.#kept.delete(key);
    this.#kept.set(key, made);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** The cache key, only for plain values, which JSON distinguishes. */
function keyOf(query: unknown, values: readonly unknown[]): string | null {
  const isPlain = (one: unknown) => typeof one === "string" || typeof one === "boolean" || Number.isFinite(one);
  if (typeof query !== "string" || !values.every(isPlain)) return null;
  const isLong = (one: unknown) => typeof one === "string" && one.length > KEY_CHARS;
  if (isLong(query) || values.some(isLong)) return null;
  const key = JSON.stringify([query, ...values]);
  return key.length > KEY_CHARS ? null : key;
}

function limited(query: Query, limit: number | null): Query {
  return limit === null ? query : { ...query, limit: Math.min(limit, query.limit ?? limit) };
}
