// Collections of vectors in SQL. Items are never changed: a document that is written again gets a new item, so that whatever
// was derived from an item is right for as long as the item is there.
import { keepChecksum } from "./checksum.ts";
import { NUMBERS, TEXTS } from "./driver.ts";

const GENERATION = "g.model, g.dimension, g.metric, g.precision, g.seed, g.packed, g.removals, g.vectors";
const PAYLOAD = "p.sha256, p.size, p.form, p.body, p.store, p.key AS blob_key";
const DOCUMENT = `SELECT d.id, d.item, d.words, ${PAYLOAD} FROM documents d LEFT JOIN blobs p ON p.no = d.content`;
const OF_GENERATION = "v.collection_no = :collection AND v.generation = :generation";

/** Whatever a blob names or is made of. */
const HAS_PARTS = "EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = blobs.no)";

const discarded = (where: string) => `
    SELECT DISTINCT p.sha256, p.store, p.key FROM documents d JOIN blobs p ON p.no = d.content
    WHERE d.collection_no = :collection ${where}
    AND (p.form >= 2 OR p.store <> '' OR EXISTS (SELECT 1 FROM blob_links n WHERE n.parent_no = p.no))`;

const CHECKED = `
    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents,
      (SELECT count(*) FROM documents d WHERE d.collection_no = c.no)
        + (SELECT count(*) FROM passages p WHERE p.collection_no = c.no) AS counted,
      coalesce((SELECT max(d.item) FROM documents d WHERE d.collection_no = c.no),
        (SELECT max(p.item) FROM passages p WHERE p.collection_no = c.no)) AS newest FROM vector_collections c`;

const OF_COLLECTION = ["vector_generations", "documents", "passages", "vectors", "vector_pages"];

/** Not one of the collections that the store keeps for itself; see vectors/reserved.ts. */
const IS_CALLERS = "NOT (c.name >= 'holdfast:' AND c.name < 'holdfast;')";

const strays = (table: string) => `
    SELECT '${table}' AS source, min(r.collection_no) AS collection FROM ${table} r
    WHERE NOT EXISTS (SELECT 1 FROM vector_collections c WHERE c.no = r.collection_no) HAVING count(*) > 0`;

/** Collections with their current generations. */
export const COLLECTION = `
    SELECT c.no, c.name, c.generation, c.change, c.last_item, c.documents, c.created_at, ${GENERATION}, g.created_at AS generation_at
    FROM vector_collections c LEFT JOIN vector_generations g ON g.collection_no = c.no AND g.generation = c.generation`;

export const queries = () => ({
  "vectors.collection": `${COLLECTION} WHERE c.name = :name`,
  "vectors.collections": `SELECT c.name FROM vector_collections c WHERE c.name > :after AND ${IS_CALLERS} ORDER BY c.name LIMIT :limit`,
  "vectors.generations": `
    SELECT g.generation, ${GENERATION}, g.created_at FROM vector_generations g WHERE g.collection_no = :collection
    ORDER BY g.generation`,
  "documents.byIds": `${DOCUMENT} WHERE d.collection_no = :collection AND d.id ${TEXTS} :ids ORDER BY d.item`,
  "documents.byItems": `${DOCUMENT} WHERE d.collection_no = :collection AND d.item ${NUMBERS} :items ORDER BY d.item`,
  "vectors.byItems": `
    SELECT v.item, v.embedding FROM vectors v WHERE ${OF_GENERATION} AND v.item ${NUMBERS} :items ORDER BY v.item`,
  "vectors.itemsIn": `SELECT v.item FROM vectors v WHERE ${OF_GENERATION} AND v.item ${NUMBERS} :items ORDER BY v.item`,
  "vectors.after": `
    SELECT v.item, v.embedding FROM vectors v WHERE ${OF_GENERATION} AND v.item > :after ORDER BY v.item LIMIT :limit`,
  "vectors.pages": `
    SELECT v.first_item, v.change, v.codes FROM vector_pages v
    WHERE ${OF_GENERATION} AND (v.change, v.first_item) > (:change, :after) ORDER BY v.change, v.first_item LIMIT :limit`,
  "vectors.pageStarts": `
    SELECT v.first_item FROM vector_pages v WHERE ${OF_GENERATION} ORDER BY v.first_item`,
  "vectors.pagesAt": `
    SELECT v.first_item, v.change, v.codes FROM vector_pages v WHERE ${OF_GENERATION} AND v.first_item ${NUMBERS} :starts
    ORDER BY v.first_item`,
  "documents.discarded": discarded(`AND d.item ${NUMBERS} :items`),
  "documents.allDiscarded": discarded(""),
  "documents.after": `${DOCUMENT} WHERE d.collection_no = :collection AND d.item > :after ORDER BY d.item LIMIT :limit`,
  "check.collections": `${CHECKED} WHERE c.no > :after ORDER BY c.no LIMIT :limit`,
  "check.collection": `${CHECKED} WHERE c.no = :no`,
  "check.embeddings": `SELECT count(*) AS n FROM vectors v WHERE ${OF_GENERATION}`,
  "check.strayEmbeddings": `
    SELECT v.generation, v.item FROM vectors v LEFT JOIN documents d ON d.collection_no = v.collection_no AND d.item = v.item
    LEFT JOIN passages p ON p.collection_no = v.collection_no AND p.item = v.item
    LEFT JOIN vector_generations g ON g.collection_no = v.collection_no AND g.generation = v.generation
    WHERE v.collection_no = :collection AND ((d.item IS NULL AND p.item IS NULL) OR g.generation IS NULL)
    ORDER BY v.generation, v.item LIMIT :limit`,
  "check.strayItems": OF_COLLECTION.map(strays).join(" UNION ALL "),
  "check.documents": `
    SELECT d.id, d.item, d.pending, CASE WHEN d.words IS NULL AND b.no IS NULL THEN 1 ELSE 0 END AS blob_missing,
      v.item AS embedded
    FROM documents d LEFT JOIN blobs b ON b.no = d.content
    LEFT JOIN vectors v ON v.collection_no = d.collection_no AND v.generation = :generation AND v.item = d.item
    WHERE d.collection_no = :collection AND d.item > :after ORDER BY d.item LIMIT :limit`,
  "check.documentRows": `
    ${DOCUMENT} WHERE d.collection_no = :collection AND d.item >= :from AND d.item <= :to ORDER BY d.item`,
  "check.metadata": `
    SELECT m.item, m.path, m.value FROM metadata_fields m
    WHERE m.kind = :kind AND m.scope = :scope AND m.item >= :from AND m.item <= :to`,
  "vectors.totals": `SELECT count(*) AS collections FROM vector_collections c WHERE ${IS_CALLERS}`,
});

