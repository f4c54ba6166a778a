// The vocabulary in which verbs are declared: how a verb answers, and what each of its parameters may be. A declaration is plain
// data that JSON Schema can express. core/arguments.ts checks arguments by it, and core/verbs.ts binds an implementation to it.
import type { AgentDefinition, AnyAgent } from "../agent-definitions.ts";
import type { LimitName } from "../limits.ts";
import type { At, Locator } from "../locators.ts";

/** read and write answer with a promise, stream with an async iterable, local at once and without the store. */
export type VerbKind = "read" | "write" | "stream" | "local";

/** page: a page of a list. live: an object with methods, which stays in this process. */
export type ResultForm = "json" | "page" | "bytes" | "live";

export interface Verb {
  readonly kind: VerbKind;
  readonly result: ResultForm;
  readonly params: readonly Param[];
}

export interface Param {
  /** As errors name it. */
  readonly name: string;
  readonly schema: Schema;
}

export type Fields = Readonly<Record<string, Schema>>;

/**
 * How a verb takes a session, always as an id, as the text of a locator, or as a locator. id: an id may be new, a locator names a
 * session that exists; a head is refused. current: a head is refused. locator: a head is honoured.
 */
export type SessionUse = "id" | "current" | "locator";

interface Presence {
  readonly optional?: true;
  readonly nullable?: true;
  /** What an implementation gets when nothing is given. */
  readonly fallback?: string | number | boolean | null;
  /** How to write what a list or an object is given for: callers often put another argument in its place. */
  readonly usage?: string;
}

export type Schema = Presence &
  (
    | { readonly kind: "ref" | "head" | "digest" | "rowId" | "cursor" | "boolean" | "signal" | "function" | "bytes" }
    /** `orEmpty`: an empty text stands for none. */
    | { readonly kind: "id"; readonly orEmpty?: true }
    /** A text that people read, of so many bytes at most. */
    | { readonly kind: "text"; readonly limit: LimitName; readonly isBlankRefused?: true }
    | { readonly kind: "whole"; readonly min: number; readonly max: number; readonly orText?: string }
    /** A number, whole or not. */
    | { readonly kind: "number"; readonly min: number; readonly max?: number }
    /** How many rows of a list. */
    | { readonly kind: "limit"; readonly limit: LimitName }
    | { readonly kind: "choice"; readonly of: readonly string[] }
    /** Any JSON, an object of JSON, an object whose entries are kept one by one. */
    | { readonly kind: "json" | "object" }
    | { readonly kind: "entries"; readonly keys: LimitName; readonly values: LimitName }
    | { readonly kind: "list"; readonly of: Schema; readonly limit: LimitName; readonly isSet?: true }
    | {
        readonly kind: "record";
        readonly fields: Fields;
        /** Errors name a field by this and its name; by its name alone when this is not given. */
        readonly prefix?: string;
        /** Errors name a field by where the record is, such as `blocks[2].label`. */
        readonly isPlaced?: true;
        /** Other fields are ignored, not refused. */
        readonly isOpen?: true;
      }
    | {
        readonly kind: "session";
        readonly use: SessionUse;
        /** What the verb does, and what to do instead at a head. */
        readonly action?: string;
        readonly hint?: string;
      }
    /** The code of an agent. The part that knows agents gives its check to the binding. */
    | { readonly kind: "agent" }
    /** The implementation checks it: `as` names what it must be. */
    | { readonly kind: "checked"; readonly as: string }
  );

export type Kind<K extends Schema["kind"]> = { readonly kind: K };

export const ID: Kind<"id"> = { kind: "id" };
export const ID_OR_EMPTY: Kind<"id"> & { readonly orEmpty: true } = { kind: "id", orEmpty: true };
/** A blob's ref. */
export const REF: Kind<"ref"> = { kind: "ref" };
export const HEAD: Kind<"head"> = { kind: "head" };
/** `<session>#<seq>`. */
export const ROW_ID: Kind<"rowId"> = { kind: "rowId" };
export const BOOLEAN: Kind<"boolean"> = { kind: "boolean" };
export const SIGNAL: Kind<"signal"> = { kind: "signal" };
export const AGENT: Kind<"agent"> = { kind: "agent" };
export const callback = <F>() => ({ kind: "function" }) as Callback<F>;
export const BYTES: Kind<"bytes"> = { kind: "bytes" };
export const JSON_VALUE: Kind<"json"> = { kind: "json" };
export const JSON_OBJECT: Kind<"object"> = { kind: "object" };

