// The index of metadata in SQL. The key of its rows is (kind, scope, path, value, item), so that any condition of a filter is a range.
import { NUMBERS } from "./driver.ts";

export const queries = () => ({
  /** In the order of the key: the next page begins behind the last row. */
  "metadata.items": `
    SELECT value, item FROM metadata_fields
    WHERE kind = :kind AND scope = :scope AND path = :path AND (value, item) > (:from, :after) AND value < :to
    ORDER BY value, item LIMIT :limit`,
});

export const statements = () => ({
  "metadata.removeItem": "DELETE FROM metadata_fields WHERE kind = :kind AND scope = :scope AND item = :item",
  "metadata.removeItems": `DELETE FROM metadata_fields WHERE kind = :kind AND scope = :scope AND item ${NUMBERS} :items`,
  /** Of documents that do not exist. */
  "metadata.removeStrays":
    "DELETE FROM metadata_fields WHERE kind = :kind AND scope = :scope AND NOT EXISTS " +
    "(SELECT 1 FROM documents d WHERE d.collection_no = metadata_fields.scope AND d.item = metadata_fields.item)",
  "metadata.removeScope": "DELETE FROM metadata_fields WHERE kind = :kind AND scope = :scope",
});