const release = (where: string) => `
    UPDATE blobs SET refs = blobs.refs - used.n
    FROM (SELECT d.content, count(*) AS n FROM documents d
      WHERE d.collection_no = :collection ${where} AND d.content IS NOT NULL GROUP BY d.content) AS used
    WHERE blobs.no = used.content`;

/** Of the blobs just released, those that no other row needs; blobs in parts are taken apart afterwards. */
const drop = (where: string) => `
    DELETE FROM blobs WHERE no IN (SELECT d.content FROM documents d WHERE d.collection_no = :collection ${where})
    AND form < 2 AND refs = 0 AND pinned = 0 AND expires_at IS NOT NULL AND expires_at <= :now
    AND NOT EXISTS (SELECT 1 FROM blob_links k WHERE k.child_no = blobs.no) AND NOT ${HAS_PARTS}`;

export const statements = () => ({
  "documents.release": release(`AND d.item ${NUMBERS} :items`),
  "documents.drop": drop(`AND d.item ${NUMBERS} :items`),
  "documents.remove": `DELETE FROM documents WHERE collection_no = :collection AND item ${NUMBERS} :items`,
  "vectors.remove": `
    DELETE FROM vectors WHERE collection_no = :collection AND generation = :generation AND item ${NUMBERS} :items`,
  "vectors.touch":
    "UPDATE vector_collections SET change = change + 1, " +
    `${keepChecksum("vector_collections", { change: "vector_collections.change + 1" })} WHERE no = :collection`,
  "vectors.pack":
    `UPDATE vector_generations SET packed = :packed, ${keepChecksum("vector_generations", { packed: ":packed" })} ` +
    "WHERE collection_no = :collection AND generation = :generation",
  /** After "vectors.touch": the page is part of that change. */
  "vectors.addPage":
    "INSERT INTO vector_pages (collection_no, generation, first_item, change, codes) " +
    "SELECT c.no, :generation, :first, c.change, :codes FROM vector_collections c WHERE c.no = :collection",
  "documents.releaseAll": release(""),
  "documents.dropAll": drop(""),
  "documents.removeAll": "DELETE FROM documents WHERE collection_no = :collection",
  "vectors.removeAll": "DELETE FROM vectors WHERE collection_no = :collection",
  "vectors.removePages": "DELETE FROM vector_pages WHERE collection_no = :collection",
  "vectors.removeGenerations": "DELETE FROM vector_generations WHERE collection_no = :collection",
});

export const guards = () => ({
  "collection.generation": "SELECT generation AS value FROM vector_collections WHERE no = ?",
  "collection.change": "SELECT change AS value FROM vector_collections WHERE no = ?",
  /** Evaluated after the guard "store.lock". */
  "collection.no": "SELECT no AS value FROM vector_collections WHERE name = ?",
  /** Changes with what is in pages, and when an embedding that is in none is removed. */
  "generation.tail":
    "SELECT CAST(packed AS TEXT) || ':' || CAST(removals AS TEXT) AS value FROM vector_generations " +
    "WHERE collection_no = ? AND generation = ?",
});
