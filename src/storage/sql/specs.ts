// The statements that write rows, made from the tables' lists: insert, put (replace the row with this key), remove.
import type { ColumnType, TableShape } from "../../contracts/storage/table-shape.ts";
import { TABLES, type TableName } from "../../contracts/storage/tables.ts";
import { memoize } from "../../core/memoize.ts";
import { keepChecksum } from "./checksum.ts";
import type { BulkColumn, BulkSpec } from "./driver.ts";
import { KNOWN_SCHEMA } from "./schema-fence.ts";

const BLOB_NUMBER = "(SELECT no FROM blobs WHERE sha256 = ?)";

/** Rows whose content follows from their key: writing one again changes nothing. */
const SETTLED: ReadonlySet<string> = new Set(["blob_links", "blob_segments"]);

function column(name: string, type: ColumnType): BulkColumn {
  return type === "blobref" || type === "serial"
    ? { name, type: "bytes", value: BLOB_NUMBER }
    : { name, type, value: "?" };
}

function writable(shape: TableShape): readonly BulkColumn[] {
  return Object.entries(shape.columns)
    .filter(([, type]) => type !== "serial")
    .map(([name, type]) => column(name, type));
}

/** A table without a key has its own statements. */
function keyed(table: TableName): TableShape {
  const shape: TableShape = TABLES[table];
  if (shape.key.length === 0) throw new Error(`bug: rows of ${table} are not written like this`);
  return shape;
}

export const insertSpec = memoize((table: TableName): BulkSpec => {
  const shape = keyed(table);
  const suffix = SETTLED.has(table) ? " ON CONFLICT DO NOTHING" : "";
  return { name: `${table}.insert`, table, verb: "insert", columns: writable(shape), key: shape.key, suffix };
});

export const putSpec = memoize((table: TableName): BulkSpec => {
  const shape = keyed(table);
  const columns = writable(shape);
  const changed = columns.map((one) => one.name).filter((name) => !shape.key.includes(name));
  const action =
    changed.length === 0 || SETTLED.has(table)
      ? "DO NOTHING"
      : `DO UPDATE SET ${changed.map((name) => `${name} = excluded.${name}`).join(", ")}`;
  const suffix = ` ON CONFLICT (${shape.key.join(", ")}) ${action}`;
  return { name: `${table}.put`, table, verb: "insert", columns, key: shape.key, suffix };
});

export const removeSpec = memoize((table: TableName): BulkSpec => {
  const shape = keyed(table);
  const columns = writable(shape).filter((one) => shape.key.includes(one.name));
  return { name: `${table}.remove`, table, verb: "delete", columns, key: shape.key, suffix: "" };
});

const bytes = (name: string): BulkColumn => ({ name, type: "bytes", value: "?" });
const int = (name: string): BulkColumn => ({ name, type: "int", value: "?" });
const text = (name: string): BulkColumn => ({ name, type: "text", value: "?" });

/** The time to live only ever grows; NULL is for ever. */
const LATER_EXPIRY =
  "CASE WHEN blobs.expires_at IS NULL OR excluded.expires_at IS NULL THEN NULL " +
  "WHEN excluded.expires_at > blobs.expires_at THEN excluded.expires_at ELSE blobs.expires_at END";

/** A put of a blob, new or existing, stamps the current gc epoch and cancels a condemnation. */
export const PUT_BLOB: BulkSpec = {
  name: "blobs.store",
  table: "blobs",
  verb: "insert",
  columns: [
    bytes("sha256"),
    int("size"),
    text("media"),
    int("utf8"),
    int("form"),
    int("stored"),
    bytes("body"),
    text("store"),
    text("key"),
    int("refs"),
    int("expires_at"),
    int("created_at"),
    text("checksum"),
    { name: "pinned", type: "int", value: "0" },
    { name: "epoch", type: "int", value: "(SELECT n FROM counters WHERE name = 'gc')" },
  ],
  key: ["sha256"],
  suffix:
    " ON CONFLICT (sha256) DO UPDATE SET refs = blobs.refs + excluded.refs, epoch = excluded.epoch, condemned = NULL, " +
    `expires_at = ${LATER_EXPIRY}, ${keepChecksum("blobs", { expires_at: LATER_EXPIRY })}`,
};

const EVENT = [int("session_no"), int("seq"), int("branch"), int("at"), bytes("body"), bytes("hash")];
const MESSAGE = [
  ...EVENT,
  { name: "type", type: "text", value: "'message/added'" } as const,
  int("agent_no"),
  text("role"),
  text("run"),
  text("key"),
  bytes("sha256"),
  bytes("salt"),
  int("chars"),
  bytes("words"),
];

