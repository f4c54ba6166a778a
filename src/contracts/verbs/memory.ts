// The verbs of long-term memory.
import type { MemoryJudge } from "../memory.ts";
import type { MetadataFilter } from "../metadata-filter.ts";
import { PROMOTION_VERBS } from "./promotion.ts";
import {
  amount,
  BOOLEAN,
  callback,
  checked,
  ID,
  JSON_OBJECT,
  limit,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  read,
  readPage,
  text,
  whole,
  write,
} from "./vocabulary.ts";

const SCOPE = { namespace: orElse(ID, "default"), agent: orElse(ID, "") };
const SCOPE_ONLY = param("scope", options(SCOPE));
const MEMORY = param("id", ID);
const SOURCE = optional({
  kind: "record",
  fields: { session: optional(ID), message: optional(ID), run: optional(ID) },
  prefix: "source",
} as const);
const TIME = optional(whole());
const HELD = orElse(BOOLEAN, false);

export const MEMORY_VERBS = {
  ...PROMOTION_VERBS,
  save: write(
    param("content", { ...text("memoryBytes"), isBlankRefused: true }),
    param(
      "options",
      options({
        ...SCOPE,
        kind: orElse(ID, "fact"),
        subject: optional(ID),
        attribute: optional(ID),
        value: optional(text("memoryValueBytes")),
        importance: optional(amount(0, 1)),
        metadata: optional(JSON_OBJECT),
        ttlMs: optional(whole(1)),
        validFrom: TIME,
        validTo: TIME,
        source: SOURCE,
        supersedes: optional(nullable(ID)),
        judge: optional(callback<MemoryJudge>()),
      }),
    ),
  ),
  search: read(
    param("query", text("searchQueryBytes")),
    param(
      "options",
      options({
        ...SCOPE,
        kind: optional(ID),
        subject: optional(ID),
        filter: optional(checked<MetadataFilter>("a metadata filter")),
        at: TIME,
        from: TIME,
        to: TIME,
        superseded: HELD,
        limit: limit("page", 10),
        tokens: optional(whole(1)),
      }),
    ),
  ),
  get: read(MEMORY, SCOPE_ONLY),
  list: readPage(
    param(
      "filter",
      options({
        ...PAGE,
        ...SCOPE,
        kind: orElse(ID, null),
        subject: optional(ID),
        attribute: optional(ID),
        superseded: HELD,
      }),
    ),
  ),
  history: readPage(MEMORY, param("options", options({ ...PAGE, ...SCOPE }))),
  touch: write(MEMORY, param("options", options({ ...SCOPE, source: SOURCE }))),
  undo: write(MEMORY, SCOPE_ONLY),
  delete: write(MEMORY, SCOPE_ONLY),
  clear: write(SCOPE_ONLY),
  deleteExpired: write(param("options", options({ dryRun: orElse(BOOLEAN, false) }))),
  scopes: readPage(param("options", options(PAGE))),
  status: read(),
};
