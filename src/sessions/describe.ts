// The description of a session: checks it, writes it with the event that creates or changes the session, and reads it
// from the row.
import type { JsonObject } from "../contracts/json.ts";
import type { Session } from "../contracts/session.ts";
import type { Commit, Outcome, Write } from "../contracts/storage/commit.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { NEW_SESSION } from "../contracts/verbs/sessions.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { decodeRow, digest, jsonObject, jsonTexts, oneOf, optional, text, utf8, whole } from "../core/decode.ts";

const STATUSES: readonly Session["status"][] = ["open", "closed"];
const KINDS: readonly Session["kind"][] = ["entry", "spawned", "attached"];

/** The columns that update() can change. */
export interface SessionColumns {
  readonly agent: string | null;
  readonly title: Uint8Array | null;
  readonly status: Session["status"];
  readonly tags: readonly string[];
  readonly metadata: Uint8Array | null;
  readonly request: string | null;
}

/** Fields that are set once, at creation. */
export interface SessionOrigin {
  readonly kind: Session["kind"];
  readonly origin: string | null;
  /** null stands for the session's id. */
  readonly cacheId: string | null;
}

/** The caller's description of a new session, checked. */
export type NewSession = ValueOf<typeof NEW_SESSION>;

export function describeSession({ agent, title, tags, metadata, request }: Omit<NewSession, "id">): SessionColumns {
  return {
    agent: agent ?? null,
    title: title === undefined ? null : encodeText(title),
    status: "open",
    tags: tags ?? [],
    metadata: metadata === undefined ? null : encodeJson(metadata, "session.metadata", "metadataBytes"),
    request: request ?? null,
  };
}

const SESSION = {
  agent: optional(text),
  title: optional(utf8),
  status: oneOf(STATUSES),
  tags: optional(jsonTexts),
  metadata: optional(jsonObject),
  request: optional(text),
  kind: oneOf(KINDS),
  origin: optional(text),
  cache_id: optional(text),
  head: optional(text),
  created_at: whole,
  updated_at: whole,
  seq: whole,
  chain: digest,
  messages: whole,
  version: whole,
};

export function sessionOf(row: Omit<SessionRow, "no" | "branch">, aliases: readonly string[]): Session {
  const found = decodeRow({ kind: "session", session: row.id }, row, SESSION);
  return {
    id: row.id,
    agent: found.agent,
    title: found.title,
    status: found.status,
    tags: found.tags ?? [],
    aliases,
    metadata: found.metadata ?? {},
    request: found.request,
    kind: found.kind,
    origin: found.origin,
    cacheId: found.cache_id ?? row.id,
    head: found.head,
    createdAt: found.created_at,
    updatedAt: found.updated_at,
    seq: found.seq,
    chain: toHex(found.chain),
    messages: found.messages,
    version: found.version,
  };
}

export function tagsColumn(tags: readonly string[]): Uint8Array | null {
  return tags.length === 0 ? null : encodeText(JSON.stringify(tags));
}

export function describeWrites(described: SessionColumns, version: number): Write[] {
  return [
    {
      op: "run",
      statement: "session.describe",
      params: [
        described.agent === null ? null : { agent: described.agent },
        described.title,
        described.status,
        tagsColumn(described.tags),
        described.metadata,
        described.request,
        version,
        // Repeated for the checksum.
        described.title,
        described.status,
        described.metadata,
        version,
        { slot: "session" },
      ],
    },
    { op: "run", statement: "session.untag", params: [{ slot: "session" }] },
    ...described.tags.map((tag): Write => ({ op: "insert", table: "session_tags", row: { tag } })),
  ];
}

/** The data of the event: small facts of the description, never its texts. */
export function changes(described: SessionColumns): { readonly status: string; readonly tags: readonly string[] } {
  return { status: described.status, tags: described.tags };
}

/** The further fields of a session that continues another one. */
export interface DerivedStart {
  /** The source, for the event's data. */
  readonly data: JsonObject;
  /** Writes of the event that creates the session. */
  readonly branch: readonly Write[];
}

export function createCommit(
  id: string,
  described: SessionColumns,
  birth: SessionOrigin,
  at: number,
  derived?: DerivedStart,
): Commit {
  const { agent } = described;
  const by = agent === null ? {} : { agent };
  const { kind, origin, cacheId } = birth;
  const plain = kind === "entry" && origin === null && cacheId === null;
  const born: Write = { op: "run", statement: "session.born", params: [kind, origin, cacheId, { slot: "session" }] };
  return {
    sessions: [{ id, mode: "create", at, ...by }],
    agents: agent === null ? [] : [{ id: agent, at }],
    events: [
      {
        session: id,
        type: "session/created",
        at,
        ...by,
        data: {
          ...changes(described),
          request: described.request,
          ...(kind === "entry" ? {} : { kind }),
          ...(origin === null ? {} : { origin }),
          ...(cacheId === null ? {} : { cacheId }),
          ...derived?.data,
        },
        writes: [...describeWrites(described, 1), ...(plain ? [] : [born]), ...(derived?.branch ?? [])],
      },
    ],
  };
}

export function createdSession(
  id: string,
  described: SessionColumns,
  birth: SessionOrigin,
  at: number,
  events: Extract<Outcome, { ok: true }>["events"],
): Session {
  const { seq, hash } = events.findLast(({ session }) => session === id) ?? { seq: 0, hash: new Uint8Array(32) };
  const times = { created_at: at, updated_at: at, deleted_at: null };
  const log = { seq, chain: hash, messages: 0, state_seq: 0, version: 1 };
  const from = { kind: birth.kind, origin: birth.origin, cache_id: birth.cacheId, head: null };
  return sessionOf({ id, ...described, tags: tagsColumn(described.tags), ...times, ...log, ...from }, []);
}
