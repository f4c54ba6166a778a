// What the checker reads: stored columns, each number beside what it names, in pages by key. A row is read with the
// event of its seq in one statement, so that a commit between two reads is not mistaken for damage.
import type { OwnedTable } from "../../contracts/storage/check-queries.ts";
import { REFS_ASKED } from "../../contracts/storage/store-check-queries.ts";
import { CALL_BLOBS, EVAL_BLOBS, REFERRING } from "./references.ts";
import { CHECKED } from "./runs.ts";

const EVENT = "e.type AS event_type, e.body AS event_body, e.branch AS event_branch";
const withEvent = (row: string) => `LEFT JOIN events e ON e.session_no = ${row}.session_no AND e.seq = ${row}.seq`;
const blob = (column: string) => `r.${column} AS ${column}_no, b_${column}.sha256 AS ${column}`;
const joinBlob = (column: string) => `LEFT JOIN blobs b_${column} ON b_${column}.no = r.${column}`;
const head = (column: string, as: string) =>
  `r.${column} AS ${as}_no, h_${as}.id AS ${as}, h_${as}.session_no AS ${as}_session`;
const joinHead = (column: string, as: string) => `LEFT JOIN heads h_${as} ON h_${as}.no = r.${column}`;
const exists = (query: string) => `CASE WHEN EXISTS (${query}) THEN 1 ELSE 0 END`;
const turnThere = (a: string) =>
  `${exists(`SELECT 1 FROM turns t WHERE t.session_no = ${a}.session_no AND t.first_seq = ${a}.turn_seq`)} AS turn_there`;

const TURN_ENDED =
  "SELECT 1 FROM turns t WHERE t.session_no = r.session_no AND t.first_seq = r.turn_seq AND t.seq = r.seq";
const turnEnded = `${exists(TURN_ENDED)} AS turn_there`;

const SESSIONS =
  "SELECT s.no, s.id, s.deleted_at, s.branch, s.seq, s.chain, s.messages, s.state_seq, s.status, s.tags, s.kind, s.origin, " +
  "s.cache_id, s.agent_no, a.id AS agent, s.request, " +
  "CASE WHEN s.title IS NULL AND s.metadata IS NULL THEN 0 ELSE 1 END AS described, s.created_at, s.updated_at, s.version, " +
  "s.head_no, h.id AS head, h.session_no AS head_session, h.status AS head_status, " +
  `${exists("SELECT 1 FROM derivations d WHERE d.session_no = h.session_no AND d.source_session_no = s.no")} AS head_derived ` +
  "FROM sessions s LEFT JOIN heads h ON h.no = s.head_no LEFT JOIN agents a ON a.no = s.agent_no";

/** Versions in the order of what they are versions of. Parameters: session, first_seq, seq, limit. */
function versions(table: string, columns: string, joins: string): string {
  return (
    `SELECT r.first_seq, r.seq, r.branch, r.status, ${columns}, ${EVENT} FROM ${table} r ${joins} ${withEvent("r")} ` +
    "WHERE r.session_no = :session AND (r.first_seq, r.seq) > (:afterFirst, :afterSeq) ORDER BY r.first_seq, r.seq LIMIT :limit"
  );
}

/** Parameters: session, seq (or branch), limit. */
function bySeq(table: string, columns: string, joins: string, key = "seq"): string {
  return (
    `SELECT ${columns}, ${EVENT} FROM ${table} r ${joins} ${withEvent("r")} ` +
    `WHERE r.session_no = :session AND r.${key} > :after ORDER BY r.${key} LIMIT :limit`
  );
}

const INVOCATION_HEADS = [
  ["caller_head_before", "caller_before"],
  ["caller_head_after", "caller_after"],
  ["callee_head_before", "callee_before"],
  ["callee_head_after", "callee_after"],
  ["source_head", "source_head"],
] as const;

/** Rows r after the row whose key columns are the parameters. */
export function behindKey(key: readonly string[]): string {
  const columns = key.map((column) => `r.${column}`).join(", ");
  const values = key.map((column) => `:${column}`).join(", ");
  return key.length === 1 ? `${columns} > ${values}` : `(${columns}) > (${values})`;
}

