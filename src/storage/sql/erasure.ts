// Erasing content (rule LG6): inline content is overwritten; the rows of a scope release their blobs, blobs that no
// other row refers to are deleted with their parts, and only then do the rows forget them. There is one set of
// statements per scope, generated from where the rows are. Blobs kept in chunks or segments are taken apart afterwards,
// piece by piece (payloads.discard): one statement would block all other writers.
import type { ErasedRow, ErasedScope } from "../../contracts/storage/statement-names.ts";
import { rowChecksumSql } from "./checksum.ts";
import { PREFIX } from "./inline-content.ts";
import { markPassages } from "./passages.ts";

interface ErasureSource {
  /** What follows FROM, and the name by which its columns are known. */
  readonly table: string;
  readonly name: string;
  readonly column: string;
  /** The condition for the rows; its parameters are the scope's (ScopeParams). */
  readonly rows: string;
  readonly erase: string;
}

const LIVE = "erased_seq IS NULL";
/** `erasedBy` is the seq of the erasing event. */
const FORGET =
  "UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = :erasedBy WHERE ";

const MINE = `session_no = :session AND agent_no = :agent AND seq <= :upTo AND ${LIVE}`;
const OF_RUN = `session_no = :session AND agent_no = :agent AND run = :run AND seq <= :upTo AND ${LIVE}`;
const OF_SESSION = "session_no = :session";
/** Excludes rows of a deleted session that live forks inherit; parameters: the session's number. */
const kept = (name: string) =>
  `EXISTS (SELECT 1 FROM remains k WHERE k.session_no = ${name}.session_no AND k.branch = ${name}.branch AND ${name}.seq <= k.upto)`;
const goes = (name: string) => `${OF_SESSION} AND NOT ${kept(name)}`;
/** Messages, and payloads in the events of runs. */
const CONTENTS_OF_SESSION = `sha256 IS NOT NULL AND ${LIVE}`;
const OF_JOURNAL = `session_no = :session AND run = :run AND seq >= :from AND seq <= :upTo AND agent_no IS NULL AND ${CONTENTS_OF_SESSION}`;
const OF_SAVED =
  `${CONTENTS_OF_SESSION} AND (session_no, seq) IN ` +
  "(SELECT c.session_no, c.seq FROM checkpoints c WHERE c.session_no = :session AND c.agent_no = :agent AND c.run = '')";
/** Payloads of evals, calls, snapshots and heads, one row each. */
const PAYLOADS: readonly (readonly [table: string, column: string])[] = [
  ...["code", "result", "final", "error"].map((column) => ["evals", column] as const),
  ...["request", "response", "result", "error"].map((column) => ["calls", column] as const),
  ["snapshots", "vars"],
  ["heads", "final"],
];
function workOf(payloads: typeof PAYLOADS): string {
  const each = payloads.map(
    ([table, column]) =>
      `SELECT session_no, branch, seq, ${column} AS payload FROM ${table} WHERE ${column} IS NOT NULL`,
  );
  return `(${each.join(" UNION ALL ")}) AS w`;
}

const EVENTS = { table: "events", name: "events", column: "content" } as const;
const STATE = { table: "state", name: "state", column: "value" } as const;
const CAPTURES = { table: "captures", name: "captures", column: "manifest" } as const;
const OF_WORK = { table: workOf(PAYLOADS), name: "w", column: "payload" } as const;

const SCOPES: Readonly<Record<ErasedScope, ErasureSource>> = {
  messages: { ...EVENTS, rows: MINE, erase: FORGET + MINE },
  run: { ...EVENTS, rows: OF_RUN, erase: FORGET + OF_RUN },
  allMessages: {
    ...EVENTS,
    rows: `${goes("events")} AND ${CONTENTS_OF_SESSION}`,
    // If messages are kept for others, their log is kept too, so that it can still be verified.
    erase: `DELETE FROM events WHERE ${goes("events")}`,
  },
  journal: { ...EVENTS, rows: OF_JOURNAL, erase: FORGET + OF_JOURNAL },
  saved: { ...EVENTS, rows: OF_SAVED, erase: FORGET + OF_SAVED },
  allState: { ...STATE, rows: goes("state"), erase: `DELETE FROM state WHERE ${goes("state")}` },
  allAnnotations: {
    table: "annotations",
    name: "annotations",
    column: "payload",
    rows: OF_SESSION,
    erase: `DELETE FROM annotations WHERE ${OF_SESSION}`,
  },
  capture: { ...CAPTURES, rows: "id = :id", erase: "DELETE FROM captures WHERE id = :id" },
  allCaptures: { ...CAPTURES, rows: OF_SESSION, erase: `DELETE FROM captures WHERE ${OF_SESSION}` },
  allWork: { ...OF_WORK, rows: goes("w"), erase: `DELETE FROM clears WHERE ${goes("clears")}` },
};

