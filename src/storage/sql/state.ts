// State: every value is a version that is valid from its seq until the seq of the change that replaced it.

const COLUMNS =
  "st.key, st.seq, CASE WHEN st.ord < 0 THEN 0 ELSE 1 END AS given, st.expires_at, " +
  "b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key";
/** A value whose blob is missing is still returned, so that the damage is reported. */
const ROWS = `SELECT ${COLUMNS} FROM state st LEFT JOIN blobs b ON b.no = st.value WHERE st.session_no = :session AND st.branch = :branch`;
const CURRENT = `${ROWS} AND st.until_seq IS NULL`;
/** The values that were valid at a seq, which is passed twice. */
const HELD = `${ROWS} AND st.seq <= :upTo AND (st.until_seq IS NULL OR st.until_seq > :upTo)`;

export const queries = () => ({
  "state.current": `${CURRENT} ORDER BY st.seq, st.ord`,
  "state.key": `${CURRENT} AND st.key IN (:key, '') ORDER BY st.seq DESC, st.ord DESC`,
  "state.at": `${HELD} ORDER BY st.seq, st.ord`,
  "state.keyAt": `${HELD} AND st.key IN (:key, '') ORDER BY st.seq DESC, st.ord DESC`,
});

export const statements = () => ({
  "state.close": "UPDATE state SET until_seq = ? WHERE session_no = ? AND branch = ? AND key = ? AND until_seq IS NULL",
  // On a branch that inherits, a removal must be written: of one key, or (no key) of all that came before the branch.
  "state.hide":
    "INSERT INTO state (session_no, branch, key, seq, ord) SELECT b.session_no, b.branch, CAST(? AS TEXT), CAST(? AS BIGINT), -1 " +
    "FROM branches b WHERE b.session_no = ? AND b.branch = ?",
  "state.closeAll": "UPDATE state SET until_seq = ? WHERE session_no = ? AND branch = ? AND until_seq IS NULL",
});

export const guards = () => ({
  "state.version": "SELECT state_seq AS value FROM sessions WHERE id = ? AND deleted_at IS NULL",
});
