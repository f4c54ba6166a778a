// Search over the messages of all sessions. Promise: a message is found as soon as its append is acknowledged, and not any more once
// it is erased; the same messages give the same ranking on every engine. The result is empty only if no message that the options
// allow has a word of the query or, with an embedder, a vector. The nearest 200 messages, or four times as many as are wanted, are found
// by their vectors, however near they are: no threshold of nearness separates what answers a query from what does not.
import type { At } from "./locators.ts";
import type { Role } from "./messages.ts";

export interface SearchOptions {
  /** Only what this session shows now or, if the locator names a head, showed there: also what it inherits. */
  readonly session?: At;
  /** Only messages of sessions with this request, or this tag. */
  readonly request?: string;
  readonly tag?: string;
  /** Only messages in this agent's history. */
  readonly agent?: string;
  readonly role?: Role;
  /** Only messages that call this tool. */
  readonly tool?: string;
  /**
   * Only messages of this time or later, and of this time or earlier (epoch milliseconds). An imported message has the
   * time that its agent noted.
   */
  readonly since?: number;
  readonly until?: number;
  /** Also what sessions do not show any more because they were rewound, or continued from an older head. */
  readonly rewound?: boolean;
  /** How many hits; default 10, with `tokens` 100. */
  readonly limit?: number;
  /** How many hits of one session. */
  readonly perSession?: number;
  /**
   * A budget: the best hits whose passages, and those of their neighbours, have about so many tokens together (a
   * quarter of their UTF-8 bytes).
   */
  readonly tokens?: number;
  /** How many messages before and after each hit are shown too. */
  readonly neighbours?: number;
  /**
   * Orders the best hits anew: it gets four times as many as are returned, and gives a score for each, the higher the
   * better.
   */
  readonly rerank?: (query: string, hits: readonly SearchHit[]) => readonly number[] | Promise<readonly number[]>;
  /** Ends the search with Aborted, also while the embedder is asked. */
  readonly signal?: AbortSignal;
}

export interface SearchSnippet {
  readonly text: string;
  /** Where words of the query are in `text`: UTF-16 offsets, in order, without overlaps. */
  readonly highlights: readonly (readonly [start: number, end: number])[];
  /** Whether the message has more text before or after it. */
  readonly isCutBefore: boolean;
  readonly isCutAfter: boolean;
}

/** A message before or after a hit, with the beginning of its text. */
export interface SearchNeighbour {
  readonly id: string;
  readonly role: Role;
  readonly agent: string;
  readonly at: number;
  readonly snippet: SearchSnippet;
}

/**
 * Something that made a hit's score. text: words of the query in the passage and around it; session: words in the rest
 * of its session; vector: a similar meaning; rerank: the caller's own score. Their values, from 0 to 1, are weighted and
 * added. In a search by words, those of role and speaker multiply the sum, which is divided by the largest product that they can have. With
 * an embedder, values of words are weighted so that the best of a search counts .6, and the nearest vector counts .4; role and speaker are
 * part of both. A signal of value 0 is left out.
 */
export interface SearchSignal {
  readonly name: "text" | "session" | "role" | "speaker" | "vector" | "rerank";
  readonly value: number;
  readonly weight: number;
}

export interface SearchHit {
  /** The message: `<session>#<seq>`. */
  readonly id: string;
  /** The session in whose log the message is, its title and its request. */
  readonly session: string;
  readonly title: string | null;
  readonly request: string | null;
  /**
   * A session that shows the message: the one that was searched, its own, or a fork. null: no session shows it any
   * more, and the search was for rewound messages too.
   */
  readonly shownIn: string | null;
  readonly seq: number;
  readonly agent: string;
  readonly role: Role;
  readonly at: number;
  /** From 0 to 1; comparable within one search only. */
  readonly score: number;
  readonly signals: readonly SearchSignal[];
  /** The passage of the message that matches best: of about 75 words, a short message is one. */
  readonly passage: string;
  /** The part of the passage to show. */
  readonly snippet: SearchSnippet;
  /** With `neighbours`: the messages around it, oldest first. */
  readonly before?: readonly SearchNeighbour[];
  readonly after?: readonly SearchNeighbour[];
}

export interface SearchResults {
  /** text: by words only, because no embedder is configured, or for what `warning` says. hybrid: by words and by vectors. */
  readonly mode: "text" | "hybrid";
  /** Of a hybrid search: how many passages of messages have no vector yet, and are found by words only. */
  readonly waiting?: number;
  /** Why the search is by words only although the store has an embedder. */
  readonly warning?: string;
  /** Best first. */
  readonly hits: readonly SearchHit[];
}

export interface Searching {
  /**
   * Finds messages by words, "phrases", prefix*, -excluded words and filters such as role:user, tool:Bash, agent:helper,
   * session:chat-1, request:r-7 and tag:work, which exclude with a minus. What is none of these is searched for, so that
   * no Unicode text is an error. More words of a query in a message rank it higher; only phrases must be there.
   */
  search(query: string, options?: SearchOptions): Promise<SearchResults>;
}