/**
 * The blobs that the rows of a table name, page by page in the order of their keys: every row is read once, however many
 * sessions and blobs there are. Parameters: the key of the last row before, limit.
 */
function referencesBy(table: string, key: readonly string[], blobs: readonly string[]): string {
  const keys = key.map((column) => `r.${column}`).join(", ");
  return (
    `SELECT ${keys}, ${blobs.map((column, i) => `r.${column} AS blob_${i}`).join(", ")} FROM ${table} r ` +
    `WHERE ${behindKey(key)} ORDER BY ${keys} LIMIT :limit`
  );
}

function references(where: (column: string) => string): string {
  return REFERRING.flatMap(([table, columns]) =>
    columns.map((column) => `SELECT r.${column} AS no FROM ${table} r ${where(column)}`),
  ).join(" UNION ALL ");
}

/** Rows that refer to a blob of `t`: what is a version of something counts as that. */
function referring(): string {
  const rows = REFERRING.flatMap(([table, columns]) => {
    const seq = table === "evals" || table === "calls" ? "first_seq" : "seq";
    return columns.map(
      (column) =>
        `SELECT r.${column} AS no, r.session_no, CAST(NULL AS TEXT) AS block, r.${seq} AS seq FROM ${table} r ` +
        `WHERE r.${column} IN (SELECT via FROM t)`,
    );
  });
  const block =
    "SELECT r.value AS no, NULL AS session_no, r.block_id AS block, r.version AS seq FROM block_versions r " +
    "WHERE r.value IN (SELECT via FROM t)";
  const document =
    "SELECT r.content AS no, NULL AS session_no, c.name || '/' || r.id AS block, r.item AS seq FROM documents r " +
    "JOIN vector_collections c ON c.no = r.collection_no WHERE r.content IN (SELECT via FROM t)";
  return [...rows, block, document].join(" UNION ");
}

/** How many referring rows are named for each blob. */
const REFERRERS = 5;

/** The next session numbers that occur, regardless of how many rows each has. Parameters: after, how many. */
function strays(table: OwnedTable): string {
  return (
    `WITH RECURSIVE d (n, no) AS (SELECT CAST(1 AS BIGINT), (SELECT min(r.session_no) FROM ${table} r WHERE r.session_no > :after) ` +
    `UNION ALL SELECT d.n + 1, (SELECT min(r.session_no) FROM ${table} r WHERE r.session_no > d.no) FROM d ` +
    "WHERE d.no IS NOT NULL AND d.n < :limit) SELECT d.no, s.no AS there FROM d LEFT JOIN sessions s ON s.no = d.no " +
    "WHERE d.no IS NOT NULL ORDER BY d.no"
  );
}

const ASKED = Array.from({ length: REFS_ASKED }, (_, i) => `(CAST(:blob_${i} AS BIGINT))`).join(", ");

