// The verbs of sessions: create and change them, continue one from a position, see what there was, and read them whole.
import type { CostReport, Diff, ImportReport, Tree } from "./archive.ts";
import type { Context, ContextOptions } from "./context.ts";
import type { Erasure } from "./history.ts";
import type { AttachOptions, Invocation } from "./invocations.ts";
import type { JsonableObject, JsonObject, Page } from "./json.ts";
import type { ForkInput, Moved, View } from "./lineage.ts";
import type { At } from "./locators.ts";
import type { Session, SessionFilter, SessionInput } from "./session.ts";

export interface Sessions {
  /** AlreadyExists when the id is taken, SessionDeleted when it was: ids are never used twice. */
  create<M extends object = JsonObject>(input?: SessionInput<M>): Promise<Session>;
  /** Its current state; null when there is none (a deleted session is none). at() shows what there was at a head. */
  get(at: At): Promise<Session | null>;
  list(filter?: SessionFilter): Promise<Page<Session>>;
  /** Only the given fields change; `request` is the one it belongs to from now on, null: none. */
  update<M extends object = JsonObject>(
    id: At,
    patch: Partial<Pick<Session, "title" | "status" | "tags" | "request">> & {
      readonly metadata?: JsonableObject<M>;
      /** Refuse with Conflict when the session has another version. */
      readonly version?: number;
    },
  ): Promise<Session>;
  /** Points the name at the session; a name another session has moves only when `move` is given. */
  setAlias(id: At, name: string, options?: { readonly move?: boolean }): Promise<void>;
  removeAlias(name: string): Promise<boolean>;
  /**
   * Erases everything the session holds and leaves a tombstone; null when there was none. What live forks inherit is
   * kept for them (`kept.inherited`) unless `everywhere` is set: then they show placeholders. `everywhere` can also be
   * used later, on a tombstone that keeps something or on a session that is here in part. Conflict for a session of
   * which only the name is here, as long as others name it; SessionBusy while a run in it has not ended.
   */
  delete(id: At, options?: { readonly everywhere?: boolean }): Promise<Erasure | null>;
  /** What there was at the head named, or is now where none is. */
  at(at: At): Promise<View>;
  /**
   * A new session that continues the lineage of another: from the head named, at a message, from its current head, or,
   * if it has no head, from its latest state. Rows are shared, not copied; the source gains no event.
   */
  fork(at: At, input?: ForkInput): Promise<Session>;
  /**
   * Continues the same session from the head named (its current one when none is): on a new branch when anything came
   * after that head. The current head stays until the next one is published.
   */
  resume(at: At): Promise<Moved>;
  /** Moves the current head back to the ancestor named; the session continues from there. Nothing is deleted. */
  rewind(at: At): Promise<Moved>;
  /**
   * Lets another session do work for the caller: in that session in its current state ("continue"; Conflict when a head
   * is named that is not its current one), or in a new one of kind "attached" that continues the head named, its
   * current head, or, if it has none, its latest state ("branch"; the source is not touched). The invocation runs until
   * invocations.finish(). Conflict when the session to continue is the caller, or is itself waiting for it.
   */
  attach(
    at: At,
    /** `caller`: the session that asks, in its current state. The invocation is in its log. */
    input: AttachOptions & { readonly caller: At },
  ): Promise<Invocation>;
  /** The messages a model call needs, at the head named or now: repaired, compacted, and cut to a budget. */
  context(at: At, options?: ContextOptions): Promise<Context>;
  /**
   * The whole session in its current state, so a head is refused (fork it there first). The file comes in pieces, in
   * bounded memory except for the rows, which are gathered compressed.
   */
  export(
    at: At,
    options?: {
      /** Also the sessions it invoked, and those they invoked. */
      readonly children?: boolean;
      /** false: without the names that point at it. */
      readonly aliases?: boolean;
    },
  ): AsyncIterable<Uint8Array>;
  /**
   * ArchiveCorrupted when the file is damaged, cut off or not one; UnsupportedSchemaVersion when it is of a later
   * version; AlreadyExists when a session of that id is here and is another. Nothing is changed then.
   */
  import(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | Uint8Array): Promise<ImportReport>;
  /** The conversation as Markdown, for people. */
  markdown(at: At): Promise<string>;
  /** Of one session, or of all; with a head, of the calls that can be seen there, each under the session that made it. */
  cost(at?: At): Promise<CostReport>;
  /**
   * Sessions with their branches, heads and edges: all that are linked with one, or the newest. With a head, only what leads
   * to it: the sessions of its lineage, of each the branches, heads and invocations up to there.
   */
  tree(
    at?: At,
    options?: {
      /** Sessions at most; 100 when not given. */
      readonly limit?: number;
    },
  ): Promise<Tree>;
  /** What two heads or sessions have in common and what sets them apart. */
  diff(a: At, b: At): Promise<Diff>;
}

/** Those that need no head, no branch and no archive. */
export type SessionBasics = Pick<
  Sessions,
  "create" | "get" | "list" | "update" | "setAlias" | "removeAlias" | "delete"
>;

/** The verbs that read whole sessions. src/archive has their code, which is loaded with the first call of one. */
export type ArchiveVerbs = Pick<Sessions, "export" | "import" | "markdown" | "cost" | "tree" | "diff">;

/** What holdfast/edge has too. */
export type LiveSessions = Omit<Sessions, keyof ArchiveVerbs>;
