// Passages of messages and memories in SQL: rows of numbers that say of what an embedding is. What waits to be cut into passages is
// derived: of messages, the events after `cut` in index_kinds; of memories, the rows of index_items without the mark. An erasure marks the
// passages of what it erases (-1), and removes them with all that was derived of them in the same commit.
import { keepChecksum } from "./checksum.ts";
import { NUMBERS } from "./driver.ts";

/** The names of collections that the store keeps for itself begin so. */
const OF_MESSAGES = "(SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:messages')";
const OF_SCOPE =
  "(SELECT c.no FROM vector_collections c WHERE c.name = 'holdfast:memories:' || CAST(CAST(:group AS BIGINT) AS TEXT))";

const PASSAGE = "SELECT p.item, p.group_no, p.number, p.part FROM passages p";
const CUT = "(SELECT k.cut FROM index_kinds k WHERE k.kind = 'messages')";
const UNCUT = "FROM index_items i WHERE i.kind = 'memories' AND i.cut IS NULL";
const NEXT_PAGE =
  "SELECT min(q.first_item) FROM vector_pages q WHERE q.collection_no = :collection AND q.generation = :generation " +
  "AND q.first_item > :first";
const PACKED =
  "SELECT g.packed + 1 FROM vector_generations g WHERE g.collection_no = :collection AND g.generation = :generation";

export const queries = () => ({
  "passages.byItems": `${PASSAGE} WHERE p.collection_no = :collection AND p.item ${NUMBERS} :items ORDER BY p.item`,
  "passages.embedded": `
    ${PASSAGE} WHERE p.collection_no = :collection AND p.item > :after AND p.pending IS NULL ORDER BY p.item LIMIT :limit`,
  "passages.known": `
    SELECT p.number, p.part FROM passages p WHERE p.collection_no = :collection AND p.group_no = :group AND p.number ${NUMBERS} :numbers`,
  "passages.nextPending": `
    SELECT p.collection_no AS collection FROM passages p WHERE p.pending = 1 AND p.collection_no > :after
    ORDER BY p.collection_no, p.item LIMIT 1`,
  "passages.pending": `
    SELECT p.item FROM passages p WHERE p.pending = 1 AND p.collection_no = :collection AND p.item > :after
    AND NOT EXISTS (SELECT 1 FROM embedding_failures f WHERE f.kind IN ('messages', 'memories') AND f.scope = p.collection_no
      AND f.item = p.item AND (f.due_at IS NULL OR f.due_at > :now))
    ORDER BY p.item LIMIT :limit`,
  "passages.countPending": "SELECT count(*) AS n FROM passages p WHERE p.pending = 1 AND p.collection_no = :collection",
  "passages.items":
    "SELECT p.item FROM passages p WHERE p.collection_no = :collection AND p.item > :after ORDER BY p.item LIMIT :limit",
  "passages.waiting": `
    SELECT c.name, g.model, w.n
    FROM (SELECT p.collection_no, count(*) AS n FROM passages p WHERE p.pending = 1 GROUP BY p.collection_no) w
    JOIN vector_collections c ON c.no = w.collection_no
    LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation`,
  "messages.cut":
    "SELECT k.epoch, k.cut, (SELECT coalesce(max(e.no), 0) FROM events e) AS newest FROM index_kinds k WHERE k.kind = 'messages'",
  "events.count": "SELECT count(*) AS n FROM events e WHERE e.no > :after AND e.no <= :upTo",
  "messages.countUncut": `
    SELECT count(*) AS n FROM events e WHERE e.no > ${CUT} AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL`,
  "memories.uncut":
    `SELECT i.group_no, i.item ${UNCUT} AND (i.group_no, i.item) > (:group, :after) ` +
    "ORDER BY i.group_no, i.item LIMIT :limit",
  "memories.countUncut": `SELECT count(*) AS n ${UNCUT}`,
  "memories.countUncutIn": `SELECT count(*) AS n ${UNCUT} AND i.group_no = :group`,
  "memories.epoch": "SELECT k.epoch FROM index_kinds k WHERE k.kind = 'memories'",
  "vectors.emptyPages": `
    SELECT v.first_item, v.change FROM vector_pages v WHERE v.collection_no = :collection AND v.generation = :generation
    AND length(v.codes) = 0 ORDER BY v.first_item LIMIT :limit`,
  "vectors.inPage": `
    SELECT v.item, v.embedding FROM vectors v WHERE v.collection_no = :collection AND v.generation = :generation
    AND v.item > :after AND v.item < coalesce((${NEXT_PAGE}), (${PACKED})) ORDER BY v.item LIMIT :limit`,
  "check.strayPassages": `
    SELECT p.item FROM passages p
    LEFT JOIN events e ON e.session_no = p.group_no AND e.seq = p.number AND e.agent_no IS NOT NULL AND e.erased_seq IS NULL
    LEFT JOIN memories m ON m.no = p.number AND m.scope_no = p.group_no
    WHERE p.collection_no = :collection AND CASE WHEN :kind = 'messages' THEN e.no ELSE m.no END IS NULL
    ORDER BY p.item LIMIT :limit`,
  "check.passages": `
    SELECT p.item, p.pending FROM passages p
    LEFT JOIN vectors v ON v.collection_no = p.collection_no AND v.generation = :generation AND v.item = p.item
    WHERE p.collection_no = :collection AND (p.pending IS NULL) <> (v.item IS NOT NULL) ORDER BY p.item LIMIT :limit`,
});

