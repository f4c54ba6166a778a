// Messages: live ones in seq order by (session, agent), by session, or across an agent's sessions. A message is the row
// of the event that added it; short content is inline in it, longer content is a blob.
import { PAIRS } from "./driver.ts";

const SESSION = "(SELECT no FROM sessions WHERE id = :session)";
const AGENT = "(SELECT no FROM agents WHERE id = :agent)";
const COLUMNS =
  "s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, " +
  // NULL if the blob is missing: the reader reports the damage.
  "CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, " +
  "CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, " +
  "coalesce(b.store, '') AS store, b.key AS blob_key";

/** All columns of a message, for the rows of the inner query in its order. */
function messages(inner: string, order: string): string {
  return (
    `SELECT ${COLUMNS} FROM (${inner}) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no ` +
    `LEFT JOIN blobs b ON b.no = m.content ORDER BY ${order}`
  );
}

const ROWS = "SELECT no, session_no, agent_no, seq, role, run, key, at, sha256, words, content FROM events";
/** A stretch of a session's log: its number, the branch, the last seq. */
const SCOPE = "session_no = :session AND branch = :branch AND seq <= :upTo AND erased_seq IS NULL";
const RANGE = "seq > :after AND at >= :since";

/** Only messages have an agent's number. */
const MESSAGES = "agent_no IS NOT NULL";
const ofAgent = `${ROWS} WHERE ${SCOPE} AND agent_no = ${AGENT} AND ${RANGE}`;
const ofRun = `${ROWS} WHERE ${SCOPE} AND agent_no = ${AGENT} AND run = :run AND ${RANGE}`;
const ofSession = `${ROWS} WHERE ${SCOPE} AND ${MESSAGES} AND ${RANGE}`;
const ofSessionRun = `${ROWS} WHERE ${SCOPE} AND ${MESSAGES} AND run = :run AND ${RANGE}`;
const forward = " ORDER BY seq LIMIT :limit OFFSET :offset";
const backward = " ORDER BY seq DESC LIMIT :limit";

/** Live messages of an agent up to a seq: parameters seq, agent, session. */
const liveUpTo = (name: string) =>
  "SELECT (SELECT count(*) FROM events m WHERE m.session_no = s.no AND m.erased_seq IS NULL AND m.seq <= :seq " +
  `AND m.agent_no = (SELECT no FROM agents WHERE id = :agent)) AS ${name} FROM sessions s WHERE s.id = :session`;

export const queries = () => ({
  "history.range": messages(ofAgent + forward, "m.seq"),
  "history.rangeRun": messages(ofRun + forward, "m.seq"),
  "history.last": messages(ofAgent + backward, "m.seq"),
  "history.lastRun": messages(ofRun + backward, "m.seq"),
  "history.session": messages(ofSession + forward, "m.seq"),
  "history.sessionLast": messages(ofSession + backward, "m.seq"),
  "history.sessionRun": messages(ofSessionRun + forward, "m.seq"),
  "history.sessionRunLast": messages(ofSessionRun + backward, "m.seq"),
  "history.byAgent": messages(
    `${ROWS} WHERE agent_no = ${AGENT} AND erased_seq IS NULL AND at >= :since AND at <= :until ORDER BY no DESC LIMIT :limit`,
    "m.no",
  ),
  // The same key may be used on several branches; the newest message comes first. `m.seq + 0` keeps the engine from sorting by an index
  // on seq: it would read through the whole session instead of looking up the key.
  "history.byKey": messages(
    `${ROWS.replace("SELECT no", "SELECT branch, no")} WHERE session_no = ${SESSION} AND key = :key AND erased_seq IS NULL`,
    "m.seq + 0 DESC",
  ).replace("SELECT ", "SELECT m.branch, "),
  "history.messages": messages(
    `${ROWS.replace("SELECT no", "SELECT branch, no")} JOIN ${PAIRS} :messages w ON session_no = w.a AND seq = w.b ` +
      `WHERE ${MESSAGES} AND erased_seq IS NULL`,
    "m.no",
  ).replace("SELECT ", "SELECT m.session_no, m.branch, "),
  "history.positions":
    "SELECT s.id AS session, e.session_no, e.branch, e.seq, a.id AS agent, e.run FROM events e " +
    `JOIN ${PAIRS} :messages w ON e.session_no = w.a AND e.seq = w.b JOIN sessions s ON s.no = e.session_no ` +
    "JOIN agents a ON a.no = e.agent_no WHERE e.erased_seq IS NULL",
  "history.count": `SELECT count(*) AS n FROM events WHERE ${SCOPE} AND agent_no = ${AGENT}`,
  "history.countUpTo": liveUpTo("n"),
  "history.countRun": `SELECT count(*) AS n FROM events WHERE ${SCOPE} AND agent_no = ${AGENT} AND run = :run`,
});

export const guards = () => ({
  "messages.live": liveUpTo("value"),
  "message.key":
    "SELECT e.seq AS value FROM sessions s JOIN events e ON e.session_no = s.no AND e.branch = s.branch " +
    "WHERE s.id = ? AND e.key = ?",
});
