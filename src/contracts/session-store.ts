// The SessionStore of the Claude Agent SDK, described by its shape: the SDK is not a dependency. Its types and these
// are assignable to each other, so that a store from holdfast/claude can be passed in the SDK's options.
import type { Holdfast } from "./holdfast.ts";
import type { SessionBasics } from "./sessions.ts";

/** Names a transcript: the main one of a session, or with a subpath another one of it, such as a sub-agent's. */
export type SessionKey = {
  /** The SDK makes it from the working directory. */
  projectKey: string;
  sessionId: string;
  /** "subagents/agent-<id>"; never empty. */
  subpath?: string;
};

/** One line of a transcript: JSON that only the SDK understands. */
export type SessionStoreEntry = {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
};

export type SessionSummaryEntry = {
  sessionId: string;
  mtime: number;
  /** The SDK's own data, stored unchanged. */
  data: Record<string, unknown>;
};

/** foldSessionSummary() of the SDK: makes the new summary from the old one and the entries added since. */
export type FoldSessionSummary = (
  before: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

export type SessionStore = {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  /** null if nothing was ever written. */
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  /** In no particular order; `mtime` is epoch milliseconds. */
  listSessions?(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  /** Deletes one transcript; without a subpath all transcripts of the session. Does nothing if there are none. */
  delete?(key: SessionKey): Promise<void>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
};

/** All methods; the one for summaries only if a fold was given. */
export type ClaudeSessionStore = Required<Omit<SessionStore, "listSessionSummaries">> &
  Pick<SessionStore, "listSessionSummaries">;

/** The part of a Holdfast store that a session store needs. */
export type SessionsOf = Pick<Holdfast, "history" | "state"> & { readonly sessions: SessionBasics };

/** Which projects see a session: only the project that wrote it, or all. */
export type ProjectScope = "separate" | "any";

export interface SessionStoreOptions {
  /**
   * "separate" (default): a session belongs to the project that wrote it, and no other project sees it. "any": the
   * project is ignored, so that a session can be found and continued from another working directory.
   */
  readonly projects?: ProjectScope;
  /** The SDK's foldSessionSummary. Without it there is no listSessionSummaries, and the SDK reads the sessions instead. */
  readonly fold?: FoldSessionSummary;
  /**
   * The agent of the entries' messages. Session stores with different agents do not see each other's sessions. Default
   * "claude-code".
   */
  readonly agent?: string;
  /** The request that new sessions belong to. */
  readonly request?: string;
}
