// How callers name a session, or a head of one.

/** Names a session, or a head of one. `store` is the URL or id of the store; a handle refuses one that is not its own. */
export interface Locator {
  readonly store?: string;
  readonly session: string;
  readonly head?: string;
}

/**
 * A session's id or alias, `session@head`, `holdfast:store#session@head`, or the same as an object; the first four
 * digits or more of a head's id are enough, as long as no other head of the session begins with them. An id that looks
 * like a locator is preferred to the locator; only older stores and archives have any. Verbs that read accept any of
 * these, and with a head return what there was at it. Verbs that write accept the id, and refuse a head: a session is
 * continued only at its current position (see fork and resume).
 */
export type At = string | Locator;

/** Where a row is: the seq of its event in the log of a session, and the branch it is on. */
export interface LogPosition {
  readonly session: string;
  readonly branch: number;
  readonly seq: number;
}
