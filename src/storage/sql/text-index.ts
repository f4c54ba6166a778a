// The text index. A segment of messages has those whose events have numbers above `low`, up to `high`; all up to `indexed` are in
// segments. Of other kinds index_items has a row for each item, with the number of its segment. A dropped segment of messages has lost
// its pages to an erasure, and its other messages are pending. `marked` is 1 only within a commit: the segment has been
// rewritten without what the commit erases, and need not be dropped.
import { PENDING_MAX } from "../../contracts/storage/index-queries.ts";
import { NUMBERS } from "./driver.ts";

const MESSAGE =
  "m.no, m.session_no, s.id AS session, a.id AS agent, m.seq, m.role, m.at, m.sha256, " +
  "CASE WHEN m.content IS NULL THEN length(m.words) ELSE b.size END AS size, " +
  "CASE WHEN m.content IS NULL THEN 0 ELSE b.form END AS form, coalesce(m.words, b.body) AS body, " +
  "coalesce(b.store, '') AS store, b.key AS blob_key";

const NEWEST = "(SELECT coalesce(max(no), 0) FROM events)";
const LIVE_MESSAGES =
  "FROM events WHERE no > :after AND no <= :upTo AND agent_no IS NOT NULL AND erased_seq IS NULL ORDER BY no LIMIT :limit";
const PAGES =
  "FROM index_pages p JOIN index_segments s ON s.kind = p.kind AND s.segment = p.segment " +
  "WHERE p.kind = :kind AND p.segment = :segment AND s.version = :version AND s.dropped = 0";

/** One lookup in an index for each segment, however many rows each has. */
function distinctSegments(table: string): string {
  const next = (after: string) => `(SELECT min(t.segment) FROM ${table} t WHERE t.kind = :kind${after})`;
  return (
    `WITH RECURSIVE found (segment) AS (SELECT ${next("")} UNION ALL ` +
    `SELECT ${next(" AND t.segment > found.segment")} FROM found WHERE found.segment IS NOT NULL) ` +
    "SELECT segment FROM found WHERE segment IS NOT NULL"
  );
}

const INDEX_TABLES = ["index_kinds", "index_segments", "index_pages", "index_items"];

/** The kinds that rows of a table name. */
function distinctKinds(table: string): string {
  const next = (where: string) => `(SELECT min(t.kind) FROM ${table} t${where})`;
  return (
    `SELECT f.kind FROM (WITH RECURSIVE found (kind) AS (SELECT ${next("")} UNION ALL ` +
    `SELECT ${next(" WHERE t.kind > found.kind")} FROM found WHERE found.kind IS NOT NULL) ` +
    "SELECT kind FROM found WHERE kind IS NOT NULL) f"
  );
}

/** Items of a kind that are in no segment, counted up to PENDING_MAX. Those of dropped segments of messages are not among them. */
const PENDING =
  "CASE WHEN :kind = 'messages' THEN (SELECT count(*) FROM (SELECT e.no FROM events e WHERE e.no > " +
  "(SELECT i.indexed FROM index_kinds i WHERE i.kind = 'messages') AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL " +
  `LIMIT ${PENDING_MAX}) m) ELSE (SELECT count(*) FROM (SELECT p.item FROM index_items p WHERE p.kind = :kind ` +
  `AND p.segment IS NULL LIMIT ${PENDING_MAX}) o) END`;

function total(what: string): string {
  return `CAST(coalesce(sum(${what}), 0) AS BIGINT)`;
}

