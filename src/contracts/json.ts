// JSON values. A caller's JSON is stored as bytes exactly as it serialises; its keys are never reordered.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * T if JSON can hold it, otherwise a type that no value has, so that the compiler reports the mistake. Built-in objects
 * that would be read back as something else are not allowed: Date, URL, Buffer, Map, Set, Promise, RegExp, bytes.
 * Unlike Json, it accepts interfaces, which have no index signature. A property that may be undefined may be missing.
 * An instance of a class looks like an interface here; the call refuses it at run time.
 */
export type Jsonable<T> = T extends Json
  ? T
  : T extends
        | symbol
        | bigint
        | undefined
        | ((...args: never) => unknown)
        | (
            | { toJSON(...args: never): unknown }
            | { readonly [Symbol.toStringTag]: unknown }
            | { readonly [Symbol.match]: unknown }
          )
    ? {
        readonly "is not JSON": never;
      }
    : T extends readonly unknown[]
      ? { readonly [K in keyof T]: Jsonable<T[K]> }
      : T extends object
        ? { readonly [K in keyof T]: Jsonable<Exclude<T[K], undefined>> | Extract<T[K], undefined> }
        : {
            readonly "is not JSON": never;
          };

/** The same for a value that must be an object. */
export type JsonableObject<T> = T extends readonly unknown[] ? JsonObject : Jsonable<T>;

/** The paging options of every list. */
export interface PageOptions {
  /** From 1 to LIMITS.page; 100 when not given. */
  readonly limit?: number;
  /** Where a page ended (its `next`), of a call with the same filter and order; from the beginning when null or not given. */
  readonly cursor?: string | null | undefined;
  /** Default: newest first. */
  readonly order?: "newest" | "oldest";
}

/** A page of a list, and where the next one starts; `next` is null at the end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}
