// Branches and heads, and the rows of a session's work. Rows are versions: `first_seq` identifies the row, and `seq` is
// the event of the version. The state at a position is, for each row, the newest version up to it.

const NOW = "9007199254740991";
const AGENT = "(SELECT no FROM agents WHERE id = :agent)";
const CLEARS =
  "(SELECT count(*) FROM clears c WHERE c.session_no = l.session_no AND c.branch = l.branch AND c.seq <= l.upto) AS clears";

/**
 * The stretches l from a start (depth, session_no, branch, upto) on through the parents, as long as a condition holds; behind
 * the oldest comes one without a session. Each parent is looked up by a subquery: for a join PostgreSQL, which cannot know
 * that there is one parent only, reads all branches again for every step.
 */
function line(start: string, goesOn: string): string {
  const parent = (column: string) =>
    `(SELECT b.${column} FROM branches b WHERE b.session_no = l.session_no AND b.branch = l.branch)`;
  return (
    `WITH RECURSIVE l (depth, session_no, branch, upto) AS (${start} UNION ALL ` +
    `SELECT l.depth + 1, ${parent("parent_session_no")}, ${parent("parent_branch")}, ${parent("cut_seq")} FROM l ` +
    `WHERE l.session_no IS NOT NULL AND ${goesOn}) `
  );
}

const AT = "SELECT CAST(0 AS BIGINT), CAST(:session AS BIGINT), CAST(:branch AS BIGINT), CAST(:upTo AS BIGINT)";
const CURRENT =
  `SELECT CAST(0 AS BIGINT), c.no, c.branch, CAST(${NOW} AS BIGINT) FROM sessions c ` +
  "WHERE c.id = :session AND c.deleted_at IS NULL";
const ALL = "l.depth >= 0";

/** Down to a depth, newest first. */
function lineage(start: string): string {
  return (
    `${line(start, "l.depth < :deepest")}SELECT (SELECT s.id FROM sessions s WHERE s.no = l.session_no) AS session, ` +
    `l.session_no, l.branch, l.upto, ${CLEARS} FROM l WHERE l.session_no IS NOT NULL ORDER BY l.depth`
  );
}

/**
 * Live messages of a lineage, and how many clears it holds. The agent's number is compared so that no index is used for it:
 * for every stretch, all messages of the agent would be read.
 */
function countedOver(condition: string): string {
  return (
    `${line(CURRENT, ALL)}SELECT CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n, CAST(coalesce(sum(c.clears), 0) AS BIGINT) AS clears ` +
    "FROM (SELECT (SELECT count(*) FROM events e WHERE e.session_no = l.session_no AND e.branch = l.branch AND e.seq <= l.upto " +
    `AND e.erased_seq IS NULL AND ${condition}) AS n, ${CLEARS} FROM l WHERE l.session_no IS NOT NULL) c`
  );
}

/** Stretches that hold a value of the state, newest first. */
function statedIn(start: string, condition: string, end: string): string {
  return (
    `${line(start, ALL)}SELECT l.session_no, l.branch, l.upto FROM l WHERE l.session_no IS NOT NULL AND ` +
    "(SELECT st.seq FROM state st WHERE st.session_no = l.session_no AND st.branch = l.branch AND st.seq <= l.upto " +
    `AND (st.until_seq IS NULL OR st.until_seq > l.upto)${condition} LIMIT 1) IS NOT NULL ORDER BY l.depth${end}`
  );
}

const STRETCH = (a: string) =>
  `${a}.session_no = :session AND ${a}.branch = :branch AND ${a}.seq > :after AND ${a}.seq <= :upTo`;

const MESSAGE_COLUMNS =
  "s.id AS session, a.id AS agent, m.seq, m.role, m.run, m.key, m.at, m.sha256, m.erased_seq, " +
  "CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, " +
  "CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, " +
  "coalesce(b.store, '') AS store, b.key AS blob_key";

/**
 * Leaves out messages that were cleared by then, and includes later cleared ones without content. Parameters: the
 * stretch, limit.
 */
function messagesAt(order: string): string {
  return (
    `SELECT ${MESSAGE_COLUMNS} FROM (SELECT e.session_no, e.agent_no, e.seq, e.role, e.run, e.key, e.at, e.sha256, e.words, ` +
    "e.content, e.erased_seq FROM events e WHERE e.session_no = :session AND e.branch = :branch AND e.seq > :after AND e.seq <= :upTo " +
    `AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > :erasedAfter) ORDER BY e.seq ${order} LIMIT :limit) m ` +
    "JOIN sessions s ON s.no = m.session_no JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content " +
    "ORDER BY m.seq"
  );
}

