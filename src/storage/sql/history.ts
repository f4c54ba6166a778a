// Messages: live ones in seq order by (session, agent), by session, or across an agent's sessions.

const SESSION = "(SELECT no FROM sessions WHERE id = ?)";
const AGENT = "(SELECT no FROM agents WHERE id = ?)";
const COLUMNS =
  "s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, b.sha256, b.size, b.form, b.body, b.store, " +
  "b.key AS blob_key";

/** Everything a message is, for the rows the inner query chose and in the order it says. */
function messages(inner: string, order: string): string {
  return (
    `SELECT ${COLUMNS} FROM (${inner}) m JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no ` +
    `JOIN blobs b ON b.no = m.content ORDER BY ${order}`
  );
}

const ROWS = "SELECT no, session_no, agent_no, seq, role, run, key, at, content FROM messages";
const SCOPE = `session_no = ${SESSION} AND branch = (SELECT branch FROM sessions WHERE id = ?) AND erased_seq IS NULL`;
const RANGE = "seq > ? AND at >= ?";

const ofAgent = `${ROWS} WHERE ${SCOPE} AND agent_no = ${AGENT} AND ${RANGE}`;
const ofRun = `${ROWS} WHERE ${SCOPE} AND agent_no = ${AGENT} AND run = ? AND ${RANGE}`;
const ofSession = `${ROWS} WHERE ${SCOPE} AND ${RANGE}`;
const ofSessionRun = `${ROWS} WHERE ${SCOPE} AND run = ? AND ${RANGE}`;
const forward = " ORDER BY seq LIMIT ? OFFSET ?";
const backward = " ORDER BY seq DESC LIMIT ?";

/** Live messages of an agent up to a seq: parameters seq, agent, session. */
const liveUpTo = (name: string) =>
  "SELECT (SELECT count(*) FROM messages m WHERE m.session_no = s.no AND m.erased_seq IS NULL AND m.seq <= ? " +
  `AND m.agent_no = (SELECT no FROM agents WHERE id = ?)) AS ${name} FROM sessions s WHERE s.id = ?`;

export const queries = {
  "history.range": messages(ofAgent + forward, "m.seq"),
  "history.rangeRun": messages(ofRun + forward, "m.seq"),
  "history.last": messages(ofAgent + backward, "m.seq"),
  "history.lastRun": messages(ofRun + backward, "m.seq"),
  "history.session": messages(ofSession + forward, "m.seq"),
  "history.sessionLast": messages(ofSession + backward, "m.seq"),
  "history.sessionRun": messages(ofSessionRun + forward, "m.seq"),
  "history.sessionRunLast": messages(ofSessionRun + backward, "m.seq"),
  "history.byAgent": messages(
    `${ROWS} WHERE agent_no = ${AGENT} AND erased_seq IS NULL AND at >= ? ORDER BY no DESC LIMIT ?`,
    "m.no",
  ),
  "history.byKey": messages(`${ROWS} WHERE session_no = ${SESSION} AND key = ? AND erased_seq IS NULL`, "m.seq"),
  "history.count": `SELECT count(*) AS n FROM messages WHERE ${SCOPE} AND agent_no = ${AGENT}`,
  "history.countUpTo": liveUpTo("n"),
  "history.countRun": `SELECT count(*) AS n FROM messages WHERE ${SCOPE} AND agent_no = ${AGENT} AND run = ?`,
} as const;

export const guards = {
  "messages.live": liveUpTo("value"),
  "message.key":
    "SELECT seq AS value FROM messages WHERE session_no = (SELECT no FROM sessions WHERE id = ?) AND key = ?",
} as const;