const pendingIs = (value: string) => `UPDATE passages SET pending = ${value} WHERE collection_no = :collection`;
const mark = (where: string) => `UPDATE passages SET pending = -1 WHERE ${where}`;

/** The passages of an erasure's messages. */
export function markPassages(rows: string): string {
  return mark(
    `collection_no = ${OF_MESSAGES} AND (group_no, number) IN ` +
      `(SELECT events.session_no, events.seq FROM events WHERE ${rows} AND agent_no IS NOT NULL)`,
  );
}

const MARKED = "FROM passages p WHERE p.pending = -1";
/** Marked passages with the generations of their collections. */
const MARKED_IN = "FROM passages p JOIN vector_generations g ON g.collection_no = p.collection_no WHERE p.pending = -1";
const GONE =
  "vector_collections.documents - (SELECT count(*) FROM passages p WHERE p.pending = -1 AND p.collection_no = vector_collections.no)";
const LEFT =
  "vector_generations.vectors - (SELECT count(*) FROM passages p JOIN vectors v ON v.collection_no = p.collection_no " +
  "AND v.generation = vector_generations.generation AND v.item = p.item " +
  "WHERE p.pending = -1 AND p.collection_no = vector_generations.collection_no)";

export const statements = () => ({
  "passages.embed":
    "UPDATE passages SET item = :item, pending = NULL WHERE collection_no = :collection AND item = :was",
  "passages.needOne": `${pendingIs("1")} AND item ${NUMBERS} :items`,
  "passages.settle": `${pendingIs("NULL")} AND pending = 1
    AND EXISTS (SELECT 1 FROM vectors v WHERE v.collection_no = :collection AND v.generation = :generation
      AND v.item = passages.item)`,
  "index.cutTo": "UPDATE index_kinds SET cut = :no WHERE kind = 'messages'",
  "memories.cut": `UPDATE index_items SET cut = 1 WHERE kind = 'memories' AND group_no = :group AND item ${NUMBERS} :items`,

  "memory.markPassages": mark(`collection_no = ${OF_SCOPE} AND group_no = :group AND number = :item`),
  "memories.markPassages": mark(`collection_no = ${OF_SCOPE} AND group_no = :group`),
  "passages.mark": mark(`collection_no = :collection AND item ${NUMBERS} :items`),
  // What follows is done in this order. First the collections: a commit that adds an embedding meanwhile is refused, or was before.
  "passages.touch":
    `UPDATE vector_collections SET change = change + 1, documents = ${GONE}, ` +
    `${keepChecksum("vector_collections", { change: "vector_collections.change + 1", documents: GONE })} ` +
    `WHERE no IN (SELECT p.collection_no ${MARKED})`,
  // The codes of the whole page: those that are left are made again from their embeddings. SQLite's substr() of no bytes is NULL.
  "passages.emptyPages":
    "UPDATE vector_pages SET codes = CASE WHEN length(codes) = 0 THEN codes ELSE substr(codes, 1, 0) END, " +
    "change = (SELECT c.change FROM vector_collections c WHERE c.no = vector_pages.collection_no) " +
    "WHERE (collection_no, generation, first_item) IN (SELECT p.collection_no, g.generation, " +
    "(SELECT max(q.first_item) FROM vector_pages q WHERE q.collection_no = p.collection_no AND q.generation = g.generation " +
    `AND q.first_item <= p.item) ${MARKED_IN} AND p.item <= g.packed)`,
  "passages.countVectors":
    `UPDATE vector_generations SET removals = removals + 1, vectors = ${LEFT}, ` +
    `${keepChecksum("vector_generations", { removals: "vector_generations.removals + 1", vectors: LEFT })} ` +
    `WHERE collection_no IN (SELECT p.collection_no ${MARKED})`,
  "passages.dropVectors":
    "DELETE FROM vectors WHERE (collection_no, generation, item) IN " +
    `(SELECT p.collection_no, g.generation, p.item ${MARKED_IN})`,
  "passages.dropFailures":
    "DELETE FROM embedding_failures WHERE kind IN ('messages', 'memories') AND (scope, item) IN " +
    `(SELECT p.collection_no, p.item ${MARKED})`,
  "passages.drop": "DELETE FROM passages WHERE pending = -1",
  /** After "vectors.touch": the page is part of that change. */
  "vectors.refillPage":
    "UPDATE vector_pages SET codes = :codes, change = (SELECT c.change FROM vector_collections c WHERE c.no = :collection) " +
    "WHERE collection_no = :collection AND generation = :generation AND first_item = :first",
});

export const guards = () => ({
  "page.change":
    "SELECT change AS value FROM vector_pages WHERE collection_no = ? AND generation = ? AND first_item = ?",
});
