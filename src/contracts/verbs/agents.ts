// The verbs of agents and their blocks.
import {
  BOOLEAN,
  ID,
  input,
  JSON_OBJECT,
  list,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  read,
  readPage,
  set,
  text,
  whole,
  write,
} from "./vocabulary.ts";

const described = {
  name: optional(text("titleBytes")),
  agentType: optional(ID),
  model: optional(nullable(ID)),
  system: optional(nullable(text("metadataBytes"))),
  toolIds: optional(set(ID, "toolIds")),
  tags: optional(set(ID, "tags")),
  metadata: optional(JSON_OBJECT),
};
const AGENT = param("agent", ID);
const LABEL = param("label", ID);
const BLOCK_TEXT = text("messageBytes");
/** A caller may pass what loadBlocks() returned: fields that callers cannot set are ignored. */
const BLOCK = {
  kind: "record",
  isOpen: true,
  isPlaced: true,
  fields: {
    id: optional(ID),
    label: ID,
    value: optional(BLOCK_TEXT),
    limit: optional(whole(1, 1_000_000)),
    description: optional(text("titleBytes")),
    readOnly: optional(BOOLEAN),
  },
} as const;
const EDIT = param("options", options({ version: optional(whole()) }));

export const AGENT_VERBS = {
  create: write(param("agent", options({ id: optional(ID), ...described }))),
  get: read(param("id", ID)),
  list: readPage(param("filter", options({ ...PAGE, tag: optional(ID), agentType: orElse(ID, null) }))),
  update: write(param("id", ID), param("patch", input({ ...described, version: optional(whole(1)) }))),
  delete: write(param("id", ID), param("options", options({ memories: orElse(BOOLEAN, false) }))),
  saveBlocks: write(AGENT, param("blocks", list(BLOCK, "blocksPerAgent"))),
  loadBlocks: read(AGENT),
  getBlock: read(AGENT, LABEL),
  appendBlock: write(AGENT, LABEL, param("text", BLOCK_TEXT), EDIT),
  replaceInBlock: write(AGENT, LABEL, param("find", BLOCK_TEXT), param("put", BLOCK_TEXT), EDIT),
  rethinkBlock: write(AGENT, LABEL, param("value", BLOCK_TEXT), EDIT),
  shareBlock: write(AGENT, LABEL, param("withAgent", ID)),
  blockVersions: readPage(AGENT, LABEL, param("page", options(PAGE))),
  restoreBlock: write(AGENT, LABEL, param("version", whole(1, Number.MAX_SAFE_INTEGER - 1))),
};
