// State: every value is a version that holds from its seq until the seq of the change that replaced it.

const SESSION = "(SELECT no FROM sessions WHERE id = ?)";
const BRANCH = "(SELECT branch FROM sessions WHERE id = ?)";
const COLUMNS = "st.key, st.seq, b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key";
/** A value whose blob is gone is still a row, so that it can be told and is not passed over. */
const CURRENT =
  `SELECT ${COLUMNS} FROM state st LEFT JOIN blobs b ON b.no = st.value ` +
  `WHERE st.session_no = ${SESSION} AND st.branch = ${BRANCH} AND st.until_seq IS NULL`;
const ALIVE = "(st.expires_at IS NULL OR st.expires_at > ?)";

export const queries = {
  "state.current": `${CURRENT} AND ${ALIVE} ORDER BY st.seq, st.ord`,
  "state.key": `${CURRENT} AND st.key = ? AND ${ALIVE}`,
} as const;

export const statements = {
  "state.close": "UPDATE state SET until_seq = ? WHERE session_no = ? AND branch = ? AND key = ? AND until_seq IS NULL",
  "state.closeAll": "UPDATE state SET until_seq = ? WHERE session_no = ? AND branch = ? AND until_seq IS NULL",
} as const;

export const guards = {
  "state.version": "SELECT state_seq AS value FROM sessions WHERE id = ? AND deleted_at IS NULL",
} as const;
