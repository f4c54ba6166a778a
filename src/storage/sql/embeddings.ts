// The background work that embeds texts, in SQL. What waits is derived from the documents themselves: a document without an embedding is
// marked by its own row. Only failures have rows of their own.
import { keepChecksum } from "./checksum.ts";
import { NUMBERS } from "./driver.ts";
import { COLLECTION } from "./vectors.ts";

const FAILURE = "SELECT f.scope, f.item, f.attempts, f.due_at, f.reason, f.at FROM embedding_failures f";

export const queries = () => ({
  "vectors.collectionAt": `${COLLECTION} WHERE c.no = :no`,
  "documents.nextPending": `
    SELECT d.collection_no AS collection FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no > :after
    ORDER BY d.collection_no, d.item LIMIT 1`,
  "documents.pending": `
    SELECT d.item FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no = :collection AND d.item > :after
    AND NOT EXISTS (SELECT 1 FROM embedding_failures f WHERE f.kind = 'documents' AND f.scope = d.collection_no
      AND f.item = d.item AND (f.due_at IS NULL OR f.due_at > :now))
    ORDER BY d.item LIMIT :limit`,
  "documents.countPending":
    "SELECT count(*) AS n FROM documents d WHERE d.pending IS NOT NULL AND d.collection_no = :collection",
  "documents.waiting": `
    SELECT g.model, g.dimension, g.vectors, w.n
    FROM (SELECT d.collection_no, count(*) AS n FROM documents d WHERE d.pending IS NOT NULL GROUP BY d.collection_no) w
    JOIN vector_collections c ON c.no = w.collection_no
    LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation`,
  "documents.items": `
    SELECT d.item FROM documents d WHERE d.collection_no = :collection AND d.item > :after ORDER BY d.item LIMIT :limit`,
  "vectors.lastItem": `
    SELECT coalesce(max(v.item), 0) AS item FROM vectors v WHERE v.collection_no = :collection AND v.generation = :generation`,
  "vectors.firstItems": `
    SELECT v.item FROM vectors v WHERE v.collection_no = :collection AND v.generation = :generation ORDER BY v.item LIMIT :limit`,
  "generations.ofModel": `
    SELECT g.collection_no AS collection, g.generation FROM vector_generations g
    WHERE g.model = :model AND g.collection_no > :after ORDER BY g.collection_no, g.generation LIMIT :limit`,
  "failures.list": `
    ${FAILURE} WHERE f.kind = :kind AND (f.scope, f.item) > (:scope, :item) ORDER BY f.scope, f.item LIMIT :limit`,
  "failures.in": `${FAILURE} WHERE f.kind = :kind AND f.scope = :scope AND f.item ${NUMBERS} :items ORDER BY f.item`,
  "failures.totals": `
    SELECT count(*) AS failed, coalesce(sum(CASE WHEN f.due_at IS NULL THEN 1 ELSE 0 END), 0) AS parked,
      min(f.due_at) AS next FROM embedding_failures f WHERE f.kind = :kind`,
});

const pendingIs = (value: string) =>
  `UPDATE documents SET pending = ${value}, ${keepChecksum("documents", { pending: value })} `;

export const statements = () => ({
  /** The document gets its embedding with a new item, or keeps its own. */
  "documents.embed":
    `UPDATE documents SET item = :item, pending = NULL, ${keepChecksum("documents", { item: ":item", pending: "NULL" })} ` +
    "WHERE collection_no = :collection AND item = :was",
  "documents.needNone": `${pendingIs("NULL")} WHERE collection_no = :collection AND item ${NUMBERS} :items`,
  "documents.needOne": `${pendingIs("1")} WHERE collection_no = :collection AND item ${NUMBERS} :items`,
  /** Documents that have an embedding in the generation wait no more. */
  "documents.settle": `${pendingIs("NULL")} WHERE pending IS NOT NULL AND collection_no = :collection
    AND EXISTS (SELECT 1 FROM vectors v WHERE v.collection_no = :collection AND v.generation = :generation
      AND v.item = documents.item)`,
  "vectors.dropGenerationPages":
    "DELETE FROM vector_pages WHERE collection_no = :collection AND generation = :generation",
  "failures.forget": `DELETE FROM embedding_failures WHERE kind = :kind AND scope = :scope AND item ${NUMBERS} :items`,
  "failures.forgetScope": "DELETE FROM embedding_failures WHERE kind = :kind AND scope = :scope",
  "failures.retryDue": "UPDATE embedding_failures SET due_at = 0 WHERE kind = :kind AND due_at IS NOT NULL",
  "failures.retry": "UPDATE embedding_failures SET due_at = 0, attempts = 0 WHERE kind = :kind",
});