function eventSpec(name: string, columns: readonly BulkColumn[]): BulkSpec {
  return { name, table: "events", verb: "insert", columns, key: [], suffix: "" };
}

/** Messages that all have inline content: no blob is looked up for them. */
export const ADD_INLINE_MESSAGE = eventSpec("events.addInline", MESSAGE);
/** Messages of any length: the last parameter is the sha256 of the blob with the content, or NULL. */
export const ADD_MESSAGE = eventSpec("events.addMessage", [
  ...MESSAGE,
  { name: "content", type: "bytes", value: BLOB_NUMBER },
]);

const OTHER = [...EVENT, text("type"), text("run"), bytes("sha256"), bytes("salt"), bytes("words")];
/** Events other than messages. The payload of a run's event is inline. */
export const ADD_EVENT = eventSpec("events.add", OTHER);
/** Events other than messages, with a payload in a blob: the last parameter is the blob's sha256. */
export const ADD_LONG_EVENT = eventSpec("events.addLong", [
  ...OTHER,
  { name: "content", type: "bytes", value: BLOB_NUMBER },
]);

/** The head that it continues is named by its id, because the commit knows only the id. */
export const PUBLISH_HEAD: BulkSpec = {
  name: "heads.publish",
  table: "heads",
  verb: "insert",
  columns: writable(TABLES.heads).map((one) =>
    one.name === "basis_no" ? { name: one.name, type: "text", value: "(SELECT no FROM heads WHERE id = ?)" } : one,
  ),
  key: ["id"],
  suffix: "",
};

/** Counts the references of new rows to a blob that exists already, and cancels its condemnation. */
export const USE_BLOB: BulkSpec = {
  name: "blobs.use",
  table: "blobs",
  verb: "update",
  columns: [
    { name: "refs", type: "int", value: "blobs.refs + ?" },
    { name: "epoch", type: "int", value: "(SELECT n FROM counters WHERE name = 'gc')" },
    { name: "condemned", type: "int", value: "NULL" },
    bytes("sha256"),
  ],
  key: ["sha256"],
  suffix: "",
};

/** Updates a session's position and counters after a commit. */
export const ADVANCE_SESSION: BulkSpec = {
  name: "sessions.advance",
  table: "sessions",
  verb: "update",
  columns: [int("seq"), bytes("chain"), int("updated_at"), int("messages"), int("state_seq"), int("no")],
  key: ["no"],
  suffix: "",
};

/**
 * Advances cached sessions. It fails unless they are still at their positions and the store has the same schema. The position has the chain
 * hash as well as the seq: a server that lost commits may have reached the same seq with other events.
 */
export const FENCE_SESSION: BulkSpec = {
  name: "sessions.fence",
  table: "sessions",
  verb: "fence",
  columns: [...ADVANCE_SESSION.columns, int("was_seq"), bytes("was_chain")],
  key: ["no", "was_seq", "was_chain"],
  suffix: " AND sessions.deleted_at IS NULL",
  requires: KNOWN_SCHEMA,
};

export const CREATE_SESSION: BulkSpec = {
  name: "sessions.create",
  table: "sessions",
  verb: "insert",
  columns: [
    text("id"),
    { name: "agent_no", type: "text", value: "(SELECT no FROM agents WHERE id = ?)" },
    int("created_at"),
    int("updated_at"),
    bytes("chain"),
    text("checksum"),
    { name: "status", type: "text", value: "'open'" },
    { name: "version", type: "int", value: "1" },
    { name: "branch", type: "int", value: "1" },
    { name: "seq", type: "int", value: "0" },
    { name: "messages", type: "int", value: "0" },
    { name: "state_seq", type: "int", value: "0" },
  ],
  key: ["id"],
  // A row that came in between must fail the transaction: what was read while it was absent no longer holds.
  suffix: "",
};

/** An agent that is used before it was created is registered under its id. */
export const REGISTER_AGENT: BulkSpec = {
  name: "agents.register",
  table: "agents",
  verb: "insert",
  columns: [
    text("id"),
    bytes("name"),
    int("created_at"),
    int("updated_at"),
    text("checksum"),
    { name: "agent_type", type: "text", value: "'agent'" },
    { name: "version", type: "int", value: "1" },
  ],
  key: ["id"],
  // A row that came in between must fail the transaction: what was read while it was absent no longer holds.
  suffix: "",
};
