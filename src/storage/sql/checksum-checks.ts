// What the checker reads of checksums: which rows do not have the one of their columns. The engine computes it, so that a row
// that no read could decode is named as well.
import type { OwnedChecksumTable, StoreChecksumTable } from "../../contracts/storage/checksum-queries.ts";
import type { CheckedTable } from "../../core/checksum.ts";
import { behindKey } from "./check.ts";
import { checksumSql, counterChecksumSql, rowChecksumSql } from "./checksum.ts";

function isProven(table: CheckedTable): string {
  const wanted = `r.checksum = ${rowChecksumSql(table, {}, "r")}`;
  return LATE.has(table) ? `(r.checksum IS NULL OR ${wanted})` : `(r.checksum IS NOT NULL AND ${wanted})`;
}

/** Old rows of these tables have no checksum until they are written again. */
const LATE: ReadonlySet<CheckedTable> = new Set<CheckedTable>(["blobs", "segment_frames"]);

/** Damaged rows of a session. Parameters: the session's number, limit. */
function ofSession(table: OwnedChecksumTable, row: string, owner: string): string {
  return `SELECT ${row} FROM ${table} r WHERE ${owner} AND NOT ${isProven(table)} LIMIT :limit`;
}

/** All rows in the order of their keys. Parameters: the key of the last row before, limit. */
function paged(table: StoreChecksumTable, keys: readonly string[], more = ""): string {
  const list = keys.map((key) => `r.${key}`).join(", ");
  return (
    `SELECT ${list}${more}, CASE WHEN ${isProven(table)} THEN 1 ELSE 0 END AS proven FROM ${table} r ` +
    `WHERE ${behindKey(keys)} ORDER BY ${list} LIMIT :limit`
  );
}

const OF_SESSION = "r.session_no = :session";

const OF_META = checksumSql("holdfast_meta", [
  ["text", "(SELECT value FROM holdfast_meta WHERE name = 'store_id')"],
  ["text", "(SELECT value FROM holdfast_meta WHERE name = 'created_at')"],
]);

export const queries = () => ({
  "checksums.sessions": ofSession("sessions", "r.id AS name", "r.no = :session"),
  "checksums.boards": ofSession("boards", "r.id AS name", OF_SESSION),
  "checksums.tasks": ofSession(
    "tasks",
    "r.id AS name",
    "r.board_id IN (SELECT b.id FROM boards b WHERE b.session_no = :session)",
  ),
  "checksums.invocations": ofSession("invocations", "r.seq AS seq", OF_SESSION),
  "checksums.captures": ofSession("captures", "r.id AS name", OF_SESSION),
  "checksums.agents": paged("agents", ["no"], ", r.id"),
  "checksums.agent_blocks": paged("agent_blocks", ["agent_no", "ord"], ", r.block_id"),
  "checksums.blocks": paged("blocks", ["id"]),
  "checksums.block_versions": paged("block_versions", ["block_id", "version"]),
  "checksums.memory_scopes": paged("memory_scopes", ["no"], ", r.namespace"),
  "checksums.memories": paged("memories", ["no"], ", r.id"),
  "checksums.memory_changes": paged("memory_changes", ["memory_id", "version"]),
  "checksums.segments": paged("segments", ["id"]),
  "checksums.segment_frames": paged("segment_frames", ["segment_id", "start"]),
  "checksums.blobs": paged("blobs", ["no"], ", r.sha256"),
  "checksums.vector_collections": paged("vector_collections", ["no"], ", r.name"),
  "checksums.vector_generations": paged("vector_generations", ["collection_no", "generation"]),
  "checksums.documents": paged("documents", ["collection_no", "item"], ", r.id"),
  "checksums.vectors": paged("vectors", ["collection_no", "generation", "item"]),
  "checksums.counters":
    `SELECT counters.name FROM counters WHERE counters.checksum IS NOT NULL AND counters.checksum <> ${counterChecksumSql()} ` +
    "ORDER BY counters.name",
  "checksums.meta": `SELECT m.name FROM holdfast_meta m WHERE m.name = 'checksum' AND m.value = ${OF_META}`,
  "check.epochs":
    "SELECT b.no, b.sha256, CASE WHEN b.epoch >= 0 AND b.epoch <= g.n AND " +
    "(b.condemned IS NULL OR b.condemned <= g.n AND b.condemned >= b.epoch + 2) THEN 1 ELSE 0 END AS proven " +
    "FROM blobs b CROSS JOIN counters g WHERE g.name = 'gc' AND b.no > :after ORDER BY b.no LIMIT :limit",
  "check.held":
    "SELECT r.id FROM runs r WHERE r.session_no = :session AND NOT ((r.beat < 0 AND r.held = 1) OR (r.beat >= 0 AND r.held = 0)) " +
    "LIMIT :limit",
  "check.aliasCount":
    "SELECT s.alias_count AS stored, (SELECT count(*) FROM aliases l WHERE l.session_no = s.no) AS counted " +
    "FROM sessions s WHERE s.no = :session",
});