export const queries = () => ({
  "index.messages":
    `SELECT ${MESSAGE} FROM (SELECT * ${LIVE_MESSAGES}) m JOIN sessions s ON s.no = m.session_no ` +
    "JOIN agents a ON a.no = m.agent_no LEFT JOIN blobs b ON b.no = m.content ORDER BY m.no",
  "index.keys": `SELECT no, salt ${LIVE_MESSAGES}`,
  "index.state":
    `SELECT k.epoch, k.indexed, k.settled, ${NEWEST} AS newest, ${PENDING} AS pending, k.language, s.segment, s.low, s.high, ` +
    "s.version, s.dropped, s.marked, s.units, s.items, s.removed, s.bytes, s.directory, s.language AS segment_language, " +
    "s.tokeniser AS segment_tokeniser " +
    "FROM index_kinds k LEFT JOIN index_segments s ON s.kind = k.kind WHERE k.kind = :kind ORDER BY s.low, s.segment",
  "index.stats":
    `SELECT k.language, count(s.segment) AS segments, ${total("s.items")} AS items, ${total("s.units - s.removed")} AS units, ` +
    `${total("s.bytes")} AS bytes, (SELECT count(*) FROM events e WHERE e.agent_no IS NOT NULL AND e.erased_seq IS NULL AND (e.no > ` +
    "(SELECT i.indexed FROM index_kinds i WHERE i.kind = 'messages') OR EXISTS (SELECT 1 FROM index_segments d WHERE d.kind = 'messages' " +
    "AND d.dropped = 1 AND e.no > d.low AND e.no <= d.high))) AS pending FROM index_kinds k " +
    "LEFT JOIN index_segments s ON s.kind = k.kind AND s.dropped = 0 WHERE k.kind = :kind GROUP BY k.kind, k.language",
  "index.version": "SELECT version FROM index_segments WHERE kind = :kind AND segment = :segment AND dropped = 0",
  "index.directory": `SELECT p.page, p.first ${PAGES} AND p.page >= 0 ORDER BY p.page`,
  "index.page": `SELECT p.body ${PAGES} AND p.page = :page`,
  "index.pages": `SELECT p.page, p.first, p.body ${PAGES} AND p.page >= :from AND p.page < :before ORDER BY p.page LIMIT :limit`,
  "index.items":
    "SELECT group_no, item FROM index_items WHERE kind = :kind AND segment = :segment " +
    "AND (group_no, item) > (:afterGroup, :afterItem) ORDER BY group_no, item LIMIT :limit",
  "index.pendingItems":
    "SELECT k.epoch, i.group_no, i.item FROM index_kinds k LEFT JOIN index_items i ON i.kind = k.kind AND i.segment IS NULL " +
    "AND (i.group_no, i.item) > (:afterGroup, :afterItem) WHERE k.kind = :kind ORDER BY i.group_no, i.item LIMIT :limit",
  "index.segmentsOfPages": distinctSegments("index_pages"),
  "index.segmentsOfItems": distinctSegments("index_items"),
  "index.strayKinds":
    `SELECT k.kind FROM (${INDEX_TABLES.map(distinctKinds).join(" UNION ")}) k ` +
    "WHERE k.kind NOT IN ('messages', 'memories', 'documents') ORDER BY k.kind",
  "check.indexItems":
    "SELECT i.kind, i.group_no, i.item, CASE WHEN i.segment IS NULL OR s.segment IS NOT NULL THEN 1 ELSE 0 END AS placed, " +
    "CASE i.kind WHEN 'memories' THEN CASE WHEN m.no IS NULL THEN 0 ELSE 1 END " +
    "WHEN 'documents' THEN CASE WHEN d.item IS NULL THEN 0 ELSE 1 END ELSE 1 END AS there " +
    "FROM index_items i LEFT JOIN index_segments s ON s.kind = i.kind AND s.segment = i.segment " +
    "LEFT JOIN memories m ON m.no = i.item AND m.scope_no = i.group_no " +
    "LEFT JOIN documents d ON d.collection_no = i.group_no AND d.item = i.item " +
    "WHERE (i.kind, i.group_no, i.item) > (:afterKind, :afterGroup, :afterItem) ORDER BY i.kind, i.group_no, i.item LIMIT :limit",
  "check.unindexedMemories":
    "SELECT m.no, m.id FROM memories m LEFT JOIN index_items i ON i.kind = 'memories' AND i.group_no = m.scope_no AND i.item = m.no " +
    "WHERE m.no > :after AND i.item IS NULL ORDER BY m.no LIMIT :limit",
  "check.unindexedDocuments":
    "SELECT d.collection_no AS collection, d.item, d.id FROM documents d LEFT JOIN index_items i " +
    "ON i.kind = 'documents' AND i.group_no = d.collection_no AND i.item = d.item " +
    "WHERE (d.collection_no, d.item) > (:afterCollection, :afterItem) AND i.item IS NULL " +
    "ORDER BY d.collection_no, d.item LIMIT :limit",
  "index.itemCount": "SELECT count(*) AS items FROM index_items WHERE kind = :kind AND segment = :segment",
  "index.segmentOf": "SELECT segment FROM index_items WHERE kind = :kind AND group_no = :group AND item = :item",
});

const SEGMENT_OF_ITEM =
  "(SELECT i.segment FROM index_items i WHERE i.kind = :kind AND i.group_no = :group AND i.item = :item)";
const SEGMENTS_OF_ITEMS =
  "(SELECT i.segment FROM index_items i WHERE i.kind = :kind AND i.group_no = :group " +
  `AND i.item ${NUMBERS} :items AND i.segment IS NOT NULL)`;
const SEGMENTS_OF_GROUP =
  "(SELECT i.segment FROM index_items i WHERE i.kind = :kind AND i.group_no = :group AND i.segment IS NOT NULL)";

