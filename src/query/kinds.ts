// The kinds of entities that queries know, the key of each kind, and how its id is written. An entity is its key
// columns (numbers of the database) inside SQL; callers see and pass its id.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import { type Param, param, raw, type Sql, sql } from "./sql.ts";

export type KindName =
  | "session"
  | "alias"
  | "branch"
  | "event"
  | "message"
  | "turn"
  | "eval"
  | "call"
  | "snapshot"
  | "head"
  | "invocation"
  | "derivation"
  | "state"
  | "board"
  | "capture"
  | "task"
  | "agent"
  | "block"
  | "version"
  | "blob"
  | "run"
  | "signal"
  | "decision"
  | "step"
  | "checkpoint";

export interface Kind {
  readonly name: KindName;
  /** Types of the key columns. */
  readonly key: readonly ("int" | "text")[];
  /** The readable id. */
  id(key: readonly Sql[], fragments: SqlFragments): Sql;
  /** The key of the entity with this id; null if no entity can have it, undefined if it must be compared as text. */
  find(id: string, fragments: SqlFragments): readonly Sql[] | null | undefined;
  /** The sort keys of entities: the order of their ids, with numbers compared as numbers. */
  order(key: readonly Sql[], fragments: SqlFragments): readonly Sql[];
}

const NOTHING = raw("NULL");

function at(key: readonly Sql[], i: number): Sql {
  return key[i] ?? NOTHING;
}

export function cast(value: Param, type: "int" | "real" | "text" | "bytes", fragments: SqlFragments): Sql {
  const collate = type === "text" ? fragments.collate : "";
  return sql`CAST(${param(value)} AS ${raw(fragments[type])})${raw(collate)}`;
}

/** Entities with their own number and id; a table maps one to the other. */
function numbered(name: KindName, table: string): Kind {
  const id = (key: readonly Sql[]) => sql`(SELECT id FROM ${raw(table)} WHERE no = ${at(key, 0)})`;
  return {
    name,
    key: ["int"],
    id,
    find: (text, fragments) => [sql`(SELECT no FROM ${raw(table)} WHERE id = ${cast(text, "text", fragments)})`],
    order: (key) => [id(key)],
  };
}

/** Entities whose key is their id. */
function named(name: KindName): Kind {
  return {
    name,
    key: ["text"],
    id: (key) => at(key, 0),
    find: (text, fragments) => [cast(text, "text", fragments)],
    order: (key) => [at(key, 0)],
  };
}

const SESSION = numbered("session", "sessions");

/** Entities of a session, identified by the session and a number. */
function within(name: KindName, mark: string): Kind {
  return {
    name,
    key: ["int", "int"],
    id: (key, fragments) =>
      sql`(${SESSION.id([at(key, 0)], fragments)} || ${raw(`'${mark}'`)} || CAST(${at(key, 1)} AS ${raw(fragments.text)}))`,
    find: (text, fragments) => {
      const cut = text.lastIndexOf(mark);
      const digits = text.slice(cut + 1);
      if (cut < 0 || !/^(0|[1-9]\d{0,14})$/.test(digits)) return null;
      const [session = NOTHING] = SESSION.find(text.slice(0, cut), fragments) ?? [];
      return [session, cast(Number(digits), "int", fragments)];
    },
    order: (key, fragments) => [SESSION.id([at(key, 0)], fragments), at(key, 1)],
  };
}

/** Entities that belong to another entity and are identified by a text. */
function under(name: KindName, owner: Kind): Kind {
  return {
    name,
    key: [...owner.key, "text"],
    id: (key, fragments) => sql`(${owner.id([at(key, 0)], fragments)} || '/' || ${at(key, 1)})`,
    find: () => undefined,
    order: (key, fragments) => [owner.id([at(key, 0)], fragments), at(key, 1)],
  };
}

const VERSION: Kind = {
  name: "version",
  key: ["text", "int"],
  id: (key, fragments) => sql`(${at(key, 0)} || '#' || CAST(${at(key, 1)} AS ${raw(fragments.text)}))`,
  find: (text, fragments) => {
    const match = /^(.*)#(0|[1-9]\d{0,14})$/s.exec(text);
    return match === null ? null : [cast(match[1] ?? "", "text", fragments), cast(Number(match[2]), "int", fragments)];
  },
  order: (key) => [at(key, 0), at(key, 1)],
};

/** Converts `sha256:<hex>` to bytes; null if the text is no ref. */
export function refBytes(text: string): Uint8Array | null {
  return /^sha256:[0-9a-f]{64}$/.test(text) ? Buffer.from(text.slice(7), "hex") : null;
}

export function refText(bytes: Sql, fragments: SqlFragments): Sql {
  const { text, params } = bytes;
  return { text: `('sha256:' || ${fragments.hex(text)})`, params };
}

const BLOB: Kind = {
  name: "blob",
  key: ["int"],
  id: (key, fragments) => refText(sql`(SELECT sha256 FROM blobs WHERE no = ${at(key, 0)})`, fragments),
  find: (text, fragments) => {
    const bytes = refBytes(text);
    return bytes === null ? null : [sql`(SELECT no FROM blobs WHERE sha256 = ${cast(bytes, "bytes", fragments)})`];
  },
  order: (key, fragments) => [BLOB.id(key, fragments)],
};

const BOARD = named("board");

export const KINDS: Readonly<Record<KindName, Kind>> = {
  session: SESSION,
  alias: named("alias"),
  branch: within("branch", "~"),
  event: within("event", "#"),
  message: within("message", "#"),
  turn: within("turn", "#"),
  eval: within("eval", "#"),
  call: within("call", "#"),
  snapshot: within("snapshot", "#"),
  head: numbered("head", "heads"),
  invocation: within("invocation", "#"),
  derivation: within("derivation", "#"),
  state: under("state", SESSION),
  board: BOARD,
  capture: named("capture"),
  task: under("task", BOARD),
  agent: numbered("agent", "agents"),
  block: named("block"),
  version: VERSION,
  blob: BLOB,
  run: named("run"),
  signal: within("signal", "#"),
  decision: within("decision", "#"),
  step: within("step", "#"),
  checkpoint: within("checkpoint", "#"),
};
