// Blobs, their chunks and segments, and their collection in SQL. Every deletion checks again, in its own statement or
// by guards, that no row needs the blob: a put that runs beside a collection always wins.
import { keepChecksum, keepCounter, rowChecksumSql } from "./checksum.ts";

const LINKED = "CASE WHEN EXISTS (SELECT 1 FROM blob_links x WHERE x.child_no = b.no) THEN 1 ELSE 0 END AS linked";

/** All columns except the body. The body is the last column, so that its pages are not read for the others. */
const HEAD =
  "b.no, b.sha256, b.size, b.media, b.utf8, b.form, b.stored, b.store, b.key, b.refs, b.pinned, b.expires_at, " +
  `b.epoch, b.condemned, b.created_at, ${LINKED}`;

const NUMBER = "(SELECT no FROM blobs WHERE sha256 = ?)";
const NO_SUCH_BLOB = "NOT EXISTS (SELECT 1 FROM blobs WHERE no = ?)";
const UNUSED = "NOT EXISTS (SELECT 1 FROM blob_segments u WHERE u.segment_id = ?)";
const FRAME = "f.start, f.size, f.stored, f.store, f.key";
const USED = "(SELECT max(u.length) FROM blob_segments u WHERE u.segment_id = s.id)";
const FRAME_BYTES =
  "(SELECT CAST(coalesce(sum(f.stored), 0) AS BIGINT) FROM segment_frames f WHERE f.segment_id = s.id) AS stored";

const CLOCK = "WITH clock(now) AS (SELECT CAST(:now AS BIGINT))";

/**
 * Whether a blob is needed: by itself, or because a blob that contains or names it is needed. Links are at most two
 * deep: a row's payload names a blob, and that is made of chunks.
 */
function needed(blob: string, depth = 2): string {
  const isInTime = `${blob}.expires_at IS NULL OR ${blob}.expires_at > clock.now`;
  const itself = `${blob}.refs > 0 OR ${blob}.pinned > 0 OR ${isInTime}`;
  if (depth === 0) return `(${itself})`;
  const [link, parent] = [`l${depth}`, `p${depth}`];
  return (
    `(${itself} OR EXISTS (SELECT 1 FROM blob_links ${link} JOIN blobs ${parent} ON ${parent}.no = ${link}.parent_no ` +
    `WHERE ${link}.child_no = ${blob}.no AND ${needed(parent, depth - 1)}))`
  );
}

