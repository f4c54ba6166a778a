// The queries and statements of archives. They read a session's rows with ids where the rows have numbers, as
// contracts/storage/portable-rows.ts lists the columns.
import { type ArchivedTable, LOGGED_TABLES, portableColumns } from "../../contracts/storage/portable-rows.ts";
import { IN_PART } from "../../core/session-lookup.ts";
import { keepChecksum, rowChecksumSql } from "./checksum.ts";

const OWNERS = { agent: "agents", session: "sessions", head: "heads" } as const;

function selected(table: ArchivedTable): string {
  const columns = portableColumns(table).map(({ column, name, type }) => {
    if (type === "blob") return `(SELECT x.sha256 FROM blobs x WHERE x.no = r.${column}) AS ${name}`;
    if (type === "agent" || type === "session" || type === "head") {
      return `(SELECT x.id FROM ${OWNERS[type]} x WHERE x.no = r.${column}) AS ${name}`;
    }
    return `r.${column}`;
  });
  return `SELECT ${columns.join(", ")} FROM ${table} r`;
}

/** Rows whose events come after a seq, up to another; parameters: session's number, after, up to. */
function logged(table: ArchivedTable): string {
  const order = table === "state" ? "r.seq, r.branch, r.ord, r.key" : "r.seq";
  return `${selected(table)} WHERE r.session_no = :session AND r.seq > :after AND r.seq <= :upTo ORDER BY ${order}`;
}

const OWNED: Readonly<Record<string, string>> = {
  sessions: "WHERE r.no = :session",
  boards: "WHERE r.session_no = :session ORDER BY r.ord, r.id",
  tasks: "JOIN boards b ON b.id = r.board_id WHERE b.session_no = :session ORDER BY r.board_id, r.ord, r.id",
  session_tags: "WHERE r.session_no = :session ORDER BY r.tag",
  aliases: "WHERE r.session_no = :session ORDER BY r.name",
  runs: "WHERE r.session_no = :session ORDER BY r.first_seq",
  signals: "WHERE r.session_no = :session ORDER BY r.seq",
  decisions: "WHERE r.session_no = :session ORDER BY r.seq",
  checkpoints: "WHERE r.session_no = :session ORDER BY r.seq",
  captures: "WHERE r.session_no = :session ORDER BY r.no",
  remains: "WHERE r.session_no = :session ORDER BY r.branch",
};

const NAMING =
  "SELECT s.id AS session, r.seq, r.first_seq, e.body, f.body AS first FROM invocations r " +
  "JOIN sessions s ON s.no = r.session_no JOIN events e ON e.session_no = r.session_no AND e.seq = r.seq " +
  "JOIN events f ON f.session_no = r.session_no AND f.seq = r.first_seq WHERE r.";
const THIS = "(SELECT no FROM sessions WHERE id = :session)";

function marked(column: string): string {
  const sums = "count(*) || ':' || coalesce(sum(r.session_no), 0) || ':' || coalesce(sum(r.seq), 0)";
  return `(SELECT ${sums} FROM invocations r WHERE r.${column} = s.no)`;
}

/**
 * A fingerprint of the rows that name a session: numbers and seqs only grow, so two different sets do not have the same
 * sums.
 */
const MARKED =
  `SELECT ${marked("callee_session_no")} || '/' || ${marked("source_session_no")} AS value ` +
  "FROM sessions s WHERE s.id = :session";

/** A head by its id, if it is of the session that it should be of. */
const HEAD_OF = "(SELECT h.no FROM heads h JOIN sessions o ON o.no = h.session_no WHERE h.id = ? AND o.id = ?)";

/** The columns in which rows of others, or kept rows of its own, name a session. */
const NAMING_SESSIONS = [
  ["remains", "session_no"],
  ["events", "session_no"],
  ["branches", "parent_session_no"],
  ["derivations", "source_session_no"],
  ["invocations", "callee_session_no"],
  ["invocations", "source_session_no"],
] as const;

