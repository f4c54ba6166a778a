// The text index: messages in the order of the numbers of their events.
const MESSAGE =
  "m.no, m.session_no, s.id AS session, a.id AS agent, m.seq, m.role, m.at, m.sha256, " +
  "CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, " +
  "CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, " +
  "coalesce(b.store, '') AS store, b.key AS blob_key";

export const queries = () => ({
  "index.messages":
    `SELECT ${MESSAGE} FROM (SELECT * FROM events WHERE no > :after AND no <= :upTo AND agent_no IS NOT NULL ` +
    "AND erased_seq IS NULL ORDER BY no LIMIT :limit) m JOIN sessions s ON s.no = m.session_no " +
    "JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.no",
});