export const queries = () => ({
  "blob.get": `SELECT ${HEAD}, b.body FROM blobs b WHERE b.sha256 = :sha256`,
  "blob.payload":
    "SELECT b.sha256, b.size, b.form, b.body, b.store, b.key AS blob_key FROM blobs b WHERE b.sha256 = :sha256",
  "blob.head": `SELECT ${HEAD} FROM blobs b WHERE b.sha256 = :sha256`,
  "blobs.list": `SELECT ${HEAD} FROM blobs b WHERE b.no < :last ORDER BY b.no DESC LIMIT :limit`,
  "blobs.list.oldest": `SELECT ${HEAD} FROM blobs b WHERE b.no > :last ORDER BY b.no LIMIT :limit`,
  "blobs.largest": `
    SELECT ${HEAD} FROM blobs b WHERE (b.size, b.no) < (:size, :beforeNo) AND b.form <> 4
    AND (b.expires_at IS NULL OR b.expires_at > 0 OR b.refs > 0 OR b.pinned > 0) ORDER BY b.size DESC, b.no DESC LIMIT :limit`,
  "blob.chunks": `
    SELECT l.ord, b.sha256, b.size, b.form, b.store, b.key, b.body
    FROM blob_links l JOIN blobs b ON b.no = l.child_no
    WHERE l.parent_no = :blobNo AND l.ord > :afterOrd ORDER BY l.ord LIMIT :limit`,
  "blob.parts": `
    SELECT l.ord, ${HEAD} FROM blobs w JOIN blob_links l ON l.parent_no = w.no JOIN blobs b ON b.no = l.child_no
    WHERE w.sha256 = :sha256 ORDER BY l.ord LIMIT :limit`,
  "blob.named": "SELECT l.parent_no AS no FROM blob_links l WHERE l.child_no = :blobNo AND l.ord < 0 LIMIT 1",
  "blob.segments": `
    SELECT s.id, u.ord, u.length, s.size, s.sealed, s.sha256
    FROM blob_segments u JOIN segments s ON s.id = u.segment_id WHERE u.blob_no = :blobNo ORDER BY u.ord`,
  "blob.ownBytes": `
    WITH me(no) AS (SELECT CAST(:blobNo AS BIGINT))
    SELECT CAST(coalesce((
      SELECT sum(c.stored) FROM me JOIN blobs c ON c.no IN
        (SELECT l.child_no FROM blob_links l WHERE l.parent_no = me.no AND l.ord >= 0)
      WHERE c.refs = 0 AND NOT EXISTS (SELECT 1 FROM blob_links o WHERE o.child_no = c.no AND o.parent_no <> me.no)
    ), 0) + coalesce((
      SELECT sum(f.stored) FROM me CROSS JOIN blob_segments u CROSS JOIN segment_frames f
      WHERE u.blob_no = me.no AND f.segment_id = u.segment_id
      AND NOT EXISTS (SELECT 1 FROM blob_segments o WHERE o.segment_id = u.segment_id AND o.blob_no <> me.no)
    ), 0) AS BIGINT) AS n`,

  "segment.get": `SELECT s.size, s.sealed, s.sha256, ${USED} AS used FROM segments s WHERE s.id = :id`,
  "segment.frames": `SELECT ${FRAME}, f.body FROM segment_frames f WHERE f.segment_id = :id ORDER BY f.start`,
  "segment.frameHeaders": `SELECT ${FRAME} FROM segment_frames f WHERE f.segment_id = :id ORDER BY f.start`,
  // The id as an expression, or SQLite would walk all segments by their ids instead of the open ones by their time.
  "segments.unsealed": `
    SELECT s.id FROM segments s WHERE s.sealed = 0 AND s.touched_at <= :touchedBefore AND s.id || '' > :after
    ORDER BY s.id || '' LIMIT :limit`,
  "segments.overlong": `SELECT s.id FROM segments s WHERE s.id > :after AND s.size > ${USED} ORDER BY s.id LIMIT :limit`,
  "segments.unused": `
    SELECT s.id, ${FRAME_BYTES} FROM segments s
    WHERE s.id > :after AND NOT EXISTS (SELECT 1 FROM blob_segments u WHERE u.segment_id = s.id) ORDER BY s.id LIMIT :limit`,

  "gc.epoch": "SELECT n FROM counters WHERE name = 'gc'",
  "gc.unreferenced": `SELECT ${HEAD} FROM blobs b WHERE b.refs = 0 AND b.no > :after ORDER BY b.no LIMIT :limit`,
  "gc.freeable": `
    ${CLOCK} SELECT b.no, b.stored, b.condemned, CASE WHEN ${needed("b")} THEN 0 ELSE 1 END AS free,
      CASE WHEN b.form = 4 OR b.expires_at = 0 THEN 1 ELSE 0 END AS chunk
    FROM clock CROSS JOIN (SELECT no, refs, pinned, expires_at, condemned, form, stored FROM blobs
      WHERE refs = 0 AND no > :after ORDER BY no LIMIT :limit) b ORDER BY b.no`,
  "gc.freeableSegments": `
    ${CLOCK} SELECT s.id, ${FRAME_BYTES}, CASE WHEN EXISTS (
      SELECT 1 FROM blob_segments u JOIN blobs b ON b.no = u.blob_no WHERE u.segment_id = s.id AND ${needed("b")}
    ) THEN 0 ELSE 1 END AS free
    FROM clock CROSS JOIN (SELECT id FROM segments WHERE id > :after ORDER BY id LIMIT :limit) s ORDER BY s.id`,
  "gc.parents": strays("blob_links", "parent_no"),
  "gc.grown": strays("blob_segments", "blob_no"),
  "external.key": "SELECT 1 AS n FROM blobs WHERE key = :key UNION ALL SELECT 1 FROM segment_frames WHERE key = :key",
});

function strays(table: string, column: string): string {
  return (
    "SELECT o.no, CASE WHEN EXISTS (SELECT 1 FROM blobs b WHERE b.no = o.no) THEN 1 ELSE 0 END AS there FROM " +
    `(SELECT DISTINCT ${column} AS no FROM ${table} WHERE ${column} > :after ORDER BY ${column} LIMIT :limit) o ORDER BY o.no`
  );
}

/** Stamped like a put: a change of its claim cancels the condemnation of a blob. */
const STAMP = "condemned = NULL, epoch = (SELECT n FROM counters WHERE name = 'gc')";