export const queries = () => ({
  "check.sessions": `${SESSIONS} WHERE s.no > :after ORDER BY s.no LIMIT :limit`,
  "check.session": `${SESSIONS} WHERE s.id = :id`,
  // A head's own event is the last that belongs to it; it ends the turn, and the chain is the one before it.
  "check.heads":
    `SELECT r.no, r.id, r.branch, r.seq, r.basis_no, p.id AS basis, p.session_no AS basis_session, r.status, r.chain, r.root, ` +
    `${blob("final")}, r.salt, r.final_summary, r.snapshot_seq, ` +
    `${exists("SELECT 1 FROM snapshots x WHERE x.session_no = r.session_no AND x.seq = r.snapshot_seq")} AS snapshot_there, ` +
    `r.turn_seq, ${turnEnded}, r.fingerprint, r.cache_id, r.at, l.hash AS chain_at, ${EVENT} ` +
    `FROM heads r LEFT JOIN heads p ON p.no = r.basis_no ${joinBlob("final")} ${withEvent("r")} ` +
    "LEFT JOIN events l ON l.session_no = r.session_no AND l.seq = r.seq - 1 " +
    "WHERE r.session_no = :session AND (r.seq, r.no) > (:afterSeq, :afterNo) ORDER BY r.seq, r.no LIMIT :limit",
  "check.branches": bySeq(
    "branches",
    "r.branch, r.seq, r.parent_session_no, p.id AS parent, p.deleted_at AS parent_deleted, p.seq AS parent_seq, r.parent_branch, " +
      `${exists("SELECT 1 FROM branches q WHERE q.session_no = r.parent_session_no AND q.branch = r.parent_branch")} ` +
      "AS parent_branch_there, r.cut_seq, r.at",
    "LEFT JOIN sessions p ON p.no = r.parent_session_no",
    "branch",
  ),
  "check.branch":
    "SELECT r.parent_session_no, r.parent_branch FROM branches r WHERE r.session_no = :session AND r.branch = :branch",
  "check.derivations": bySeq(
    "derivations",
    "r.seq, r.type, r.source_session_no, s.id AS source, s.deleted_at AS source_deleted, r.source_head, h.id AS head, " +
      "h.session_no AS head_session, r.source_branch, r.source_seq, r.at, b.parent_session_no, b.parent_branch, b.cut_seq",
    "LEFT JOIN sessions s ON s.no = r.source_session_no LEFT JOIN heads h ON h.no = r.source_head " +
      "LEFT JOIN branches b ON b.session_no = r.session_no AND b.branch = 1",
  ),
  "check.turns": versions(
    "turns",
    "a.id AS agent, r.run, r.at, " +
      "(SELECT min(h.status) FROM heads h WHERE h.session_no = r.session_no AND h.seq = r.seq) AS head_status",
    "LEFT JOIN agents a ON a.no = r.agent_no",
  ),
  "check.clears": bySeq("clears", "r.seq, r.branch, a.id AS agent, r.run", "LEFT JOIN agents a ON a.no = r.agent_no"),
  "check.evals": versions(
    "evals",
    `r.turn_seq, ${turnThere("r")}, r.message_seq, ` +
      `${exists("SELECT 1 FROM events m WHERE m.session_no = r.session_no AND m.seq = r.message_seq AND m.role IS NOT NULL")} ` +
      `AS message_there, ${EVAL_BLOBS.map(blob).join(", ")}, r.salts, r.at, r.erased_seq`,
    EVAL_BLOBS.map(joinBlob).join(" "),
  ),
  "check.calls": versions(
    "calls",
    `r.turn_seq, ${turnThere("r")}, r.type, r.model, r.provider, ${CALL_BLOBS.map(blob).join(", ")}, r.salts, r.tokens_in, ` +
      "r.tokens_out, r.tokens_cached, r.cost_usd, r.created_at, r.completed_at, r.erased_seq",
    CALL_BLOBS.map(joinBlob).join(" "),
  ),
  "check.invocations": versions(
    "invocations",
    "r.type, r.callee_session_no AS callee_no, c.id AS callee, c.deleted_at AS callee_deleted, c.seq AS callee_seq, " +
      "r.source_session_no AS source_no, o.id AS source, o.deleted_at AS source_deleted, r.call_seq, " +
      "(SELECT k.type FROM calls k WHERE k.session_no = r.session_no AND k.first_seq = r.call_seq AND k.seq = r.call_seq) AS call_type, " +
      "r.label, r.source_snapshot_seq, r.source_fingerprint, h_source_head.snapshot_seq AS source_head_snapshot, " +
      "h_source_head.fingerprint AS source_head_fingerprint, r.created_at, r.completed_at, " +
      INVOCATION_HEADS.map(([column, as]) => head(column, as)).join(", "),
    "LEFT JOIN sessions c ON c.no = r.callee_session_no LEFT JOIN sessions o ON o.no = r.source_session_no " +
      INVOCATION_HEADS.map(([column, as]) => joinHead(column, as)).join(" "),
  ),
  "check.snapshots": bySeq(
    "snapshots",
    `r.seq, r.branch, r.turn_seq, ${turnThere("r")}, ${blob("vars")}, r.salt, r.at, r.erased_seq`,
    joinBlob("vars"),
  ),
  "check.annotations": bySeq(
    "annotations",
    "r.seq, r.payload AS note_no, b.sha256 AS note, r.salt",
    "LEFT JOIN blobs b ON b.no = r.payload",
  ),
  "check.state":
    `SELECT r.branch, r.key, r.seq, r.ord, r.until_seq, r.expires_at, ${blob("value")}, r.salt, ${EVENT} FROM state r ` +
    `${joinBlob("value")} ${withEvent("r")} WHERE r.session_no = :session ` +
    "AND (r.branch, r.key, r.seq) > (:afterBranch, :afterKey, :afterSeq) " +
    "ORDER BY r.branch, r.key, r.seq LIMIT :limit",
  "check.events":
    "SELECT r.seq, r.branch, r.type, r.at, r.body, CASE WHEN r.role IS NULL THEN 0 ELSE 1 END AS message, r.erased_seq, " +
    `r.sha256, ${blob("content")} FROM events r ${joinBlob("content")} ` +
    "WHERE r.session_no = :session AND r.seq > :after ORDER BY r.seq LIMIT :limit",
  "check.runs":
    "SELECT r.id, r.first_seq, r.seq, r.branch, r.parent, r.nested, (SELECT a.id FROM agents a WHERE a.no = r.agent_no) AS agent, " +
    "r.agent_version, r.toolset, r.status, r.version, r.epoch, r.owner, r.iteration, r.checkpoint_seq, r.wake_at, r.waits, " +
    "r.cancel, r.pause_at, r.stop, r.limits, r.priority, r.lease_ms, r.tokens, r.cost_usd, r.created_at, r.updated_at, " +
    "r.ended_at FROM runs r WHERE r.session_no = :session AND r.id > :after ORDER BY r.id LIMIT :limit",
  "check.signals": `${CHECKED.signals} AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "check.decisions": `${CHECKED.decisions} AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "check.checkpoints": `${CHECKED.checkpoints} AND r.seq > :after ORDER BY r.seq LIMIT :limit`,
  "check.boards":
    "SELECT r.id, r.agent, r.ord, r.parent, r.max_retries, r.created_at, r.version FROM boards r " +
    "WHERE r.session_no = :session AND r.id > :after ORDER BY r.id LIMIT :limit",
  "check.captures":
    "SELECT r.id, r.seq, r.request, r.agent, r.agent_session, r.generation, r.diverged, r.files, r.size, r.stored, r.created_at, " +
    "r.saved_at, r.expires_at, b.sha256 AS manifest, r.salt, " +
    "(SELECT count(*) FROM blob_links l WHERE l.parent_no = r.manifest AND l.ord < 0) AS named FROM captures r " +
    "LEFT JOIN blobs b ON b.no = r.manifest WHERE r.session_no = :session AND r.id > :after ORDER BY r.id LIMIT :limit",
  "check.boardTasks":
    "SELECT r.board_id, r.id, r.status, r.ord, r.retry_count, r.version, r.created_at, r.updated_at FROM boards b " +
    "JOIN tasks r ON r.board_id = b.id WHERE b.session_no = :session AND (r.board_id, r.id) > (:afterBoard, :afterTask) " +
    "ORDER BY r.board_id, r.id LIMIT :limit",
  "check.namesOf":
    "SELECT r.name, r.created_at FROM aliases r WHERE r.session_no = :session AND r.name > :after ORDER BY r.name LIMIT :limit",
  "check.tagsOf":
    "SELECT r.tag FROM session_tags r WHERE r.session_no = :session AND r.tag > :after ORDER BY r.tag LIMIT :limit",
  "check.beyond": "SELECT min(r.seq) AS seq FROM events r WHERE r.session_no = :session AND r.seq > :end",
  "check.contents":
    "SELECT r.seq, r.content AS content_no FROM events r LEFT JOIN blobs b ON b.no = r.content " +
    "WHERE r.session_no = :session AND r.seq > :after AND r.seq <= :upTo AND r.content IS NOT NULL AND b.no IS NULL ORDER BY r.seq",
  "check.eventsUpTo":
    "SELECT max(k.no) AS upto FROM (SELECT r.no FROM events r WHERE r.no > :after ORDER BY r.no LIMIT :limit) k",
  "check.refs.events":
    "SELECT r.content AS blob_no FROM events r " + "WHERE r.no > :after AND r.no <= :upTo AND r.content IS NOT NULL",
  "check.refs.annotations": referencesBy("annotations", ["session_no", "seq"], ["payload"]),
  "check.refs.state": referencesBy("state", ["session_no", "branch", "key", "seq"], ["value"]),
  "check.refs.evals": referencesBy("evals", ["session_no", "first_seq", "seq"], EVAL_BLOBS),
  "check.refs.calls": referencesBy("calls", ["session_no", "first_seq", "seq"], CALL_BLOBS),
  "check.refs.snapshots": referencesBy("snapshots", ["session_no", "seq"], ["vars"]),
  "check.refs.heads": referencesBy("heads", ["no"], ["final"]),
  "check.refs.captures": referencesBy("captures", ["no"], ["manifest"]),
  "check.refs.documents": referencesBy("documents", ["collection_no", "item"], ["content"]),
  "check.blockRefs":
    "SELECT r.block_id, r.version, r.edit, r.at, o.id AS block, r.value AS value_no, b.sha256 AS value FROM block_versions r " +
    "LEFT JOIN blocks o ON o.id = r.block_id LEFT JOIN blobs b ON b.no = r.value " +
    "WHERE (r.block_id, r.version) > (:afterBlock, :afterVersion) ORDER BY r.block_id, r.version LIMIT :limit",
  "check.agents":
    "SELECT r.no, r.id, r.name, r.agent_type, r.model, r.system, r.tool_ids, r.tags, r.metadata, r.created_at, r.updated_at, " +
    "r.deleted_at, r.version FROM agents r WHERE r.no > :after ORDER BY r.no LIMIT :limit",
  "check.agentTags": "SELECT r.tag FROM agent_tags r WHERE r.agent_no = :agent ORDER BY r.tag",
  "check.strayTags":
    "SELECT r.tag, r.agent_no FROM agent_tags r LEFT JOIN agents a ON a.no = r.agent_no WHERE a.no IS NULL " +
    "ORDER BY r.tag, r.agent_no LIMIT :limit",
  "check.blocks":
    "SELECT r.id, r.label, r.char_limit, r.description, r.read_only, r.version, r.created_at, r.updated_at, " +
    "(SELECT max(v.version) FROM block_versions v WHERE v.block_id = r.id) AS newest, " +
    "(SELECT count(*) FROM block_versions v WHERE v.block_id = r.id) AS versions, " +
    "(SELECT v.at FROM block_versions v WHERE v.block_id = r.id AND v.version = 1) AS first_at, " +
    "(SELECT v.at FROM block_versions v WHERE v.block_id = r.id AND v.version = r.version) AS newest_at " +
    "FROM blocks r WHERE r.id > :after ORDER BY r.id LIMIT :limit",
  "check.strayBlocks":
    "SELECT a.id AS agent, r.agent_no, r.block_id FROM agent_blocks r LEFT JOIN agents a ON a.no = r.agent_no " +
    "LEFT JOIN blocks b ON b.id = r.block_id WHERE a.no IS NULL OR b.id IS NULL ORDER BY r.agent_no, r.ord LIMIT :limit",
  "check.refsOf":
    `WITH w (no) AS (VALUES ${ASKED}) SELECT b.no, b.sha256, b.refs, CAST(coalesce(max(g.n), 0) AS BIGINT) AS n FROM blobs b LEFT JOIN ` +
    `(SELECT u.no, count(*) AS n FROM (${references((column) => `WHERE r.${column} IN (SELECT no FROM w)`)} ` +
    "UNION ALL SELECT r.value AS no FROM block_versions r WHERE r.value IN (SELECT no FROM w) " +
    "UNION ALL SELECT r.content AS no FROM documents r WHERE r.content IN (SELECT no FROM w)) u GROUP BY u.no) g ON g.no = b.no " +
    "WHERE b.no IN (SELECT no FROM w) GROUP BY b.no, b.sha256, b.refs ORDER BY b.no",
  "check.referrers":
    `WITH w (no) AS (VALUES ${ASKED}), t (no, via) AS (SELECT w.no, w.no FROM w UNION ` +
    "SELECT l.child_no, l.parent_no FROM blob_links l WHERE l.child_no IN (SELECT no FROM w)) " +
    "SELECT x.no, x.session, x.block, x.seq FROM (SELECT t.no, s.id AS session, u.block, u.seq, " +
    "row_number() OVER (PARTITION BY t.no ORDER BY u.session_no, u.block, u.seq) AS n " +
    `FROM t JOIN (${referring()}) u ON u.no = t.via LEFT JOIN sessions s ON s.no = u.session_no) x ` +
    `WHERE x.n <= ${REFERRERS} ORDER BY x.no, x.n`,
  "check.named":
    "SELECT l.ord, c.sha256 FROM blobs p JOIN blob_links l ON l.parent_no = p.no LEFT JOIN blobs c ON c.no = l.child_no " +
    "WHERE p.sha256 = :parent AND l.ord > :afterOrd AND l.ord < 0 ORDER BY l.ord LIMIT :limit",
  "check.blobs":
    "SELECT b.no, b.sha256, b.media, b.utf8, b.form, b.refs, b.pinned, b.expires_at, " +
    `${exists("SELECT 1 FROM blob_links x WHERE x.child_no = b.no")} AS linked FROM blobs b WHERE b.no > :after ORDER BY b.no LIMIT :limit`,
  "check.parts":
    "SELECT k.parent_no, k.ord, k.child_no, p.sha256 AS parent, c.no AS child FROM (SELECT parent_no, ord, child_no FROM blob_links " +
    "WHERE (parent_no, ord) > (:afterParent, :afterOrd) ORDER BY parent_no, ord LIMIT :limit) k LEFT JOIN blobs p ON p.no = k.parent_no " +
    "LEFT JOIN blobs c ON c.no = k.child_no ORDER BY k.parent_no, k.ord",
  "check.counters": "SELECT name, n FROM counters ORDER BY name",
  "check.aliases":
    "SELECT r.name, s.no AS there, s.deleted_at FROM aliases r LEFT JOIN sessions s ON s.no = r.session_no " +
    "WHERE r.name > :after ORDER BY r.name LIMIT :limit",
  "check.tasks":
    "SELECT r.board_id, r.id, b.id AS there FROM tasks r LEFT JOIN boards b ON b.id = r.board_id " +
    "WHERE (r.board_id, r.id) > (:afterBoard, :afterTask) ORDER BY r.board_id, r.id LIMIT :limit",
  "check.strays.events": strays("events"),
  "check.strays.branches": strays("branches"),
  "check.strays.turns": strays("turns"),
  "check.strays.clears": strays("clears"),
  "check.strays.evals": strays("evals"),
  "check.strays.calls": strays("calls"),
  "check.strays.snapshots": strays("snapshots"),
  "check.strays.heads": strays("heads"),
  "check.strays.invocations": strays("invocations"),
  "check.strays.derivations": strays("derivations"),
  "check.strays.annotations": strays("annotations"),
  "check.strays.state": strays("state"),
  "check.strays.boards": strays("boards"),
  "check.strays.captures": strays("captures"),
  "check.strays.runs": strays("runs"),
  "check.strays.signals": strays("signals"),
  "check.strays.decisions": strays("decisions"),
  "check.strays.checkpoints": strays("checkpoints"),
  "check.strays.session_tags": strays("session_tags"),
});