/** Rows of a session that hold no payloads, or are rid of them. */
const ROW_TABLES = ["turns", "evals", "calls", "snapshots", "heads", "invocations"] as const;

function dead(where: ErasureSource): string {
  return (
    "SELECT d.no FROM blobs d WHERE d.form < 2 AND d.refs = 0 AND d.pinned = 0 AND d.expires_at IS NOT NULL AND d.expires_at <= :now " +
    `AND d.no IN (SELECT ${where.column} FROM ${where.table} WHERE ${where.rows}) ` +
    "AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = d.no)"
  );
}

function texts(where: ErasureSource): Record<Part, string> {
  return {
    // Counted once for all blobs: a count per blob would read the scope again for each.
    release:
      "UPDATE blobs SET refs = blobs.refs - g.n FROM " +
      `(SELECT ${where.column} AS no, count(*) AS n FROM ${where.table} WHERE ${where.rows} GROUP BY ${where.column}) AS g ` +
      "WHERE g.no = blobs.no",
    dropLinks: `DELETE FROM blob_links WHERE parent_no IN (${dead(where)})`,
    drop: `DELETE FROM blobs WHERE no IN (${dead(where)})`,
    erase: where.erase,
  };
}

function erasable(where: ErasureSource): string {
  return (
    "SELECT b.sha256, count(*) AS rows, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key, " +
    "CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS linked " +
    `FROM (SELECT ${where.column} AS no FROM ${where.table} WHERE ${where.rows}) r JOIN blobs b ON b.no = r.no ` +
    "GROUP BY b.no, b.sha256, b.refs, b.size, b.form, b.stored, b.pinned, b.expires_at, b.store, b.key"
  );
}

/** Blobs named inside the scope's payloads: whether others name them too is settled one by one, under guards. */
function named(where: ErasureSource): string {
  return (
    "SELECT DISTINCT c.sha256, c.store, c.key FROM blob_links l JOIN blobs c ON c.no = l.child_no " +
    `WHERE l.ord < 0 AND l.parent_no IN (SELECT ${where.column} FROM ${where.table} WHERE ${where.rows})`
  );
}

type Part = "release" | "dropLinks" | "drop" | "erase";

/** A part of a hash is enough to confirm a guess, so the entries of the index are removed with the content. */
function unindex(where: ErasureSource): string {
  return (
    "DELETE FROM word_refs WHERE (prefix, event_no) IN " +
    `(SELECT ${PREFIX("sha256")}, no FROM events WHERE ${where.rows} AND words IS NOT NULL)`
  );
}

/**
 * The segments of the text index that have messages of the scope lose their pages, and their other messages are pending. A message
 * is in the segment with the highest `low` below its number, if its number is not above `indexed`.
 */
function dropSegments(where: ErasureSource): string {
  const of = "SELECT max(s.low) FROM index_segments s WHERE s.kind = 'messages' AND s.low < events.no";
  const indexed = "SELECT k.indexed FROM index_kinds k WHERE k.kind = 'messages'";
  return (
    "UPDATE index_segments SET dropped = 1, version = (SELECT k.epoch FROM index_kinds k WHERE k.kind = 'messages') " +
    "WHERE kind = 'messages' AND dropped = 0 AND marked = 0 AND low IN " +
    `(SELECT (${of}) FROM events WHERE ${where.rows} AND agent_no IS NOT NULL AND no <= (${indexed}))`
  );
}

/** The scope's messages, and the bytes of those whose content is inline. */
function inlineSizes(where: ErasureSource): string {
  return `SELECT count(agent_no) AS n, CAST(coalesce(sum(length(words)), 0) AS BIGINT) AS bytes FROM events WHERE ${where.rows}`;
}