function countedBy(run: string, group: string): string {
  return (
    `SELECT a.id AS agent, c.run, c.n FROM (SELECT e.agent_no, ${run} AS run, count(*) AS n FROM events e WHERE ` +
    `${STRETCH("e")} AND e.agent_no IS NOT NULL AND (e.erased_seq IS NULL OR e.erased_seq > :erasedAfter) ` +
    `GROUP BY ${group}) c JOIN agents a ON a.no = c.agent_no`
  );
}

const HEAD_COLUMNS =
  "h.no, h.id, s.id AS session, h.session_no, h.branch, h.seq, p.id AS basis, h.status, h.chain, h.root, f.sha256 AS final, " +
  "h.salt, h.final_summary, h.snapshot_seq, h.fingerprint, h.turn_seq, h.cache_id, h.at";
const HEADS =
  "FROM heads h JOIN sessions s ON s.no = h.session_no LEFT JOIN heads p ON p.no = h.basis_no LEFT JOIN blobs f ON f.no = h.final";

/** The newest head in the stretch l. No head of a branch is older than the branch. */
const headIn = (column: string) =>
  `(SELECT n.${column} FROM heads n WHERE n.session_no = l.session_no AND n.branch = l.branch AND n.seq >= l.branch ` +
  "AND n.seq <= l.upto ORDER BY n.seq DESC LIMIT 1)";

/** Rows of each kind that begin in the stretch w: session_no, branch, after, upto. */
const count = (name: string) =>
  `(SELECT count(*) FROM ${name} r WHERE r.session_no = w.session_no AND r.first_seq = r.seq AND r.branch = w.branch ` +
  `AND r.first_seq > w.after AND r.first_seq <= w.upto) AS ${name}`;

const COUNTED = ["messages", "turns", "evals", "calls", "invocations", "snapshots"];
const SUMS = COUNTED.map((name) => `CAST(coalesce(sum(c.${name}), 0) AS BIGINT) AS ${name}`).join(", ");
const COUNTS =
  "(SELECT count(*) FROM events e WHERE e.session_no = w.session_no AND e.branch = w.branch AND e.seq > w.after " +
  `AND e.seq <= w.upto AND e.agent_no IS NOT NULL) AS messages, ${["turns", "evals", "calls", "invocations"].map(count).join(", ")}, ` +
  "(SELECT count(*) FROM snapshots r WHERE r.session_no = w.session_no AND r.branch = w.branch AND r.seq > w.after " +
  "AND r.seq <= w.upto) AS snapshots";

interface VersionedTable {
  readonly table: string;
  readonly columns: string;
  readonly joins: string;
}

const blob = (column: string) => `b_${column}.sha256 AS ${column}`;
const blobJoin = (column: string) => `LEFT JOIN blobs b_${column} ON b_${column}.no = r.${column}`;
const head = (column: string, as: string) => ({
  column: `h_${as}.id AS ${as}`,
  join: `LEFT JOIN heads h_${as} ON h_${as}.no = r.${column}`,
});

const TURNS: VersionedTable = {
  table: "turns",
  columns: "r.first_seq, r.seq, r.branch, r.status, a.id AS agent, r.run, r.at",
  joins: "LEFT JOIN agents a ON a.no = r.agent_no",
};
const EVAL_BLOBS = ["code", "result", "final", "error"];
const EVALS: VersionedTable = {
  table: "evals",
  columns:
    "r.first_seq, r.seq, r.branch, r.turn_seq, r.message_seq, r.status, r.salts, r.at, r.erased_seq, " +
    EVAL_BLOBS.map(blob).join(", "),
  joins: EVAL_BLOBS.map(blobJoin).join(" "),
};
const CALL_BLOBS = ["request", "response", "result", "error"];
const CALLS: VersionedTable = {
  table: "calls",
  columns:
    `r.first_seq, r.seq, r.branch, r.turn_seq, r.type, r.status, r.model, r.provider, ${CALL_BLOBS.map(blob).join(", ")}, r.salts, ` +
    "r.tokens_in, r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq",
  joins: CALL_BLOBS.map(blobJoin).join(" "),
};
const INVOCATION_HEADS = [
  head("caller_head_before", "caller_before"),
  head("caller_head_after", "caller_after"),
  head("callee_head_before", "callee_before"),
  head("callee_head_after", "callee_after"),
  head("source_head", "source_head"),
];
const INVOCATIONS: VersionedTable = {
  table: "invocations",
  columns:
    "r.first_seq, r.seq, r.branch, r.type, r.status, e.id AS callee, r.call_seq, r.label, o.id AS source, " +
    `r.source_snapshot_seq, r.source_fingerprint, r.created_at, r.completed_at, r.callee_session_no, r.caller_head_before, ` +
    "r.callee_head_before, r.source_session_no, r.source_head AS source_head_no, " +
    INVOCATION_HEADS.map(({ column }) => column).join(", "),
  joins:
    "LEFT JOIN sessions e ON e.no = r.callee_session_no LEFT JOIN sessions o ON o.no = r.source_session_no " +
    INVOCATION_HEADS.map(({ join }) => join).join(" "),
};

