// The SessionStore of the Claude Agent SDK, described by its shape: the SDK is not a dependency. Its types and these
// are assignable to each other, so that a store from holdfast/claude can be passed in the SDK's options.

import type { Holdfast } from "./holdfast.ts";
import type { SessionBasics } from "./sessions.ts";

/** A transcript: the main one of a session, or with a subpath one that belongs to it, such as a sub-agent's. */
export type SessionKey = {
  /** Made by the SDK of the working directory. */
  projectKey: string;
  sessionId: string;
  /** "subagents/agent-<id>"; never empty. */
  subpath?: string;
};

/** One line of a transcript: JSON that the SDK alone understands. */
export type SessionStoreEntry = {
  type: string;
  uuid?: string;
  timestamp?: string;
  [field: string]: unknown;
};

export type SessionSummaryEntry = {
  sessionId: string;
  mtime: number;
  /** The SDK's own, kept as it is. */
  data: Record<string, unknown>;
};

/** foldSessionSummary() of the SDK: the summary of what was there and of what came after it. */
export type FoldSessionSummary = (
  before: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

export type SessionStore = {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  /** null when nothing was ever written. */
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  /** In no particular order; `mtime` is epoch milliseconds. */
  listSessions?(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  /** Without a subpath everything of the session; nothing happens when there is nothing. */
  delete?(key: SessionKey): Promise<void>;
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>;
};

/** All of it; summaries only when there is a fold to make them. */
export type ClaudeSessionStore = Required<Omit<SessionStore, "listSessionSummaries">> &
  Pick<SessionStore, "listSessionSummaries">;

/** What a session store needs of a Holdfast store, wherever it is. */
export type SessionsOf = Pick<Holdfast, "history" | "state"> & { readonly sessions: SessionBasics };

/** Which projects see a session: only the one that wrote it, or all of them. */
export type ProjectScope = "separate" | "any";

export interface SessionStoreOptions {
  /**
   * "separate" (default): a session belongs to the project that wrote it, and another project has none under the same
   * id. "any": the project is ignored, so that a session is found from another working directory and continues there.
   */
  readonly projects?: ProjectScope;
  /** The SDK's foldSessionSummary. Without it there is no listSessionSummaries, and the SDK reads the sessions instead. */
  readonly fold?: FoldSessionSummary;
  /** The agent whose messages the entries are. Stores with other agents see nothing of each other. Default "claude-code". */
  readonly agent?: string;
  /** The request that new sessions belong to. */
  readonly request?: string;
}
