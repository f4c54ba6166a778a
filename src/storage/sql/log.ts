// Events: read in seq order, erased only with their whole session.

const COLUMNS = "e.seq, e.type, e.at, e.body, e.hash, e.branch";
const SESSION = "(SELECT no FROM sessions WHERE id = :session)";

export const queries = () => ({
  "events.read": `SELECT ${COLUMNS} FROM events e WHERE e.session_no = ${SESSION} AND e.seq > :after ORDER BY e.seq LIMIT :limit`,
  /** With the columns of the message an event added, to compare them with what was hashed. */
  "events.whole":
    `SELECT ${COLUMNS}, CASE WHEN e.agent_no IS NULL THEN NULL ELSE coalesce(a.id, '') END AS agent, e.role, e.run, e.key, ` +
    "e.sha256, e.salt, e.words, e.content, b.sha256 AS content_sha256, e.chars, e.erased_seq FROM events e " +
    "LEFT JOIN agents a ON a.no = e.agent_no LEFT JOIN blobs b ON b.no = e.content " +
    `WHERE e.session_no = ${SESSION} AND e.seq > :after ORDER BY e.seq LIMIT :limit`,
  "events.at": `SELECT ${COLUMNS} FROM events e WHERE e.session_no = ${SESSION} AND e.seq = :seq`,
  "annotation.get":
    "SELECT b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM annotations n " +
    `LEFT JOIN blobs b ON b.no = n.payload WHERE n.session_no = ${SESSION} AND n.seq = :seq`,
});