/** Versions in the stretch that no later one of the stretch replaces, in order of what they are versions of. */
function versionsAt({ table, columns, joins }: VersionedTable): string {
  return (
    `SELECT s.id AS session, ${columns} FROM ${table} r JOIN sessions s ON s.no = r.session_no ${joins} WHERE ${STRETCH("r")} ` +
    `AND NOT EXISTS (SELECT 1 FROM ${table} n WHERE n.session_no = r.session_no AND n.first_seq = r.first_seq ` +
    "AND n.seq > r.seq AND n.branch = r.branch AND n.seq <= :upTo) ORDER BY r.first_seq"
  );
}

/** The newest version, on whichever branch. */
function newest({ table, columns, joins }: VersionedTable): string {
  return (
    `SELECT s.id AS session, ${columns} FROM ${table} r JOIN sessions s ON s.no = r.session_no ${joins} ` +
    "WHERE s.id = :session AND s.deleted_at IS NULL AND r.first_seq = :first ORDER BY r.seq DESC LIMIT 1"
  );
}

/** From a session on to those that wait for it. */
const waiting = (start: string) =>
  `WITH RECURSIVE up (no) AS (${start} UNION SELECT r.session_no FROM up JOIN invocations r ON r.callee_session_no = up.no ` +
  "WHERE r.status = 'running' AND NOT EXISTS (SELECT 1 FROM invocations n WHERE n.session_no = r.session_no " +
  "AND n.first_seq = r.first_seq AND n.seq > r.seq))";

const SNAPSHOTS =
  "SELECT s.id AS session, r.seq, r.branch, r.turn_seq, b.sha256 AS vars, r.salt, r.at, r.erased_seq FROM snapshots r " +
  "JOIN sessions s ON s.no = r.session_no LEFT JOIN blobs b ON b.no = r.vars";

