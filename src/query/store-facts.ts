// The facts of a store's other entities: agents and their blocks, boards and tasks, blobs.
import {
  type Attribute,
  derived,
  facts,
  flag,
  identity,
  instant,
  int,
  keyword,
  many,
  maybe,
  payload,
  type Source,
  text,
  to,
  utf8Text,
} from "./facts.ts";

const AGENTS: Source = { table: "agents", entity: ["no"], unique: ["no"], where: (a) => `${a}.deleted_at IS NULL` };

const agentFacts = () => [
  ...facts("agent", AGENTS, {
    id: identity("agent", ["no"], "id"),
    name: utf8Text("name"),
    type: text("agent_type"),
    model: maybe(text("model"), "model"),
    "created-at": instant("created_at"),
    "updated-at": instant("updated_at"),
    version: int("version"),
  }),
  ...facts(
    "agent",
    { table: "agent_tags", entity: ["agent_no"], unique: ["tag", "agent_no"] },
    {
      tag: many(text("tag")),
    },
  ),
  ...facts(
    "agent",
    { table: "agent_blocks", entity: ["agent_no"], unique: ["agent_no", "ord"] },
    {
      block: many(to("block", "block_id")),
    },
  ),
];

const blockFacts = () => [
  ...facts(
    "block",
    { table: "blocks", entity: ["id"], unique: ["id"] },
    {
      id: identity("block", ["id"], "id"),
      label: text("label"),
      description: utf8Text("description"),
      "char-limit": int("char_limit"),
      "read-only": flag("read_only"),
      version: int("version"),
      "created-at": instant("created_at"),
      "updated-at": instant("updated_at"),
    },
  ),
  ...facts(
    "version",
    { table: "block_versions", entity: ["block_id", "version"], unique: ["block_id", "version"] },
    {
      id: identity("version", ["block_id", "version"]),
      block: to("block", "block_id"),
      number: int("version"),
      edit: keyword("edit"),
      "value-ref": payload("value"),
      at: instant("at"),
    },
  ),
];

const taskFacts = () => [
  ...facts(
    "board",
    { table: "boards", entity: ["id"], unique: ["id"] },
    {
      id: identity("board", ["id"], "id"),
      session: to("session", "session_no"),
      agent: text("agent"),
      "parent-agent": maybe(text("parent"), "parent"),
      label: utf8Text("label"),
      order: int("ord"),
      "max-retries": int("max_retries"),
      "created-at": instant("created_at"),
      version: int("version"),
    },
  ),
  ...facts(
    "task",
    { table: "tasks", entity: ["board_id", "id"], unique: ["board_id", "id"] },
    {
      id: text("id"),
      board: to("board", "board_id"),
      title: utf8Text("title"),
      status: keyword("status"),
      order: int("ord"),
      "retry-count": int("retry_count"),
      version: int("version"),
      "created-at": instant("created_at"),
      "updated-at": instant("updated_at"),
    },
  ),
];

const captureFacts = () =>
  facts(
    "capture",
    { table: "captures", entity: ["id"], unique: ["id"] },
    {
      id: identity("capture", ["id"], "id"),
      session: to("session", "session_no"),
      request: text("request"),
      agent: text("agent"),
      "agent-session": text("agent_session"),
      generation: int("generation"),
      diverged: int("diverged"),
      cwd: utf8Text("cwd"),
      files: int("files"),
      size: int("size"),
      stored: int("stored"),
      "manifest-ref": payload("manifest"),
      "created-at": instant("created_at"),
      "saved-at": instant("saved_at"),
      "expires-at": maybe(instant("expires_at"), "expires_at"),
    },
  );

/** Uploads in progress (form 4) and chunks (which only links keep) are storage details, not blobs. */
const BLOBS: Source = {
  table: "blobs",
  entity: ["no"],
  unique: ["no"],
  where: (a) => `${a}.form <> 4 AND (${a}.expires_at IS NULL OR ${a}.expires_at > 0 OR ${a}.refs > 0)`,
};

const blobFacts = () =>
  facts("blob", BLOBS, {
    id: { ...identity("blob", ["no"]), type: { is: "ref" }, value: (a) => [`${a}.sha256`], blob: "no" },
    sha256: derived("text", (a, own) => own.hex(`${a}.sha256`)),
    size: int("size"),
    "media-type": text("media"),
    encoding: derived("keyword", (a, own) => `CASE WHEN ${a}.utf8 = 1 THEN 'utf-8' END${own.collate}`),
    compression: derived("keyword", (a, own) => `CASE WHEN ${a}.form IN (1, 3) THEN 'zstd' END${own.collate}`),
    store: derived("text", (a, own) => `CASE WHEN ${a}.store = '' THEN 'database' ELSE ${a}.store END${own.collate}`),
    key: maybe(text("key"), "key"),
    "stored-bytes": int("stored"),
    references: int("refs"),
    pinned: derived("boolean", (a) => `CASE WHEN ${a}.pinned <> 0 THEN 1 ELSE 0 END`),
    "created-at": instant("created_at"),
    "expires-at": maybe(instant("expires_at"), "expires_at"),
    // The bytes are missing: not in the row, not in a backend, not in parts.
    erased: derived(
      "boolean",
      (a) => `CASE WHEN ${a}.form IN (0, 1) AND ${a}.body IS NULL AND ${a}.key IS NULL THEN 1 END`,
    ),
  });

export const storeAttributes = (): readonly Attribute[] => [
  ...agentFacts(),
  ...blockFacts(),
  ...taskFacts(),
  ...captureFacts(),
  ...blobFacts(),
];