/** Blobs with the same bytes as short contents of the scope: made when those were pinned or named. */
function copies(where: ErasureSource): string {
  return (
    "SELECT DISTINCT b.sha256, b.store, b.key, CASE WHEN b.pinned = 1 OR b.refs > 0 OR b.expires_at IS NULL " +
    "OR b.expires_at > :now OR EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = b.no) THEN 1 ELSE 0 END AS kept " +
    `FROM (SELECT sha256 FROM events WHERE ${where.rows} AND words IS NOT NULL) e JOIN blobs b ON b.sha256 = e.sha256`
  );
}

function each<S extends ErasedScope, P extends string>(
  scopes: readonly S[],
  texts: (where: ErasureSource) => Readonly<Record<P, string>>,
): Readonly<Record<`${S}.${P}`, string>> {
  const made = scopes.flatMap((scope) =>
    Object.entries(texts(SCOPES[scope])).map(([part, text]) => [`${scope}.${part}`, text]),
  );
  return Object.fromEntries(made) as Record<`${S}.${P}`, string>;
}

const OF_MESSAGES = ["messages", "run", "allMessages", "journal", "saved"] as const;
/** Those that the text index has. */
const INDEXED = ["messages", "run", "allMessages"] as const;
const ALL = [...OF_MESSAGES, "allState", "allAnnotations", "allWork", "capture", "allCaptures"] as const;

/**
 * The positions at which forks branched off that exist or of which parts are kept. Parameters: the session's number,
 * twice.
 */
const FORKED =
  "SELECT b.parent_branch, b.cut_seq FROM branches b JOIN sessions c ON c.no = b.session_no " +
  "WHERE b.parent_session_no = :session AND b.session_no <> :session AND (c.deleted_at IS NULL OR EXISTS (SELECT 1 FROM remains k " +
  "WHERE k.session_no = b.session_no AND k.branch = b.branch))";

const dropRows = Object.fromEntries(
  ROW_TABLES.map((table) => [`${table}.dropAll`, `DELETE FROM ${table} WHERE ${goes(table)}`]),
) as Readonly<Record<`${(typeof ROW_TABLES)[number]}.dropAll`, string>>;

/** Empties the rows that are kept for others. Parameters: the seq to name as that of the erasure, session number. */
const EVAL_COLUMNS = ["code", "result", "final", "error", "salts"];
const CALL_COLUMNS = ["request", "response", "result", "error", "salts"];
const SNAPSHOT_COLUMNS = ["vars", "salt"];
const FORGOTTEN = (table: string, columns: readonly string[]) =>
  `UPDATE ${table} SET ${columns.map((column) => `${column} = NULL`).join(", ")}, erased_seq = ? WHERE ${OF_SESSION} AND ${LIVE}`;

const FORGET_HEADS = `UPDATE heads SET final = NULL, salt = NULL, final_summary = NULL WHERE ${OF_SESSION}`;
const FORGET_LABELS =
  `UPDATE invocations SET label = NULL, checksum = ${rowChecksumSql("invocations", { label: "NULL" })} ` +
  `WHERE ${OF_SESSION}`;
// A key that had a value is now without one, and does not get its earlier value back.
const FORGET_VALUES = `UPDATE state SET value = NULL, salt = NULL, expires_at = NULL, ord = -1 WHERE ${OF_SESSION}`;

/**
 * Erases one row that was erased in another store: releases its blobs, and then empties its columns. Parameters:
 * session number, seq.
 */
const OF_SEQ = `${OF_SESSION} AND seq = ?`;
const ROW_FORGETS: Readonly<Record<ErasedRow, string>> = {
  // If both stores erased it with different events, the earlier event decides at which heads the content was still
  // visible.
  events:
    "UPDATE events SET sha256 = NULL, words = NULL, content = NULL, salt = NULL, key = NULL, erased_seq = ? WHERE " +
    `${OF_SEQ} AND (${LIVE} OR erased_seq > ?)`,
  evals: `${FORGOTTEN("evals", EVAL_COLUMNS)} AND seq = ?`,
  calls: `${FORGOTTEN("calls", CALL_COLUMNS)} AND seq = ?`,
  snapshots: `${FORGOTTEN("snapshots", SNAPSHOT_COLUMNS)} AND seq = ?`,
  heads: `${FORGET_HEADS} AND seq = ?`,
  invocations: `${FORGET_LABELS} AND seq = ?`,
  state: `${FORGET_VALUES} AND seq = ?`,
  annotations: `DELETE FROM annotations WHERE ${OF_SEQ}`,
};

