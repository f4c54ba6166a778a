// Captures: for every request and session of a coding agent the newest capture, and the diverged ones beside it.
import { NEWEST_FIRST, OLDEST_FIRST, type Order } from "./list-order.ts";

const COLUMNS =
  "c.no, c.id, s.id AS session, c.session_no, c.seq, c.request, c.agent, c.agent_session, c.generation, c.diverged, c.cwd, " +
  "c.config_dir, c.project_key, c.agent_version, b.sha256 AS manifest, c.salt, c.files, c.size, c.stored, c.created_at, " +
  "c.saved_at, c.expires_at";
/** A capture whose blob is missing is still returned, so that it can be reported. */
const CAPTURES = `SELECT ${COLUMNS} FROM captures c JOIN sessions s ON s.no = c.session_no LEFT JOIN blobs b ON b.no = c.manifest`;

/** An archive may have brought another, of another session. */
const LAST = "ORDER BY c.no DESC LIMIT 1";

/** Captures that have not expired. */
function list(where: string, order: Order): string {
  return (
    `${CAPTURES} WHERE ${where}c.no ${order.past} :last AND (c.expires_at IS NULL OR c.expires_at > :now) ` +
    `AND (CAST(:agent AS TEXT) IS NULL OR c.agent = :agent) AND c.diverged <= :diverged ORDER BY c.no${order.direction} LIMIT :limit`
  );
}

/** Claims belong to no session: they are in the table of the store's facts, with names that begin with "claim:". */
const CLAIM = "SELECT value FROM holdfast_meta WHERE name = :name";

export const queries = () => ({
  "capture.get": `${CAPTURES} WHERE c.id = :id`,
  "capture.newest":
    `${CAPTURES} WHERE c.request = :request AND c.agent = :agent AND c.agent_session = :agentSession ` +
    `AND c.diverged = 0 ${LAST}`,
  "captures.list": list("", NEWEST_FIRST),
  "captures.list.oldest": list("", OLDEST_FIRST),
  "captures.byRequest": list("c.request = :request AND ", NEWEST_FIRST),
  "captures.byRequest.oldest": list("c.request = :request AND ", OLDEST_FIRST),
  "captures.bySession": list("c.agent_session = :agentSession AND ", NEWEST_FIRST),
  "captures.bySession.oldest": list("c.agent_session = :agentSession AND ", OLDEST_FIRST),
  "captures.byBoth": list("c.request = :request AND c.agent_session = :agentSession AND ", NEWEST_FIRST),
  "captures.byBoth.oldest": list("c.request = :request AND c.agent_session = :agentSession AND ", OLDEST_FIRST),
  /** Everything that a blob is part of, including blobs that other captures use. */
  "capture.stored": `
    SELECT CAST(b.stored + coalesce((SELECT sum(p.stored) FROM blob_links l JOIN blobs p ON p.no = l.child_no
      WHERE l.parent_no = b.no AND l.ord >= 0), 0) + coalesce((SELECT sum(f.stored) FROM blob_segments u
      JOIN segment_frames f ON f.segment_id = u.segment_id WHERE u.blob_no = b.no), 0) AS BIGINT) AS stored, b.size
    FROM blobs b WHERE b.sha256 = :sha256`,
  "captures.ofRequest": `${CAPTURES} WHERE c.request = :request ORDER BY c.no LIMIT :limit`,
  "captures.expired":
    `${CAPTURES} WHERE c.expires_at IS NOT NULL AND c.expires_at <= :now AND (c.expires_at, c.no) > (:after, :afterNo) ` +
    "ORDER BY c.expires_at, c.no LIMIT :limit",
  "claim.get": CLAIM,
  "claims.list":
    "SELECT name, value FROM holdfast_meta WHERE name > :after AND name < 'claim;' ORDER BY name LIMIT :limit",
});

export const statements = () => ({
  "capture.expire": "UPDATE captures SET expires_at = ?, seq = ? WHERE id = ?",
  "capture.diverge": "UPDATE captures SET diverged = ?, seq = ? WHERE id = ?",
  "claim.put":
    "INSERT INTO holdfast_meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
  "claim.remove": "DELETE FROM holdfast_meta WHERE name = ?",
  /** Deletes the claim only as it was read: if its owner has written since, it stays. */
  "claim.sweep": "DELETE FROM holdfast_meta WHERE name = ? AND value = ?",
});

export const guards = () => ({
  "capture.seq":
    "SELECT (SELECT CAST(c.session_no AS TEXT) || ' ' || CAST(c.seq AS TEXT) FROM captures c WHERE c.id = ?) AS value " +
    "FROM sessions s WHERE s.id = ?",
  "capture.newest":
    "SELECT (SELECT c.id FROM captures c WHERE c.request = ? AND c.agent = ? AND c.agent_session = ? AND c.diverged = 0 " +
    `${LAST}) AS value ` +
    "FROM sessions s WHERE s.id = ?",
  "claim.value": CLAIM,
});
