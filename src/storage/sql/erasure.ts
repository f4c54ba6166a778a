// Erasing content (rule LG6): words in the rows are overwritten; the rows of a scope let go of their blobs, what nobody
// else refers to is deleted with its parts, and only then do the rows forget it. One set of texts per scope, made from
// where the rows are. Blobs kept in chunks or segments are taken apart afterwards, piece by piece (payloads.discard):
// one statement would hold everybody up.
import type { ErasedScope } from "../../contracts/storage.ts";
import { PREFIX } from "./words.ts";

interface Where {
  readonly table: string;
  readonly column: string;
  /** Parameters: session number, then agent number, run and highest seq where asked. */
  readonly rows: string;
  readonly erase: string;
}

const LIVE = "erased_seq IS NULL";
/** Parameter first: seq of the erasing event. */
const FORGET =
  "UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = ? WHERE ";

const MINE = `session_no = ? AND agent_no = ? AND seq <= ? AND ${LIVE}`;
const OF_RUN = `session_no = ? AND agent_no = ? AND run = ? AND seq <= ? AND ${LIVE}`;
const OF_SESSION = "session_no = ?";
const MESSAGES_OF_SESSION = `${OF_SESSION} AND agent_no IS NOT NULL AND ${LIVE}`;

const SCOPES: Readonly<Record<ErasedScope, Where>> = {
  messages: { table: "events", column: "content", rows: MINE, erase: FORGET + MINE },
  run: { table: "events", column: "content", rows: OF_RUN, erase: FORGET + OF_RUN },
  allMessages: {
    table: "events",
    column: "content",
    rows: MESSAGES_OF_SESSION,
    erase: `DELETE FROM events WHERE ${OF_SESSION}`,
  },
  allState: { table: "state", column: "value", rows: OF_SESSION, erase: `DELETE FROM state WHERE ${OF_SESSION}` },
  allAnnotations: {
    table: "annotations",
    column: "payload",
    rows: OF_SESSION,
    erase: `DELETE FROM annotations WHERE ${OF_SESSION}`,
  },
};

/** Parameters: now, then the scope's. */
function dead(where: Where): string {
  return (
    "SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= ? " +
    `AND d.no IN (SELECT ${where.column} FROM ${where.table} WHERE ${where.rows}) ` +
    "AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no)"
  );
}

/** Parameters: the scope's; now and the scope's; now and the scope's. */
function texts(where: Where): Record<Part, string> {
  return {
    // Counted once for all: a count per blob would read the scope again for each.
    release:
      "UPDATE blobs SET refs = blobs.refs - g.n FROM " +
      `(SELECT ${where.column} AS no, count(*) AS n FROM ${where.table} WHERE ${where.rows} GROUP BY ${where.column}) AS g ` +
      "WHERE g.no = blobs.no",
    dropLinks: `DELETE FROM blob_links WHERE parent_no IN (${dead(where)})`,
    drop: `DELETE FROM blobs WHERE no IN (${dead(where)})`,
    erase: where.erase,
  };
}

function erasable(where: Where): string {
  return (
    "SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, " +
    "CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked " +
    `FROM (SELECT ${where.column} AS no FROM ${where.table} WHERE ${where.rows}) r JOIN blobs b ON b.no = r.no ` +
    "GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key"
  );
}

/** Blobs named inside the scope's payloads: whether others name them too is settled one by one, under guards. */
function named(where: Where): string {
  return (
    "SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no " +
    `WHERE l.ord < 0 AND l.parent_no IN (SELECT ${where.column} FROM ${where.table} WHERE ${where.rows})`
  );
}

type Part = "release" | "dropLinks" | "drop" | "erase";

/** A part of a hash is enough to confirm a guess, so the index of short contents forgets with the rows. */
function unindex(where: Where): string {
  return (
    "DELETE FROM word_refs WHERE (prefix, event_no) IN " +
    `(SELECT ${PREFIX("sha256")}, no FROM events WHERE ${where.rows} AND words IS NOT NULL)`
  );
}

/** The scope's messages, and the bytes of those whose content stands in their rows. */
function words(where: Where): string {
  return `SELECT count(*) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE ${where.rows}`;
}

/** Blobs with the same bytes as short contents of the scope: made when those were pinned or named. */
function copies(where: Where): string {
  return (
    "SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL " +
    "OR b.expires_at > ? OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept " +
    `FROM (SELECT sha256 FROM events WHERE ${where.rows} AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256`
  );
}

function each<S extends ErasedScope, P extends string>(
  scopes: readonly S[],
  texts: (where: Where) => Readonly<Record<P, string>>,
): Readonly<Record<`${S}.${P}`, string>> {
  const made = scopes.flatMap((scope) =>
    Object.entries(texts(SCOPES[scope])).map(([part, text]) => [`${scope}.${part}`, text]),
  );
  return Object.fromEntries(made) as Record<`${S}.${P}`, string>;
}

const ALL = ["messages", "run", "allMessages", "allState", "allAnnotations"] as const;
const OF_MESSAGES = ["messages", "run", "allMessages"] as const;

export const statements = {
  ...each(ALL, texts),
  ...each(OF_MESSAGES, (where) => ({ unindex: unindex(where) })),
};

export const queries = {
  ...each(ALL, (where) => ({ erasable: erasable(where), named: named(where) })),
  ...each(OF_MESSAGES, (where) => ({ words: words(where), copies: copies(where) })),
};
