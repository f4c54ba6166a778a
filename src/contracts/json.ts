// What JSON can say. Caller JSON is kept as bytes exactly as it serialises; it is never reordered.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A page of a list, and where the next one starts; `next` is null at the end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}
