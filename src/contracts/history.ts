// HistoryProvider of the storage contracts: the ordered transcript of an agent in a session.
// Promise: append order is seq order, under any concurrency; an acknowledged message is durable and is seen by
// every later read; get, count, clear and clearRun touch only that agent's messages.
import type { JsonObject } from "./json.ts";
import type { At } from "./locators.ts";
import type { Message, MessageInput } from "./messages.ts";

export interface HistoryScope {
  /** If there is no session with this id, append creates it. */
  readonly session: At;
  readonly agent: string;
}

export interface HistoryRange {
  /** At most this many messages from the start of the range (oldest first); all by default. */
  readonly limit?: number;
  /** Skip this many messages from the start. */
  readonly offset?: number;
  /**
   * Only messages after this one. A seq names a message of the session's own log; an id may also name an inherited one.
   * A fork has its own seqs, so pass the id to continue reading a fork.
   */
  readonly after?: number | string;
  /** Only messages recorded at this time or later (epoch milliseconds). */
  readonly since?: number;
  /** The last n, still oldest first; not together with limit or offset. */
  readonly last?: number;
  readonly run?: string;
}

export interface Erasure {
  /** How much was removed, by kind: messages, blobs, bytes … */
  readonly removed: Readonly<Record<string, number>>;
  /** How much was kept on purpose, by kind. `inherited`: messages and events that live forks still show. */
  readonly kept: Readonly<Record<string, number>>;
}

export interface History {
  append<M extends object = JsonObject>(
    scope: HistoryScope,
    message: MessageInput<M>,
    options?: {
      /** One execution of the agent; clearRun removes exactly its messages. */
      readonly run?: string;
    },
  ): Promise<Message>;
  /** One commit: all messages are appended, or none. */
  appendMany<M extends readonly object[]>(
    scope: HistoryScope,
    messages: { readonly [I in keyof M]: MessageInput<M[I]> },
    options?: {
      /** One execution of the agent; clearRun removes exactly its messages. */
      readonly run?: string;
    },
  ): Promise<readonly Message[]>;
  get(scope: HistoryScope, range?: HistoryRange): Promise<readonly Message[]>;
  count(scope: HistoryScope, range?: { readonly run?: string }): Promise<number>;
  clear(scope: HistoryScope): Promise<Erasure>;
  clearRun(scope: HistoryScope, run: string): Promise<Erasure>;
  /** All agents of a session, in seq order. */
  session(session: At, range?: HistoryRange): Promise<readonly Message[]>;
  /** An agent's messages across its sessions: the latest `limit` in commit order, oldest first. */
  byAgent(
    agent: string,
    range?: {
      readonly limit?: number;
      /** Only messages recorded at this time or later, and at this time or earlier (epoch milliseconds). */
      readonly since?: number;
      readonly until?: number;
    },
  ): Promise<readonly Message[]>;
}
