// Sessions, their tags and aliases.
import { rowChecksumSql } from "./checksum.ts";
import { NUMBERS } from "./driver.ts";
import { NEWEST_FIRST, OLDEST_FIRST, type Order } from "./list-order.ts";

const COLUMNS =
  "s.no, s.id, a.id AS agent, s.title, s.status, s.tags, s.metadata, s.request, s.created_at, s.updated_at, " +
  "s.deleted_at, s.version, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.kind, s.origin, s.cache_id, " +
  "(SELECT h.id FROM heads h WHERE h.no = s.head_no) AS head";

const FROM = "FROM sessions s LEFT JOIN agents a ON a.no = s.agent_no";

/** The session that an alias names; "" when it is no longer there. */
const HOLDER = "coalesce((SELECT s.id FROM sessions s WHERE s.no = l.session_no AND s.deleted_at IS NULL), '')";

/** Parameters: last, status (twice), createdAfter, createdBefore, limit. */
function listed(number: string, order: Order): string {
  return (
    `s.deleted_at IS NULL AND ${number} ${order.past} :last AND (CAST(:status AS TEXT) IS NULL OR s.status = :status) ` +
    `AND s.created_at >= :createdAfter AND s.created_at <= :createdBefore ORDER BY ${number}${order.direction} LIMIT :limit`
  );
}

const SELECT = `SELECT ${COLUMNS} ${FROM}`;
const listAll = (order: Order) => `${SELECT} WHERE ${listed("s.no", order)}`;
const listByAgent = (order: Order) =>
  `${SELECT} WHERE s.agent_no = (SELECT no FROM agents WHERE id = :agent) AND ${listed("s.no", order)}`;
const listByTag = (order: Order) =>
  `${SELECT} JOIN session_tags t ON t.session_no = s.no WHERE t.tag = :tag AND ${listed("t.session_no", order)}`;
const listByRequest = (order: Order) => `${SELECT} WHERE s.request = :request AND ${listed("s.no", order)}`;

export const queries = () => ({
  "session.get": `SELECT ${COLUMNS} ${FROM} WHERE s.id = :id`,
  "sessions.byNumbers": `SELECT ${COLUMNS} ${FROM} WHERE s.no ${NUMBERS} :numbers ORDER BY s.no`,
  "session.byAlias": `SELECT ${COLUMNS} ${FROM} JOIN aliases l ON l.session_no = s.no WHERE l.name = :name AND s.deleted_at IS NULL`,
  "alias.get": `SELECT ${HOLDER} AS session FROM aliases l WHERE l.name = :name`,
  "session.aliases":
    "SELECT l.name FROM aliases l JOIN sessions s ON s.no = l.session_no WHERE s.id = :session ORDER BY l.name",
  "sessions.list": listAll(NEWEST_FIRST),
  "sessions.list.oldest": listAll(OLDEST_FIRST),
  "sessions.byAgent": listByAgent(NEWEST_FIRST),
  "sessions.byAgent.oldest": listByAgent(OLDEST_FIRST),
  "sessions.byTag": listByTag(NEWEST_FIRST),
  "sessions.byTag.oldest": listByTag(OLDEST_FIRST),
  "sessions.byRequest": listByRequest(NEWEST_FIRST),
  "sessions.byRequest.oldest": listByRequest(OLDEST_FIRST),
});

/** Parameters: title, status, metadata, version. */
const DESCRIBED = rowChecksumSql("sessions", { title: "?", status: "?", metadata: "?", version: "?" });
const BURIED = rowChecksumSql("sessions", {
  title: "NULL",
  metadata: "NULL",
  deleted_at: "?",
  version: "sessions.version + 1",
});

export const statements = () => ({
  /** Parameters: the columns, then those of DESCRIBED, then the session's number. */
  "session.describe":
    "UPDATE sessions SET agent_no = CAST(? AS BIGINT), title = ?, status = ?, tags = ?, metadata = ?, request = ?, " +
    `version = ?, checksum = ${DESCRIBED} WHERE no = ?`,
  "session.born": "UPDATE sessions SET kind = ?, origin = ?, cache_id = ? WHERE no = ?",
  "session.untag": "DELETE FROM session_tags WHERE session_no = ?",
  "session.unalias": "DELETE FROM aliases WHERE session_no = ?",
  /** Parameters: how many names it got, or lost (below 0), and its number. */
  "session.countAliases": "UPDATE sessions SET alias_count = alias_count + ? WHERE no = ?",
  "session.recountAliases":
    "UPDATE sessions SET alias_count = (SELECT count(*) FROM aliases l WHERE l.session_no = sessions.no) WHERE no = ?",
  // The id, its number and where its chain ended are all that stays. Parameters: the time twice, the session's number.
  "session.tombstone":
    "UPDATE sessions SET deleted_at = ?, agent_no = NULL, title = NULL, tags = NULL, metadata = NULL, request = NULL, " +
    "messages = 0, head_no = NULL, origin = NULL, cache_id = NULL, version = version + 1, alias_count = 0, " +
    `checksum = ${BURIED} WHERE no = ?`,
});

export const guards = () => ({
  "session.id": "SELECT id AS value FROM sessions WHERE id = ?",
  "session.version": "SELECT version AS value FROM sessions WHERE id = ? AND deleted_at IS NULL",
  "session.tombstone": "SELECT version AS value FROM sessions WHERE id = ? AND deleted_at IS NOT NULL",
  "alias.session": `SELECT ${HOLDER} AS value FROM aliases l WHERE l.name = ?`,
});
