// Which rows refer to a blob, and what each session refers to. No index leads from a blob to its rows, so each of these
// reads all rows; people run them, and they are on no hot path.
export const EVAL_BLOBS = ["code", "result", "final", "error"] as const;
export const CALL_BLOBS = ["request", "response", "result", "error"] as const;

/** Every column of a session's rows that refers to a blob, but for those of blocks and documents, which are of no session. */
export const REFERRING: readonly (readonly [table: string, columns: readonly string[]])[] = [
  ["events", ["content"]],
  ["annotations", ["payload"]],
  ["state", ["value"]],
  ["evals", EVAL_BLOBS],
  ["calls", CALL_BLOBS],
  ["snapshots", ["vars"]],
  ["heads", ["final"]],
  ["captures", ["manifest"]],
];

/** The column that names a row where its seq does not. */
const NAMES: Readonly<Record<string, string>> = { state: "r.key", heads: "r.id", captures: "r.id" };

/** Rows that refer to a blob of `t`; of what has versions, the first stands for all. */
function referringRows(): string {
  const rows = REFERRING.flatMap(([table, columns]) => {
    const seq = table === "evals" || table === "calls" ? "first_seq" : "seq";
    const type = table === "events" ? "r.type" : "CAST(NULL AS TEXT)";
    const name = NAMES[table] ?? "CAST(NULL AS TEXT)";
    return columns.map(
      (column) =>
        `SELECT '${table}' AS source, t.named, r.session_no, r.${seq} AS seq, ${type} AS type, ${name} AS name ` +
        `FROM t JOIN ${table} r ON r.${column} = t.via`,
    );
  });
  const blocks =
    "SELECT 'blocks' AS source, t.named, CAST(NULL AS BIGINT) AS session_no, r.version AS seq, CAST(NULL AS TEXT) AS type, " +
    "r.block_id AS name FROM t JOIN block_versions r ON r.value = t.via";
  const documents =
    "SELECT 'documents' AS source, t.named, CAST(NULL AS BIGINT) AS session_no, r.item AS seq, CAST(NULL AS TEXT) AS type, " +
    "c.name || '/' || r.id AS name FROM t JOIN documents r ON r.content = t.via JOIN vector_collections c ON c.no = r.collection_no";
  return [...rows, blocks, documents].join(" UNION ");
}

/** What a session's rows refer to, each blob once, and the attachments that those name. */
const OWNED =
  `held (session_no, no) AS (${REFERRING.flatMap(([table, columns]) =>
    columns.map((column) => `SELECT r.session_no, r.${column} FROM ${table} r WHERE r.${column} IS NOT NULL`),
  ).join(" UNION ")}), ` +
  "owned (session_no, no) AS (SELECT session_no, no FROM held UNION SELECT h.session_no, l.child_no FROM held h " +
  "JOIN blob_links l ON l.parent_no = h.no AND l.ord < 0)";

const sum = (what: string) => `CAST(coalesce(sum(${what}), 0) AS BIGINT)`;

const INLINE =
  "SELECT 'events' AS source, 0 AS named, s.id AS session, e.seq, e.type, CAST(NULL AS TEXT) AS name FROM ";

export const queries = () => ({
  "blob.referrers":
    "WITH t (via, named) AS (SELECT b.no, 0 FROM blobs b WHERE b.sha256 = :sha256 UNION " +
    "SELECT l.parent_no, 1 FROM blobs b JOIN blob_links l ON l.child_no = b.no AND l.ord < 0 WHERE b.sha256 = :sha256) " +
    "SELECT x.source, x.named, s.id AS session, x.seq, x.type, x.name " +
    `FROM (${referringRows()}) x LEFT JOIN sessions s ON s.no = x.session_no ` +
    "ORDER BY coalesce(x.session_no, 0) DESC, x.seq DESC, x.source, x.name LIMIT :limit",
  // Inline content: what the index has, and what came since.
  "inline.referrers":
    `${INLINE}word_refs r JOIN events e ON e.no = r.event_no JOIN sessions s ON s.no = e.session_no ` +
    "WHERE r.prefix = :prefix AND e.sha256 = :sha256 AND e.words IS NOT NULL ORDER BY e.no DESC LIMIT :limit",
  "inline.referrersUnindexed":
    `${INLINE}events e JOIN sessions s ON s.no = e.session_no WHERE e.no > (SELECT n FROM counters WHERE name = 'word_refs') ` +
    "AND e.sha256 = :sha256 AND e.words IS NOT NULL ORDER BY e.no DESC LIMIT :limit",
  "stats.sessions":
    `WITH ${OWNED}, holders (no, n) AS (SELECT no, count(*) FROM owned GROUP BY no), ` +
    `sizes (session_no, bytes, shared) AS (SELECT o.session_no, ${sum("b.size")}, ` +
    `${sum("CASE WHEN k.n > 1 THEN b.size ELSE 0 END")} FROM owned o JOIN holders k ON k.no = o.no JOIN blobs b ON b.no = o.no ` +
    "GROUP BY o.session_no), " +
    `inlined (session_no, bytes) AS (SELECT e.session_no, ${sum("length(e.words)")} FROM events e WHERE e.words IS NOT NULL ` +
    "GROUP BY e.session_no) " +
    "SELECT s.id, s.seq AS events, s.messages, coalesce(z.bytes, 0) + coalesce(i.bytes, 0) AS bytes, coalesce(z.shared, 0) AS shared " +
    "FROM sessions s LEFT JOIN sizes z ON z.session_no = s.no LEFT JOIN inlined i ON i.session_no = s.no " +
    "WHERE s.deleted_at IS NULL ORDER BY bytes DESC, s.no LIMIT :limit",
});