export const statements = () => ({
  /** Parameters: 0 or 1, twice, and the blob. */
  "blob.pin": `UPDATE blobs SET pinned = ?, ${STAMP}, ${keepChecksum("blobs", { pinned: "?" })} WHERE sha256 = ?`,
  "blob.drop": "DELETE FROM blobs WHERE sha256 = ? AND refs = 0",
  // The blob is gone at once. Its parts belong to the new name and can be freed in small steps. Parameters: the new
  // name twice, the old one.
  "blob.disown": `
    UPDATE blobs SET sha256 = ?, size = 0, form = 4, body = NULL, key = NULL, stored = 0, pinned = 0, expires_at = 0,
      checksum = ${rowChecksumSql("blobs", { sha256: "?", stored: "0", pinned: "0", expires_at: "0" })}
    WHERE sha256 = ? AND refs = 0`,
  "blob.regrow":
    `UPDATE blobs SET form = 3, body = NULL, key = NULL, stored = 0, ${keepChecksum("blobs", { stored: "0" })} ` +
    "WHERE sha256 = ?",
  // Only marks the blob. The sweep of a later epoch checks everything again before it deletes.
  "blobs.condemn": `
    UPDATE blobs SET condemned = ? WHERE no > ? AND no <= ? AND refs = 0 AND pinned = 0 AND condemned IS NULL
    AND expires_at IS NOT NULL AND expires_at <= ? AND epoch <= ?
    AND NOT EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = blobs.no)`,

  // Chunks of an upload become the chunks of its blob, in place of those it may have: the same ones, or stale ones.
  "links.makeRoom": `
    DELETE FROM blob_links WHERE ord >= 0 AND parent_no = ${NUMBER}
    AND EXISTS (SELECT 1 FROM blobs WHERE sha256 = ? AND form = 4)`,
  "links.adopt": `
    UPDATE blob_links SET parent_no = ${NUMBER} WHERE parent_no = ${NUMBER}
    AND EXISTS (SELECT 1 FROM blobs WHERE sha256 = ? AND form = 2)`,
  "links.move": `UPDATE blob_links SET parent_no = ${NUMBER} WHERE ord >= 0 AND parent_no = ${NUMBER}`,
  "links.cut": `DELETE FROM blob_links WHERE parent_no = ${NUMBER} AND ord <= ?`,
  "links.forget": `DELETE FROM blob_links WHERE parent_no = ${NUMBER} AND ord < 0`,
  "links.drop": `DELETE FROM blob_links WHERE parent_no = ? AND ${NO_SUCH_BLOB}`,

  "segments.forget": `DELETE FROM blob_segments WHERE blob_no = ${NUMBER}`,
  "segments.drop": `DELETE FROM blob_segments WHERE blob_no = ? AND ${NO_SUCH_BLOB}`,
  /** Parameters: size, the time twice, the segment. */
  "segment.grow":
    "UPDATE segments SET size = ?, sealed = 0, sha256 = NULL, touched_at = ?, " +
    `${keepChecksum("segments", { sealed: "0", sha256: "NULL", touched_at: "?" })} WHERE id = ?`,
  /** Parameters: size, the hash twice, the segment. */
  "segment.seal":
    `UPDATE segments SET size = ?, sealed = 1, sha256 = ?, ${keepChecksum("segments", { sealed: "1", sha256: "?" })} ` +
    "WHERE id = ?",
  "segment.drop": `DELETE FROM segments WHERE id = ? AND ${UNUSED}`,
  "frames.clear": "DELETE FROM segment_frames WHERE segment_id = ? AND start >= ?",
  "frames.drop": `DELETE FROM segment_frames WHERE segment_id = ? AND ${UNUSED}`,
  "gc.advance": `UPDATE counters SET n = n + 1, ${keepCounter("counters.n + 1")} WHERE name = 'gc'`,
});

export const guards = () => ({
  /** Everything that keeps a blob alive, as one text: see storage/blobs/claims.ts. */
  "blob.claims":
    "SELECT no || ':' || form || ':' || refs || ':' || pinned || ':' || epoch || ':' || coalesce(expires_at, -1) " +
    "|| ':' || coalesce(condemned, -1) AS value FROM blobs WHERE sha256 = ?",
  "blob.parents":
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM blob_links l WHERE l.child_no = blobs.no) THEN 1 ELSE 0 END AS value " +
    "FROM blobs WHERE sha256 = ?",
  "segment.size": "SELECT size AS value FROM segments WHERE id = ?",
  "segment.used": `SELECT ${USED} AS value FROM segments s WHERE s.id = ?`,
  "gc.epoch": "SELECT n AS value FROM counters WHERE name = 'gc'",
});
