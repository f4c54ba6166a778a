// The verbs of sessions: create and change them, continue one from a position, read one at a position, and read them
// whole.
import type { CostReport, Diff, ImportReport, Tree } from "./archive.ts";
import type { Context, ContextOptions } from "./context.ts";
import type { Erasure } from "./history.ts";
import type { AttachOptions, Invocation } from "./invocations.ts";
import type { JsonableObject, JsonObject, Page } from "./json.ts";
import type { ForkInput, Moved, View } from "./lineage.ts";
import type { At } from "./locators.ts";
import type { Session, SessionFilter, SessionInput } from "./session.ts";

export interface Sessions {
  /** AlreadyExists if the id is taken; SessionDeleted if a deleted session had it, because ids are never reused. */
  create<M extends object = JsonObject>(input?: SessionInput<M>): Promise<Session>;
  /** The current state; null if there is no such session, or it was deleted. at() reads a session at a head. */
  get(at: At): Promise<Session | null>;
  list(filter?: SessionFilter): Promise<Page<Session>>;
  /** Changes only the given fields. `request: null` removes the session from its request. */
  update<M extends object = JsonObject>(
    id: At,
    patch: Partial<Pick<Session, "title" | "status" | "tags" | "request">> & {
      readonly metadata?: JsonableObject<M>;
      /** Refuse with Conflict when the session has another version. */
      readonly version?: number;
    },
  ): Promise<Session>;
  /** Makes the name an alias of the session. If another session has the alias, it moves only with `move`. */
  setAlias(id: At, name: string, options?: { readonly move?: boolean }): Promise<void>;
  removeAlias(name: string): Promise<boolean>;
  /**
   * Erases everything in the session and leaves a tombstone; null if there was no such session. Parts that live forks
   * inherit are kept for them (`kept.inherited`) unless `everywhere` is set: then the forks show placeholders.
   * `everywhere` can also be used later, on a tombstone that still keeps such parts or on a session that is here in
   * part. Conflict for a session of which only the name is here, as long as other sessions name it; SessionBusy while a
   * run in it has not ended.
   */
  delete(id: At, options?: { readonly everywhere?: boolean }): Promise<Erasure | null>;
  /** The contents of the session at the named head, or now if no head is named. */
  at(at: At): Promise<View>;
  /**
   * A new session that continues the lineage of another: from the head named, at a message, from its current head, or,
   * if it has no head, from its latest state. Rows are shared, not copied; the source gains no event.
   */
  fork(at: At, input?: ForkInput): Promise<Session>;
  /**
   * Continues the same session from the named head (by default its current one), on a new branch if events came after
   * that head. The current head stays until the next one is published.
   */
  resume(at: At): Promise<Moved>;
  /** Moves the current head back to the named ancestor, and continues the session from there. Nothing is deleted. */
  rewind(at: At): Promise<Moved>;
  /**
   * Lets another session do work for the caller. "continue": the work is done in that session in its current state;
   * Conflict if the locator names a head that is not its current one. "branch": it is done in a new session of kind
   * "attached" that continues the named head, the current head, or, if there is none, the latest state; the source is
   * not changed. The invocation runs until invocations.finish(). Conflict if the session to continue is the caller, or
   * is itself waiting for the caller.
   */
  attach(
    at: At,
    /** `caller`: the session that needs the work, in its current state. Its log contains the invocation. */
    input: AttachOptions & { readonly caller: At },
  ): Promise<Invocation>;
  /** The messages a model call needs, at the named head or now: repaired, compacted, and cut to a budget. */
  context(at: At, options?: ContextOptions): Promise<Context>;
  /**
   * Exports the whole session in its current state; a locator with a head is refused (fork there first). The file is
   * streamed in pieces. Only the rows are collected in memory, compressed.
   */
  export(
    at: At,
    options?: {
      /** Also export the sessions that it invoked, and those that they invoked. */
      readonly children?: boolean;
      /** false: without the session's aliases. */
      readonly aliases?: boolean;
    },
  ): AsyncIterable<Uint8Array>;
  /**
   * Imports an archive. ArchiveCorrupted if the file is damaged, cut off or no archive; UnsupportedSchemaVersion if a
   * later version wrote it; AlreadyExists if a different session has that id here. Nothing is changed then.
   */
  import(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | Uint8Array): Promise<ImportReport>;
  /** The conversation as Markdown, for people. */
  markdown(at: At): Promise<string>;
  /**
   * The cost of one session, or of all. If the locator names a head, of the calls that are visible there, each under
   * the session that made it.
   */
  cost(at?: At): Promise<CostReport>;
  /**
   * Sessions with their branches, heads and edges: all sessions that are linked with one, or the newest sessions. If
   * the locator names a head, only the sessions of its lineage, each with its branches, heads and invocations up to
   * that head.
   */
  tree(
    at?: At,
    options?: {
      /** The maximum number of sessions; default 100. */
      readonly limit?: number;
    },
  ): Promise<Tree>;
  /** Compares two heads or sessions: what they have in common, and how they differ. */
  diff(a: At, b: At): Promise<Diff>;
}

/** The verbs that need no head, no branch and no archive. */
export type SessionBasics = Pick<
  Sessions,
  "create" | "get" | "list" | "update" | "setAlias" | "removeAlias" | "delete"
>;

/** The verbs that read whole sessions. src/archive has their code, which is loaded with the first call of one. */
export type ArchiveVerbs = Pick<Sessions, "export" | "import" | "markdown" | "cost" | "tree" | "diff">;

/** The verbs that holdfast/edge has too. */
export type LiveSessions = Omit<Sessions, keyof ArchiveVerbs>;
