// Events: read in seq order, erased only with their whole session.

const COLUMNS = "e.seq, e.type, e.at, e.body, e.hash";
const SESSION = "(SELECT no FROM sessions WHERE id = ?)";

export const queries = {
  "events.read": `SELECT ${COLUMNS} FROM events e WHERE e.session_no = ${SESSION} AND e.seq > ? ORDER BY e.seq LIMIT ?`,
  "events.at": `SELECT ${COLUMNS} FROM events e WHERE e.session_no = ${SESSION} AND e.seq = ?`,
} as const;