const MOST = Number.MAX_SAFE_INTEGER;

export const whole = (min = 0, max = MOST) => ({ kind: "whole", min, max }) as const;
/** A number of at least `min`, and at most `max`. */
export const amount = (min: number, max?: number) =>
  ({ kind: "number", min, ...(max === undefined ? {} : { max }) }) as const;
export const text = (limit: LimitName) => ({ kind: "text", limit }) as const;
export const choice = <const C extends readonly string[]>(of: C) => ({ kind: "choice", of }) as const;
export const list = <S extends Schema>(of: S, limit: LimitName) => ({ kind: "list", of, limit }) as const;
/** A list in which what is given twice counts once. */
export const set = <S extends Schema>(of: S, limit: LimitName) => ({ kind: "list", of, limit, isSet: true }) as const;
/** What only the implementation can check, because it is more than data or has a grammar of its own. */
export const checked = <T>(as: string) => ({ kind: "checked", as }) as CheckedSchema<T>;

export interface Callback<F> {
  readonly kind: "function";
  /** For the compiler only. */
  readonly of?: F;
}

export interface CheckedSchema<T> {
  readonly kind: "checked";
  readonly as: string;
  /** For the compiler only. */
  readonly of?: T;
}

/** Options by which a call may be adjusted: errors name a field by its name alone. */
export const options = <const F extends Fields>(fields: F) => ({ kind: "record", fields, optional: true }) as const;
/** The same of what must be given. */
export const input = <const F extends Fields>(fields: F) => ({ kind: "record", fields }) as const;
/** An object that must be given; errors name a field by this name and its own. */
export const record = <const F extends Fields>(prefix: string, fields: F) =>
  ({ kind: "record", fields, prefix }) as const;

export type Optional<S extends Schema> = S & { readonly optional: true };
export const optional = <S extends Schema>(schema: S) => ({ ...schema, optional: true }) as Optional<S>;
export const nullable = <S extends Schema>(schema: S) => ({ ...schema, nullable: true }) as S & { nullable: true };
/** An implementation gets `fallback` when nothing is given. */
export const orElse = <S extends Schema, const D extends string | number | boolean | null>(schema: S, fallback: D) =>
  ({ ...schema, optional: true, fallback }) as S & { readonly optional: true; readonly fallback: D };

/** Errors say how to write the call if something else than a list, or an object, is given. */
export const withUsage = <S extends Schema>(schema: S, usage: string) => ({ ...schema, usage }) as S;

export const limit = <const D extends number>(name: LimitName, fallback: D) =>
  orElse({ kind: "limit", limit: name } as const, fallback);
/** null is what `next` is at the end of a list, so that a caller may give it back: it means the beginning. */
const CURSOR = orElse(nullable({ kind: "cursor" } as const), null);
export const ORDER = orElse(choice(["newest", "oldest"]), "newest");
/** The fields of every list. */
export const PAGE = { limit: limit("page", 100), cursor: CURSOR, order: ORDER };

export const sessionId = (action: string, hint?: string) =>
  ({ kind: "session", use: "id", action, ...(hint === undefined ? {} : { hint }) }) as SessionSchema<"id">;
export const currentSession = (action: string, hint?: string) =>
  ({ kind: "session", use: "current", action, ...(hint === undefined ? {} : { hint }) }) as SessionSchema<"current">;
export const LOCATOR: SessionSchema<"locator"> = { kind: "session", use: "locator" };

export interface SessionSchema<U extends SessionUse> {
  readonly kind: "session";
  readonly use: U;
  readonly action?: string;
  readonly hint?: string;
}

export const param = <const N extends string, S extends Schema>(name: N, schema: S) => ({ name, schema });

const declare =
  <K extends VerbKind, R extends ResultForm>(kind: K, result: R) =>
  <const P extends readonly Param[]>(...params: P) => ({ kind, result, params });