export const statements = () => ({
  /** Whoever reads a new epoch begins again: its commit is guarded by the old one. */
  "index.advance":
    "UPDATE index_kinds SET epoch = epoch + :by, indexed = :indexed, language = :language WHERE kind = :kind",
  /** See search/index/repair.ts. */
  "index.repair":
    "UPDATE index_kinds SET epoch = :epoch, indexed = :indexed, settled = :settled, language = :language WHERE kind = :kind",
  "index.removeKind": "DELETE FROM index_kinds WHERE kind = :kind",
  "index.removeSegments": "DELETE FROM index_segments WHERE kind = :kind",
  "index.removePages": "DELETE FROM index_pages WHERE kind = :kind",
  "index.removeItems": "DELETE FROM index_items WHERE kind = :kind",
  "index.addMissingMemories":
    "INSERT INTO index_items (kind, group_no, item, segment) SELECT 'memories', m.scope_no, m.no, NULL FROM memories m " +
    "WHERE NOT EXISTS (SELECT 1 FROM index_items i WHERE i.kind = 'memories' AND i.group_no = m.scope_no AND i.item = m.no)",
  "index.removeStrayMemories":
    "DELETE FROM index_items WHERE kind = 'memories' AND NOT EXISTS " +
    "(SELECT 1 FROM memories m WHERE m.scope_no = index_items.group_no AND m.no = index_items.item)",
  "index.addMissingDocuments":
    "INSERT INTO index_items (kind, group_no, item, segment) SELECT 'documents', d.collection_no, d.item, NULL FROM documents d " +
    "WHERE NOT EXISTS (SELECT 1 FROM index_items i WHERE i.kind = 'documents' AND i.group_no = d.collection_no AND i.item = d.item)",
  "index.removeStrayDocuments":
    "DELETE FROM index_items WHERE kind = 'documents' AND NOT EXISTS " +
    "(SELECT 1 FROM documents d WHERE d.collection_no = index_items.group_no AND d.item = index_items.item)",
  "index.bump": "UPDATE index_kinds SET epoch = epoch + 1 WHERE kind = :kind",
  "index.settle": `UPDATE index_kinds SET settled = ${NEWEST} WHERE kind = 'messages'`,
  "index.dropSegment": "DELETE FROM index_segments WHERE kind = :kind AND segment = :segment",
  "index.dropPages": "DELETE FROM index_pages WHERE kind = :kind AND segment = :segment",
  "index.moveItems": "UPDATE index_items SET segment = :to WHERE kind = :kind AND segment = :from",

  // Erasing messages: see erasure.ts.
  "index.removeDropped":
    "DELETE FROM index_pages WHERE kind = 'messages' AND segment IN " +
    "(SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' AND s.dropped = 1)",
  "index.unmark": "UPDATE index_segments SET marked = 0 WHERE kind = 'messages' AND marked = 1",
  // After rows were deleted: SQLite reuses the highest numbers.
  "index.removeBeyond":
    "DELETE FROM index_pages WHERE kind = 'messages' AND segment IN " +
    `(SELECT s.segment FROM index_segments s WHERE s.kind = 'messages' AND s.low >= ${NEWEST})`,
  "index.dropBeyond": `DELETE FROM index_segments WHERE kind = 'messages' AND low >= ${NEWEST}`,
  "index.shorten": `UPDATE index_segments SET high = ${NEWEST} WHERE kind = 'messages' AND high > ${NEWEST}`,
  "index.shortenKind":
    `UPDATE index_kinds SET indexed = CASE WHEN indexed > ${NEWEST} THEN ${NEWEST} ELSE indexed END, ` +
    `settled = CASE WHEN settled > ${NEWEST} THEN ${NEWEST} ELSE settled END, ` +
    `cut = CASE WHEN cut > ${NEWEST} THEN ${NEWEST} ELSE cut END WHERE kind = 'messages'`,

  // Erasing or changing an item of another kind: the other items of its segment are pending afterwards.
  "index.dropPagesOfItem": `DELETE FROM index_pages WHERE kind = :kind AND segment = ${SEGMENT_OF_ITEM}`,
  "index.dropSegmentOfItem": `DELETE FROM index_segments WHERE kind = :kind AND segment = ${SEGMENT_OF_ITEM}`,
  "index.pendSegmentOfItem": `UPDATE index_items SET segment = NULL WHERE kind = :kind AND segment = ${SEGMENT_OF_ITEM}`,
  "index.cover": "UPDATE index_items SET segment = :segment WHERE kind = :kind AND group_no = :group AND item = :item",
  "index.removeItem": "DELETE FROM index_items WHERE kind = :kind AND group_no = :group AND item = :item",
  "index.dropPagesOfItems": `DELETE FROM index_pages WHERE kind = :kind AND segment IN ${SEGMENTS_OF_ITEMS}`,
  "index.dropSegmentsOfItems": `DELETE FROM index_segments WHERE kind = :kind AND segment IN ${SEGMENTS_OF_ITEMS}`,
  "index.pendSegmentsOfItems": `UPDATE index_items SET segment = NULL WHERE kind = :kind AND segment IN ${SEGMENTS_OF_ITEMS}`,
  "index.removeSomeItems": `DELETE FROM index_items WHERE kind = :kind AND group_no = :group AND item ${NUMBERS} :items`,
  "index.dropPagesOfGroup": `DELETE FROM index_pages WHERE kind = :kind AND segment IN ${SEGMENTS_OF_GROUP}`,
  "index.dropSegmentsOfGroup": `DELETE FROM index_segments WHERE kind = :kind AND segment IN ${SEGMENTS_OF_GROUP}`,
  "index.pendSegmentsOfGroup": `UPDATE index_items SET segment = NULL WHERE kind = :kind AND segment IN ${SEGMENTS_OF_GROUP}`,
  "index.removeGroup": "DELETE FROM index_items WHERE kind = :kind AND group_no = :group",
});

export const guards = () => ({
  "index.epoch": "SELECT epoch AS value FROM index_kinds WHERE kind = ?",
});