export const queries = () => ({
  ...(Object.fromEntries([
    ...LOGGED_TABLES.map((table) => [`archive.${table}`, logged(table)]),
    ...Object.entries(OWNED).map(([table, where]) => [
      `archive.${table}`,
      `${selected(table as ArchivedTable)} ${where}`,
    ]),
  ]) as Readonly<Record<`archive.${ArchivedTable}`, string>>),
  "session.linked":
    "SELECT s.id FROM sessions s WHERE s.deleted_at IS NULL AND s.no IN " +
    "(SELECT d.source_session_no FROM derivations d WHERE d.session_no = :session " +
    "UNION SELECT d.session_no FROM derivations d WHERE d.source_session_no = :session " +
    "UNION SELECT i.callee_session_no FROM invocations i WHERE i.session_no = :session " +
    "UNION SELECT i.session_no FROM invocations i WHERE i.callee_session_no = :session) ORDER BY s.no",
  "invocations.naming": `${NAMING}callee_session_no = ${THIS} UNION ${NAMING}source_session_no = ${THIS} ORDER BY 1, 2`,
  "invocations.marked": MARKED,
  /**
   * The sessions that name a session of which only the name is here; and the sessions of this kind that a session
   * names.
   */
  "session.namers":
    "SELECT s.id FROM sessions s WHERE s.no IN (SELECT i.session_no FROM invocations i WHERE i.callee_session_no = :session " +
    "UNION SELECT i.session_no FROM invocations i WHERE i.source_session_no = :session) ORDER BY s.no LIMIT :limit",
  "session.names":
    "SELECT s.no, s.id FROM sessions s WHERE s.no IN (SELECT i.callee_session_no FROM invocations i WHERE i.session_no = :session " +
    "UNION SELECT i.source_session_no FROM invocations i WHERE i.session_no = :session) " +
    `AND s.deleted_at IS NOT NULL AND s.version = ${IN_PART} ORDER BY s.no`,
  "session.heirs":
    "WITH RECURSIVE d (no) AS (SELECT CAST(:session AS BIGINT) UNION SELECT b.session_no FROM d JOIN sessions p ON p.no = d.no " +
    "JOIN branches b ON b.parent_session_no = d.no WHERE p.deleted_at IS NOT NULL) " +
    "SELECT s.id FROM d JOIN sessions s ON s.no = d.no WHERE s.deleted_at IS NULL ORDER BY s.no LIMIT :limit",
  "calls.spending":
    "SELECT s.id AS session, c.provider, c.model, count(*) AS calls, " +
    `${["in", "out", "cached"].map((name) => `CAST(coalesce(sum(c.tokens_${name}), 0) AS BIGINT) AS tokens_${name}`).join(", ")}, ` +
    "sum(CASE WHEN c.tokens_in IS NULL OR c.tokens_out IS NULL THEN 1 ELSE 0 END) AS unknown_tokens, " +
    "coalesce(sum(c.cost_usd), 0) AS cost_usd, sum(CASE WHEN c.cost_usd IS NULL THEN 1 ELSE 0 END) AS unknown_costs " +
    "FROM sessions s JOIN calls c ON c.session_no = s.no WHERE s.deleted_at IS NULL " +
    "AND (CAST(:session AS TEXT) IS NULL OR s.id = :session) " +
    "AND NOT EXISTS (SELECT 1 FROM calls n WHERE n.session_no = c.session_no AND n.first_seq = c.first_seq AND n.seq > c.seq) " +
    "GROUP BY s.id, c.provider, c.model ORDER BY s.id, c.provider, c.model",
  /** Blobs a payload names, in the order of the names. */
  "blob.names":
    "SELECT b.sha256 FROM blobs p JOIN blob_links l ON l.parent_no = p.no JOIN blobs b ON b.no = l.child_no " +
    "WHERE p.sha256 = :sha256 AND l.ord < 0 ORDER BY l.ord DESC",
});

/** Parameters: title, status, metadata, created_at, version. */
const COMPLETE = rowChecksumSql("sessions", {
  title: "?",
  status: "?",
  metadata: "?",
  created_at: "?",
  deleted_at: "NULL",
  version: "?",
});

export const statements = () => ({
  /** Sets the end of a session that is here only in part. */
  "session.remainsTo":
    "UPDATE sessions SET seq = ?, chain = ?, created_at = ?, kind = ?, " +
    `${keepChecksum("sessions", { created_at: "?" })} WHERE id = ? AND deleted_at IS NOT NULL AND seq < ?`,
  /** Turns a session that was here in part into a whole one. */
  "session.complete":
    "UPDATE sessions SET deleted_at = NULL, agent_no = CAST(? AS BIGINT), title = ?, status = ?, tags = ?, metadata = ?, " +
    "request = ?, created_at = ?, updated_at = ?, version = ?, branch = ?, seq = ?, chain = ?, messages = ?, state_seq = ?, " +
    "kind = ?, origin = ?, cache_id = ?, head_no = (SELECT no FROM heads WHERE id = ?), " +
    `checksum = ${COMPLETE} WHERE id = ?`,
  /**
   * Sessions of which only a part or the name was ever here, and of which no other session keeps or names anything any
   * more.
   */
  "session.forget":
    `DELETE FROM sessions WHERE no = ? AND deleted_at IS NOT NULL AND version = ${IN_PART} ` +
    NAMING_SESSIONS.map(
      ([table, column]) => `AND NOT EXISTS (SELECT 1 FROM ${table} x WHERE x.${column} = sessions.no)`,
    ).join(" "),
  /** With the heads of others that it names and that are here. */
  "invocation.link":
    `UPDATE invocations SET callee_head_before = ${HEAD_OF}, callee_head_after = ${HEAD_OF}, source_head = ${HEAD_OF} ` +
    `WHERE session_no = ${THIS} AND seq = ?`,
});

export const guards = () => ({
  "session.named": MARKED,
  "remains.upto":
    "SELECT r.upto AS value FROM remains r WHERE r.session_no = (SELECT no FROM sessions WHERE id = ?) AND r.branch = ?",
});
