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
  write,
} from "./vocabulary.ts";

const DOCUMENTS = param("documents", list(checked<DocumentInput<object>>("document"), "documentsPerAdd"));
const IDS = param("ids", list(ID, "documentsPerAdd"));
const COLLECTION = { collection: orElse(ID, "default") };
const MODEL = { model: optional(text("idBytes")) };

export const VECTOR_VERBS = {
  add: write(DOCUMENTS, param("options", options({ ...COLLECTION, ...MODEL }))),
  upsert: write(DOCUMENTS, param("options", options({ ...COLLECTION, ...MODEL }))),
  search: read(
    param("query", checked<Embedding | string>("embedding")),
    param(
      "options",
      options({
        ...COLLECTION,
        ...MODEL,
        limit: limit("page", 5),
        filter: optional(checked<MetadataFilter>("metadata filter")),
      }),
    ),
  ),
  get: read(IDS, param("options", options(COLLECTION))),
  delete: write(IDS, param("options", options(COLLECTION))),
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
