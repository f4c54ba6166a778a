// The catalogue: every public verb of a store, declared once. The compiler compares it with the interfaces of the contracts: no
// verb may be missing or left over, and each must answer and take what its interface says.
import type { Checking } from "../check.ts";
import type { Holdfast } from "../holdfast.ts";
import type { Page } from "../json.ts";
import type { Querying } from "../query.ts";
import type { Searching } from "../search.ts";
import type { Reindexing } from "../text-index.ts";
import type { Tracing } from "../trace.ts";
import { AGENT_VERBS } from "./agents.ts";
import { BLOB_VERBS } from "./blobs.ts";
import { CAPTURE_VERBS } from "./captures.ts";
import { EMBEDDING_VERBS } from "./embeddings.ts";
import { HISTORY_VERBS } from "./history.ts";
import { CALL_VERBS, EVAL_VERBS, HEAD_VERBS, INVOCATION_VERBS, SNAPSHOT_VERBS, TURN_VERBS } from "./lineage.ts";
import { LOG_VERBS } from "./log.ts";
import { MEMORY_VERBS } from "./memory.ts";
import { RUN_VERBS } from "./runs.ts";
import { SEARCH_VERBS } from "./search.ts";
import { ARCHIVE_VERBS, SESSION_VERBS } from "./sessions.ts";
import { STATE_VERBS } from "./state.ts";
import { CHECK_VERBS, HANDLE_VERBS, QUERY_VERBS, REINDEX_VERBS, STATS_VERBS, TRACE_VERBS } from "./store.ts";
import { TASK_VERBS } from "./tasks.ts";
import { VECTOR_VERBS } from "./vectors.ts";
import type { InputOf, Param, ResultForm, Verb, VerbKind } from "./vocabulary.ts";

export const CATALOGUE = {
  agents: AGENT_VERBS,
  sessions: { ...SESSION_VERBS, ...ARCHIVE_VERBS },
  heads: HEAD_VERBS,
  turns: TURN_VERBS,
  calls: CALL_VERBS,
  evals: EVAL_VERBS,
  snapshots: SNAPSHOT_VERBS,
  invocations: INVOCATION_VERBS,
  history: HISTORY_VERBS,
  state: STATE_VERBS,
  runs: RUN_VERBS,
  tasks: TASK_VERBS,
  memory: MEMORY_VERBS,
  captures: CAPTURE_VERBS,
  blobs: BLOB_VERBS,
  log: LOG_VERBS,
  vectors: VECTOR_VERBS,
  embeddings: EMBEDDING_VERBS,
  stats: STATS_VERBS,
  query: QUERY_VERBS,
  search: SEARCH_VERBS,
  trace: TRACE_VERBS,
  check: CHECK_VERBS,
  reindex: REINDEX_VERBS,
  handle: HANDLE_VERBS,
} as const satisfies Readonly<Record<string, Readonly<Record<string, Verb>>>>;

type Catalogue = typeof CATALOGUE;

/** The verbs that a store has itself, by the part that implements them. */
interface StoreParts {
  readonly stats: Pick<Holdfast, "stats">;
  readonly query: Querying;
  readonly search: Searching;
  readonly trace: Tracing;
  readonly check: Checking;
  readonly reindex: Reindexing;
  readonly handle: Pick<Holdfast, "clock" | "close">;
}

/** What no verb is: facts about the store, and another name of close. */
type NoVerbs = "info" | typeof Symbol.asyncDispose;

type Nouns = Omit<Holdfast, NoVerbs | MembersOf<StoreParts>>;
type MembersOf<P> = { [K in keyof P]: keyof P[K] }[keyof P];
type Parts = Nouns & StoreParts;

/** How a member answers, read from its type. */
type KindOf<F> = F extends (...args: never[]) => Promise<unknown>
  ? "read" | "write"
  : F extends (...args: never[]) => AsyncIterable<unknown>
    ? "stream"
    : "local";

type ResultOf<F> = F extends (...args: never[]) => infer R
  ? FormOf<R extends Promise<infer T> ? T : R extends AsyncIterable<infer T> ? T : R>
  : never;
type FormOf<T> = [T] extends [Page<unknown>]
  ? "page"
  : [T] extends [Uint8Array]
    ? "bytes"
    : HasMethods<T> extends true
      ? "live"
      : "json";
type HasMethods<T> = T extends object
  ? T extends readonly unknown[]
    ? false
    : { [K in keyof T]-?: T[K] extends (...args: never[]) => unknown ? true : never }[keyof T] extends never
      ? false
      : true
  : false;

/** Whether the schemas of parameters take what the interface says, field for field. */
type Takes<Given extends readonly unknown[], P extends readonly Param[]> = Required<Given>["length"] extends P["length"]
  ? {
      [I in keyof P]: I extends keyof Required<Given> ? TakesOne<Exclude<Given[I], undefined>, P[I]["schema"]> : false;
    } extends {
      [I in keyof P]: true;
    }
    ? true
    : false
  : false;
type TakesOne<Given, S> = [Given] extends [InputOf<S>]
  ? S extends { readonly kind: "record"; readonly fields: infer F; readonly isOpen?: never }
    ? [keyof Given, keyof F] extends [keyof F, keyof Given]
      ? true
      : false
    : true
  : false;

type Conforms<F, V> = F extends (...args: infer Given) => unknown
  ? V extends { readonly kind: infer K; readonly result: infer R; readonly params: infer P extends readonly Param[] }
    ? K extends KindOf<F> & VerbKind
      ? R extends ResultOf<F> & ResultForm
        ? Takes<Given, P> extends true
          ? never
          : "its parameters differ"
        : "its result differs"
      : "its kind differs"
    : "it is not declared"
  : never;

/** The names of the verbs that the catalogue and the contracts do not agree on; none. */
type Disagreements = {
  [P in keyof Parts | keyof Catalogue]: P extends keyof Parts & keyof Catalogue
    ? {
        [K in (keyof Parts[P] | keyof Catalogue[P]) & string]: K extends keyof Parts[P] & keyof Catalogue[P]
          ? Conforms<Parts[P][K], Catalogue[P][K]> extends infer Why extends string
            ? `${P}.${K}: ${Why}`
            : never
          : `${P}.${K}: it is in one of them only`;
      }[(keyof Parts[P] | keyof Catalogue[P]) & string]
    : `${P & string}: it is in one of them only`;
}[keyof Parts | keyof Catalogue];

/** Does not compile while there is a disagreement; the compiler's message names it. */
const AGREES: Disagreements extends never ? true : Disagreements = true;
void AGREES;