export const queries = () => ({
  "lineage.current": lineage(CURRENT),
  "lineage.at": lineage(AT),
  "lineage.heirs":
    "WITH RECURSIVE d (no) AS (SELECT b.session_no FROM branches b WHERE b.parent_session_no = :session UNION " +
    "SELECT b.session_no FROM d JOIN branches b ON b.parent_session_no = d.no) SELECT s.id FROM d JOIN sessions s ON s.no = d.no " +
    "WHERE s.deleted_at IS NULL AND d.no <> :session ORDER BY d.no + 0 LIMIT :limit",
  "lineage.newestHead":
    `${line(AT, `${headIn("no")} IS NULL`)}SELECT ${HEAD_COLUMNS} ${HEADS} WHERE h.no = ` +
    `(SELECT ${headIn("no")} FROM l WHERE l.session_no IS NOT NULL ORDER BY l.depth DESC LIMIT 1)`,
  "lineage.countsSince":
    `${line(AT, `${headIn("no")} IS NULL`)}SELECT ${SUMS} ` +
    `FROM (SELECT ${COUNTS} FROM (SELECT l.session_no, l.branch, coalesce(${headIn("seq")}, 0) AS after, l.upto ` +
    "FROM l WHERE l.session_no IS NOT NULL) w) c",
  "lineage.stated": statedIn(CURRENT, "", ""),
  "lineage.statedAt": statedIn(AT, "", ""),
  "lineage.statedKey": statedIn(CURRENT, " AND st.key IN (:key, '')", " LIMIT 1"),
  "lineage.messages": countedOver("e.agent_no IS NOT NULL"),
  "lineage.agentMessages": countedOver(`e.agent_no + 0 = ${AGENT}`),
  "lineage.runMessages": countedOver(`e.agent_no + 0 = ${AGENT} AND e.run = :run`),
  "lineage.clears":
    "SELECT c.seq, a.id AS agent, c.run FROM clears c JOIN agents a ON a.no = c.agent_no " +
    "WHERE c.session_no = :session AND c.branch = :branch AND c.seq <= :upTo ORDER BY c.seq",
  "messages.at": messagesAt("ASC"),
  "messages.lastAt": messagesAt("DESC"),
  // Counts messages by agent and run: messages that a context leaves out are counted, not read.
  "messages.count": countedBy("CAST(NULL AS TEXT)", "e.agent_no"),
  "messages.countRuns": countedBy("e.run", "e.agent_no, e.run"),
  "messages.erasedUpTo": `SELECT max(e.erased_seq) AS value FROM events e WHERE ${STRETCH("e")} AND e.agent_no IS NOT NULL`,
  "lineage.counts":
    `SELECT ${COUNTS} FROM (SELECT CAST(:session AS BIGINT) AS session_no, CAST(:branch AS BIGINT) AS branch, ` +
    "CAST(:after AS BIGINT) AS after, CAST(:upTo AS BIGINT) AS upto) w",
  // No head of a branch is older than the branch, whose number is the seq it begins with.
  "branch.position":
    `SELECT w.head_id, w.head_root, ${COUNTS} FROM (SELECT s.no AS session_no, s.branch, ` +
    `h.id AS head_id, h.root AS head_root, coalesce(h.seq, 0) AS after, CAST(${NOW} AS BIGINT) AS upto ` +
    "FROM sessions s LEFT JOIN heads h ON h.no = (SELECT n.no FROM heads n WHERE n.session_no = s.no AND n.branch = s.branch " +
    "AND n.seq >= s.branch ORDER BY n.seq DESC LIMIT 1) WHERE s.id = :session) w",
  "head.get": `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE h.id = :id AND s.deleted_at IS NULL`,
  "head.current":
    `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE h.no = ` +
    "(SELECT c.head_no FROM sessions c WHERE c.id = :session AND c.deleted_at IS NULL)",
  "head.before":
    `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE h.session_no = :session AND h.branch = :branch AND h.seq >= h.branch AND h.seq <= :upTo ` +
    "ORDER BY h.seq DESC LIMIT 1",
  "heads.list":
    `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE s.id = :session AND s.deleted_at IS NULL AND h.seq < :before ` +
    "ORDER BY h.seq DESC LIMIT :limit",
  "heads.oldest":
    `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE s.id = :session AND s.deleted_at IS NULL AND h.seq > :after ` +
    "ORDER BY h.seq LIMIT :limit",
  "heads.between": `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE h.id >= :from AND h.id < :to AND s.deleted_at IS NULL ORDER BY h.id LIMIT :limit`,
  "heads.beginning":
    "SELECT h.id FROM heads h WHERE h.session_no = :session AND h.id >= :from AND h.id < :to ORDER BY h.id LIMIT :limit",
  "heads.at": `SELECT ${HEAD_COLUMNS} ${HEADS} WHERE ${STRETCH("h")} ORDER BY h.seq, h.no`,
  "turns.at": versionsAt(TURNS),
  "turn.get": newest(TURNS),
  "evals.at": versionsAt(EVALS),
  "eval.get": newest(EVALS),
  "calls.at": versionsAt(CALLS),
  "call.get": newest(CALLS),
  "snapshots.at": `${SNAPSHOTS} WHERE ${STRETCH("r")} ORDER BY r.seq`,
  "snapshot.get": `${SNAPSHOTS} WHERE s.id = :session AND s.deleted_at IS NULL AND r.seq = :seq`,
  "invocations.at": versionsAt(INVOCATIONS),
  "invocation.get": newest(INVOCATIONS),
  "invocations.waiting":
    `${waiting("SELECT c.no FROM sessions c WHERE c.id = :session AND c.deleted_at IS NULL")} ` +
    "SELECT s.id FROM up JOIN sessions s ON s.no = up.no WHERE s.deleted_at IS NULL ORDER BY s.no",
});

/** The seq of the newest version: of two commits that end it, one succeeds. */
const version = (table: string) =>
  `SELECT (SELECT max(r.seq) FROM ${table} r WHERE r.session_no = s.no AND r.first_seq = ?) AS value FROM sessions s WHERE s.id = ?`;

export const guards = () => ({
  "session.seq": "SELECT seq AS value FROM sessions WHERE id = ? AND deleted_at IS NULL",
  "session.branch": "SELECT branch AS value FROM sessions WHERE id = ? AND deleted_at IS NULL",
  "session.head":
    "SELECT (SELECT h.id FROM heads h WHERE h.no = s.head_no) AS value FROM sessions s WHERE s.id = ? AND s.deleted_at IS NULL",
  "turn.version": version("turns"),
  "call.version": version("calls"),
  "eval.version": version("evals"),
  "invocation.version": version("invocations"),
  /** 1 when the second waits for the first. */
  "invocation.waits":
    `SELECT (${waiting("SELECT c.no FROM sessions c WHERE c.id = ?")} SELECT count(*) FROM up WHERE up.no = s.no) AS value ` +
    "FROM sessions s WHERE s.id = ?",
  "store.lock": "SELECT name AS value FROM holdfast_meta WHERE name = ?",
});

export const statements = () => ({
  "session.branchTo": "UPDATE sessions SET branch = ? WHERE no = ?",
  "session.headTo": "UPDATE sessions SET head_no = (SELECT no FROM heads WHERE id = ?) WHERE no = ?",
});
