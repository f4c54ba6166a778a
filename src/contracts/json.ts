// What JSON can say. Caller JSON is kept as bytes exactly as it serialises; it is never reordered.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * T when JSON can hold it. What JSON cannot hold is a type that no value has, so that the compiler names it; so are built-in objects
 * that would come back as something else: Date, URL, Buffer, Map, Set, Promise, RegExp, bytes. Unlike Json it takes interfaces,
 * which have no index signature; a property that may be undefined is one that may be missing. An instance of a class looks like
 * an interface here, and is refused by the call.
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

/** The same for what must be an object. */
export type JsonableObject<T> = T extends readonly unknown[] ? JsonObject : Jsonable<T>;

/** Of every list: which page of it. */
export interface PageOptions {
  /** From 1 to LIMITS.page; 100 when not given. */
  readonly limit?: number;
  /** Where a page ended (its `next`), of a call with the same filter and order; from the beginning when null or not given. */
  readonly cursor?: string | null | undefined;
  /** Newest first when not given. */
  readonly order?: "newest" | "oldest";
}

/** A page of a list, and where the next one starts; `next` is null at the end. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}
