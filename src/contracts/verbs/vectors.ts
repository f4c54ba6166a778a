// The verbs of vectors.
import type { MetadataFilter } from "../metadata-filter.ts";
import type { DocumentInput, Embedding } from "../vectors.ts";
import {
  checked,
  choice,
  ID,
  limit,
  list,
  optional,
  options,
  orElse,
  param,
  read,
  record,
  text,
  whole,
  withUsage,
  write,
} from "./vocabulary.ts";

/** The documents or the query come first, and the collection is an option: many callers try it the other way round. */
const ADD_USAGE = 'The collection is an option: vectors.add([documentFromText("some text")], { collection: "docs" }).';
const SEARCH_USAGE = 'The collection is an option: vectors.search("some words", { collection: "docs" }).';
const IDS_USAGE = 'The collection is an option: vectors.get(["some-id"], { collection: "docs" }).';

const DOCUMENTS = param(
  "documents",
  withUsage(list(checked<DocumentInput<object>>("document"), "documentsPerAdd"), ADD_USAGE),
);
const IDS = param("ids", withUsage(list(ID, "documentsPerAdd"), IDS_USAGE));
const COLLECTION = { collection: orElse(ID, "default") };
const MODEL = { model: optional(text("idBytes")) };
const ADD_OPTIONS = param("options", withUsage(options({ ...COLLECTION, ...MODEL }), ADD_USAGE));
const ID_OPTIONS = param("options", withUsage(options(COLLECTION), IDS_USAGE));

export const VECTOR_VERBS = {
  add: write(DOCUMENTS, ADD_OPTIONS),
  upsert: write(DOCUMENTS, ADD_OPTIONS),
  search: read(
    param("query", checked<Embedding | string>("a text or an embedding")),
    param(
      "options",
      withUsage(
        options({
          ...COLLECTION,
          ...MODEL,
          limit: limit("page", 5),
          filter: optional(checked<MetadataFilter>("metadata filter")),
          mode: optional(choice(["vector", "text", "hybrid"])),
        }),
        SEARCH_USAGE,
      ),
    ),
  ),
  get: read(IDS, ID_OPTIONS),
  delete: write(IDS, ID_OPTIONS),
  createCollection: write(
    param("name", ID),
    param(
      "input",
      record("input", {
        model: orElse(text("idBytes"), ""),
        dimension: whole(1, 4096),
        metric: orElse(choice(["cosine", "dot", "euclidean"]), "cosine"),
        precision: orElse(choice(["f32", "f16"]), "f32"),
      }),
    ),
  ),
  getCollection: read(param("name", ID)),
  listCollections: read(),
  rebuild: write(param("name", ID)),
  deleteCollection: write(param("name", ID)),
};