export const read = declare("read", "json");
export const write = declare("write", "json");
export const stream = declare("stream", "json");
export const local = declare("local", "json");
export const readPage = declare("read", "page");
export const readBytes = declare("read", "bytes");
export const streamBytes = declare("stream", "bytes");
export const readLive = declare("read", "live");
export const writeLive = declare("write", "live");
export const localLive = declare("local", "live");

/** What a caller may give for a schema. */
export type InputOf<S> = S extends { readonly nullable: true } ? PlainInput<S> | null : PlainInput<S>;
type PlainInput<S> =
  S extends Kind<"session">
    ? At
    : S extends { readonly kind: "record"; readonly fields: infer F }
      ? RecordInput<F>
      : S extends { readonly kind: "list"; readonly of: infer O }
        ? readonly InputOf<O>[]
        : PlainValue<S>;
type RecordInput<F> = { readonly [K in keyof F as IsOptional<F[K]> extends true ? never : K]: InputOf<F[K]> } & {
  readonly [K in keyof F as IsOptional<F[K]> extends true ? K : never]?: InputOf<F[K]> | undefined;
};
type IsOptional<S> = S extends { readonly optional: true } ? true : false;

/** A row's id, read. */
export interface RowId {
  readonly session: string;
  readonly seq: number;
}

/** What an implementation gets for a schema: a ref is its digest. */
export type ValueOf<S> = S extends { readonly nullable: true } ? CheckedValue<S> | null : CheckedValue<S>;
type CheckedValue<S> = S extends { readonly kind: "session"; readonly use: infer U }
  ? U extends "locator"
    ? Locator
    : string
  : S extends Kind<"ref">
    ? Uint8Array
    : S extends Kind<"rowId">
      ? RowId
      : S extends Kind<"agent">
        ? AgentDefinition
        : S extends Kind<"entries">
          ? readonly { readonly key: string; readonly bytes: Uint8Array }[]
          : S extends { readonly kind: "record"; readonly fields: infer F }
            ? RecordValue<F>
            : S extends { readonly kind: "list"; readonly of: infer O }
              ? readonly ValueOf<O>[]
              : PlainValue<S>;
type RecordValue<F> = { readonly [K in keyof F as MayLack<F[K]> extends true ? never : K]: GivenOrFallback<F[K]> } & {
  readonly [K in keyof F as MayLack<F[K]> extends true ? K : never]?: ValueOf<F[K]>;
};
type MayLack<S> = S extends { readonly fallback: unknown } ? false : IsOptional<S>;
type GivenOrFallback<S> = ValueOf<S> | (S extends { readonly fallback: infer D } ? D : never);

type PlainValue<S> =
  S extends Kind<"id" | "ref" | "head" | "digest" | "rowId" | "cursor" | "text">
    ? string
    : S extends { readonly kind: "whole"; readonly orText: infer T }
      ? number | T
      : S extends Kind<"whole" | "limit" | "number">
        ? number
        : S extends Kind<"boolean">
          ? boolean
          : S extends { readonly kind: "choice"; readonly of: readonly (infer C)[] }
            ? C
            : S extends Kind<"signal">
              ? AbortSignal
              : S extends Kind<"bytes">
                ? Uint8Array
                : S extends Callback<infer F>
                  ? F
                  : S extends Kind<"agent">
                    ? AnyAgent
                    : S extends Kind<"object" | "entries">
                      ? object
                      : S extends CheckedSchema<infer T>
                        ? T
                        : unknown;

/** The arguments of an implementation. A stream gets a function that finds its session, because it begins with its first read. */
export type ValuesOf<V extends Verb> = ParamValues<V["params"], V["kind"]>;
type ParamValues<P extends readonly Param[], K extends VerbKind> = {
  [I in keyof P]: K extends "stream" ? StreamValue<P[I]["schema"]> : ParamValue<P[I]["schema"]>;
};
type StreamValue<S> = S extends Kind<"session"> ? () => Promise<ValueOf<S>> : ParamValue<S>;
/** A record that is not given is one without fields, or with what they fall back to. */
type ParamValue<S> =
  S extends Kind<"record"> ? ValueOf<S> : MayLack<S> extends true ? ValueOf<S> | undefined : GivenOrFallback<S>;
