// The statistics of a store in SQL. Each is one scan; people run them, and they are on no hot path.
import { TABLES } from "../../contracts/storage/tables.ts";
import { IN_PART } from "../../core/session-lookup.ts";

/** Chunks, and the holders of chunks, are how a blob is kept: they count as stored bytes and not as blobs. */
const PART = "form = 4 OR (refs = 0 AND pinned = 0 AND expires_at = 0)";

/** A call that ended is two rows and one call: of what has versions the first is counted. */
const FIRST = "count(CASE WHEN seq = first_seq THEN 1 END)";
/** A run is one row, and stays as one without a session when it is deleted. */
const RUNS = "count(NULLIF(session_no, 0)) AS rows, count(*) - count(NULLIF(session_no, 0)) AS deleted";

function total(what: string): string {
  return `CAST(coalesce(sum(${what}), 0) AS BIGINT)`;
}

export const queries = () => ({
  // The text index has a statistic of its own.
  "stats.tables": Object.entries(TABLES)
    .filter(([table]) => !table.startsWith("index_"))
    .map(([table, { columns }]) => {
      const counts =
        "deleted_at" in columns
          ? "count(*) - count(deleted_at) AS rows, count(deleted_at) AS deleted"
          : table === "runs"
            ? RUNS
            : `${"first_seq" in columns ? FIRST : "count(*)"} AS rows, CAST(NULL AS BIGINT) AS deleted`;
      const partial = table === "sessions" ? `count(CASE WHEN version = ${IN_PART} THEN deleted_at END)` : "0";
      return `SELECT '${table}' AS name, ${counts}, ${partial} AS partial FROM ${table}`;
    })
    .concat("SELECT 'messages', count(*), NULL, 0 FROM events WHERE agent_no IS NOT NULL AND erased_seq IS NULL")
    .join(" UNION ALL "),
  "stats.blobs": `
    SELECT CASE WHEN b.part = 1 THEN 2 ELSE b.form END AS form, ${total("1 - b.part")} AS n,
      ${total("b.size * (1 - b.part)")} AS size, ${total("b.stored")} AS stored,
      ${total("CASE WHEN b.part = 1 THEN 0 WHEN b.refs > 1 THEN b.size * b.refs ELSE b.size END")} AS referenced,
      ${total("CASE WHEN b.store = '' THEN 0 ELSE b.stored END")} AS outside
    FROM (SELECT form, size, stored, store, refs, CASE WHEN ${PART} THEN 1 ELSE 0 END AS part FROM blobs) b
    GROUP BY CASE WHEN b.part = 1 THEN 2 ELSE b.form END
    UNION ALL SELECT 3, 0, 0, ${total("stored")}, 0, ${total("CASE WHEN store = '' THEN 0 ELSE stored END")}
      FROM segment_frames
    UNION ALL SELECT 0, count(*), ${total("length(words)")}, ${total("length(words)")}, ${total("length(words)")}, 0
      FROM events WHERE words IS NOT NULL`,
});