function rowWhere(table: ErasedRow): ErasureSource {
  const own = { erase: ROW_FORGETS[table], rows: OF_SEQ };
  if (table === "events") return { ...EVENTS, ...own, rows: `${OF_SEQ} AND ${LIVE}` };
  if (table === "state") return { ...STATE, ...own };
  if (table === "annotations") return { ...own, table, name: table, column: "payload" };
  return { ...OF_WORK, ...own, table: workOf(PAYLOADS.filter(([of]) => of === table)) };
}

const HOLDING = ["events", "evals", "calls", "snapshots", "heads", "state", "annotations"] as const;
const rowErasures = Object.fromEntries([
  ...HOLDING.map((table) => [`row.${table}.release`, texts(rowWhere(table)).release]),
  ...Object.entries(ROW_FORGETS).map(([table, text]) => [`row.${table}.erase`, text]),
  ["row.events.unindex", unindex(rowWhere("events"))],
  ["row.events.dropSegments", dropSegments(rowWhere("events"))],
  ["row.events.markPassages", markPassages(rowWhere("events").rows)],
]) as Readonly<
  Record<
    | `row.${(typeof HOLDING)[number]}.release`
    | `row.${ErasedRow}.erase`
    | `row.events.${"unindex" | "dropSegments" | "markPassages"}`,
    string
  >
>;

export const statements = () => ({
  ...each(ALL, texts),
  ...rowErasures,
  ...each(OF_MESSAGES, (where) => ({ unindex: unindex(where) })),
  ...each(INDEXED, (where) => ({ dropSegments: dropSegments(where), markPassages: markPassages(where.rows) })),
  ...dropRows,
  "remains.clear": `DELETE FROM remains WHERE ${OF_SESSION}`,
  // What live forks inherit: from where they branched off, back to the session's beginning. Parameters: its number, 5 times.
  "remains.keep":
    `INSERT INTO remains (session_no, branch, upto) WITH RECURSIVE need (branch, upto) AS (${FORKED} ` +
    "UNION SELECT p.parent_branch, p.cut_seq FROM need n JOIN branches p ON p.branch = n.branch " +
    "WHERE p.session_no = ? AND p.parent_session_no = ?) " +
    "SELECT CAST(? AS BIGINT), need.branch, max(need.upto) FROM need GROUP BY need.branch",
  "derivations.dropAll": `DELETE FROM derivations WHERE ${OF_SESSION}`,
  // Links from kept rows to their blobs are kept too.
  "branches.dropAll":
    `DELETE FROM branches WHERE ${OF_SESSION} AND NOT EXISTS (SELECT 1 FROM remains k ` +
    "WHERE k.session_no = branches.session_no AND k.branch = branches.branch)",
  "remains.forgetMessages": `${FORGET}${OF_SESSION} AND ${CONTENTS_OF_SESSION}`,
  "remains.forgetEvals": FORGOTTEN("evals", EVAL_COLUMNS),
  "remains.forgetCalls": FORGOTTEN("calls", CALL_COLUMNS),
  "remains.forgetSnapshots": FORGOTTEN("snapshots", SNAPSHOT_COLUMNS),
  "remains.forgetHeads": FORGET_HEADS,
  "remains.forgetInvocations": FORGET_LABELS,
  "remains.forgetState": FORGET_VALUES,
});

/** Which stretches others need: of every fork that is there, or of which something is kept, where it branched off. */
export const queries = () => ({
  ...each(ALL, (where) => ({ erasable: erasable(where), named: named(where) })),
  ...each(OF_MESSAGES, (where) => ({ inline: inlineSizes(where), copies: copies(where) })),
  "branches.needed":
    `SELECT f.parent_branch AS branch, max(f.cut_seq) AS upto FROM (${FORKED}) f GROUP BY f.parent_branch ` +
    "ORDER BY f.parent_branch",
  "remains.messages": `SELECT count(*) AS n FROM events WHERE ${OF_SESSION} AND agent_no IS NOT NULL AND ${LIVE} AND ${kept("events")}`,
  "remains.events":
    `SELECT count(*) AS n, CAST(coalesce(sum(CASE WHEN ${kept("events")} THEN 1 ELSE 0 END), 0) AS BIGINT) AS kept ` +
    `FROM events WHERE ${OF_SESSION}`,
  "remains.list":
    "SELECT s.id AS session, r.session_no, r.branch, r.upto FROM remains r JOIN sessions s ON s.no = r.session_no " +
    "ORDER BY r.session_no, r.branch",
});
