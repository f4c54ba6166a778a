// What the trace reads beside the log itself: small columns only.

const SESSION = "(SELECT no FROM sessions WHERE id = :session AND deleted_at IS NULL)";

export const queries = () => ({
  "trace.events":
    "SELECT e.seq, e.type, e.at, e.body, e.hash, e.branch, e.erased_seq FROM events e " +
    `WHERE e.session_no = ${SESSION} AND e.seq > :after ORDER BY e.seq LIMIT :limit`,
  "trace.turn":
    "SELECT t.first_seq, (SELECT min(n.seq) FROM turns n WHERE n.session_no = t.session_no AND n.first_seq = t.first_seq " +
    `AND n.seq > t.first_seq) AS ended FROM turns t WHERE t.session_no = ${SESSION} AND t.branch = :branch AND t.first_seq < :seq ` +
    "AND t.seq = t.first_seq ORDER BY t.first_seq DESC LIMIT 1",
  "trace.invokedBy":
    "SELECT s.id AS session, r.first_seq FROM invocations r JOIN sessions s ON s.no = r.session_no " +
    `WHERE r.callee_session_no = ${SESSION} ORDER BY r.session_no, r.first_seq LIMIT 1`,
});
