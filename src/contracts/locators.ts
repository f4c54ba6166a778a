// How callers name a session, or a head of one.

/** Names a session, or a head of one. `store` is the URL or id of the store; a handle refuses one that is not its own. */
export interface Locator {
  readonly store?: string;
  readonly session: string;
  readonly head?: string;
}

/**
 * A session's id or alias, `session@head`, `holdfast:store#session@head`, or the same as an object; the first four
 * digits or more of a head's id are enough, as long as no other head of the session begins with them. If a session has
 * an id that looks like a locator, the id has priority; only older stores and archives have such ids. Verbs that read
 * accept all of these forms, and with a head return the session as it was at that head. Verbs that write refuse a head,
 * because a session is continued only at its current position (see fork and resume).
 */
export type At = string | Locator;

/** The position of a row: the seq of its event in the log of a session, and its branch. */
export interface LogPosition {
  readonly session: string;
  readonly branch: number;
  readonly seq: number;
}
