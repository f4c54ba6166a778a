// The facts of sessions: their log, messages, turns, evals, calls, snapshots, heads, invocations and derivations.
import type { SqlFragments } from "../contracts/storage/storage.ts";
import {
  type Attribute,
  derived,
  facts,
  found,
  identity,
  instant,
  int,
  keyword,
  link,
  many,
  maybe,
  maybeTo,
  payload,
  type Source,
  text,
  to,
  usd,
  utf8Text,
} from "./facts.ts";
import { shownMessages } from "./shown-messages.ts";

const SESSIONS: Source = {
  table: "sessions",
  entity: ["no"],
  unique: ["no"],
  where: (a) => `${a}.deleted_at IS NULL`,
};
const EVENTS: Source = { table: "events", entity: ["session_no", "seq"], unique: ["session_no", "seq"] };
/** A message with erased content has no message facts except `:message/erased`; its event facts stay. */
const MESSAGES: Source = { ...EVENTS, where: (a) => `${a}.agent_no IS NOT NULL AND ${a}.erased_seq IS NULL` };

/** Rows that are versions of an entity: the row with the highest seq is the current one. */
function newest(table: string): Source {
  return {
    table,
    entity: ["session_no", "first_seq"],
    unique: ["session_no", "first_seq"],
    where: (a) =>
      `NOT EXISTS (SELECT 1 FROM ${table} newer WHERE newer.session_no = ${a}.session_no ` +
      `AND newer.first_seq = ${a}.first_seq AND newer.seq > ${a}.seq)`,
  };
}

/** Tables with one row per event. */
function ofEvent(table: string, where?: Source["where"]): Source {
  return {
    table,
    entity: ["session_no", "seq"],
    unique: ["session_no", "seq"],
    ...(where === undefined ? {} : { where }),
  };
}

/** Tables with any number of rows per event. */
function ofEvents(table: string): Source {
  return { table, entity: ["session_no", "seq"], unique: null };
}

/** The turn that was open when the event happened. */
const turnOf = (seq: string) => (a: string) =>
  `(SELECT max(t.first_seq) FROM turns t WHERE t.session_no = ${a}.session_no AND t.first_seq <= ${a}.${seq} ` +
  `AND t.branch = ${a}.branch AND NOT EXISTS (SELECT 1 FROM turns e WHERE e.session_no = t.session_no ` +
  `AND e.first_seq = t.first_seq AND e.seq > t.first_seq AND e.seq < ${a}.${seq} AND e.status <> 'open'))`;

/** How the data of a message begins in its event when a model call wrote it: keys stand in the order of their names. */
const WITH_CALL = '"data":{"call":';

/** The number that follows, up to the next key: `"role"` follows always. */
const callOf = (a: string, own: SqlFragments): string => {
  const body = own.utf8(`${a}.body`);
  const at = own.position(body, `'${WITH_CALL}'`);
  const rest = `substr(${body}, ${at} + ${WITH_CALL.length})`;
  const digits = `substr(${rest}, 1, ${own.position(rest, "','")} - 1)`;
  return `CASE WHEN ${at} > 0 THEN CAST(${digits} AS ${own.int}) END`;
};

/** The newest earlier head of the same branch. */
const headBefore = (seq: string) => (a: string) =>
  `(SELECT h.no FROM heads h WHERE h.session_no = ${a}.session_no AND h.branch = ${a}.branch AND h.seq < ${a}.${seq} ` +
  "ORDER BY h.seq DESC LIMIT 1)";

const varsOf = (session: string, seq: string) => (a: string) =>
  `(SELECT b.sha256 FROM snapshots s JOIN blobs b ON b.no = s.vars WHERE s.session_no = ${a}.${session} ` +
  `AND s.seq = ${a}.${seq})`;

const sessionFacts = () =>
  facts("session", SESSIONS, {
    id: identity("session", ["no"], "id"),
    "cache-id": maybe(text("cache_id"), "cache_id"),
    title: utf8Text("title"),
    status: keyword("status"),
    kind: keyword("kind"),
    origin: maybe(text("origin"), "origin"),
    request: maybe(text("request"), "request"),
    agent: maybeTo("agent", "agent_no"),
    "created-at": instant("created_at"),
    "updated-at": instant("updated_at"),
    "current-head": maybeTo("head", "head_no"),
    branch: int("branch"),
    seq: int("seq"),
    "message-count": { ...int("messages"), value: (a, own) => [shownMessages(a, own)] },
    version: int("version"),
  });

const aroundFacts = () => [
  ...facts(
    "session",
    { table: "session_tags", entity: ["session_no"], unique: ["tag", "session_no"] },
    {
      tag: many(text("tag")),
    },
  ),
  ...facts(
    "alias",
    { table: "aliases", entity: ["name"], unique: ["name"] },
    {
      name: identity("alias", ["name"], "name"),
      session: to("session", "session_no"),
      "created-at": instant("created_at"),
    },
  ),
  ...facts(
    "branch",
    { table: "branches", entity: ["session_no", "branch"], unique: ["session_no", "branch"] },
    {
      id: identity("branch", ["session_no", "branch"]),
      session: to("session", "session_no"),
      number: int("branch"),
      "parent-session": to("session", "parent_session_no"),
      "parent-branch": to("branch", "parent_session_no", "parent_branch"),
      "cut-seq": int("cut_seq"),
      "created-at": instant("at"),
    },
  ),
];

const eventFacts = () =>
  facts("event", EVENTS, {
    id: identity("event", ["session_no", "seq"]),
    session: to("session", "session_no"),
    seq: int("seq"),
    branch: int("branch"),
    type: keyword("type"),
    at: instant("at"),
    "row-kind": derived("keyword", (a, own) => {
      const slash = own.position(`${a}.type`, "'/'");
      return `CASE WHEN ${slash} = 0 THEN ${a}.type ELSE substr(${a}.type, 1, ${slash} - 1) END`;
    }),
  });

const OF_TURNS =
  "(SELECT session_no, seq, first_seq AS turn_seq FROM turns " +
  "UNION ALL SELECT session_no, seq, turn_seq FROM evals WHERE turn_seq IS NOT NULL " +
  "UNION ALL SELECT session_no, seq, turn_seq FROM calls WHERE turn_seq IS NOT NULL " +
  "UNION ALL SELECT session_no, seq, turn_seq FROM snapshots WHERE turn_seq IS NOT NULL)";
const WITH_STATUS = ["turns", "evals", "calls", "invocations"]
  .map((table) => `SELECT session_no, seq, status FROM ${table}`)
  .join(" UNION ALL ");
const ROWS = [
  ...["turns", "evals", "calls", "invocations"].map((table) => `SELECT session_no, seq, first_seq AS n FROM ${table}`),
  ...["snapshots", "derivations"].map((table) => `SELECT session_no, seq, seq AS n FROM ${table}`),
  "SELECT session_no, seq, seq AS n FROM events WHERE agent_no IS NOT NULL",
].join(" UNION ALL ");

/** The rows that an event wrote have its seq. */
const rowFacts = () => [
  ...facts("event", ofEvents(`(${ROWS})`), {
    "row-id": many(
      derived(
        "text",
        (a, own) =>
          `((SELECT id FROM sessions WHERE no = ${a}.session_no) || '#' || CAST(${a}.n AS ${own.text}))${own.collate}`,
      ),
    ),
  }),
  ...facts("event", ofEvents(OF_TURNS), link("turn", many(to("turn", "session_no", "turn_seq")))),
  ...facts("event", ofEvents(`(${WITH_STATUS})`), { status: many(keyword("status")) }),
  ...facts(
    "event",
    ofEvent("events", (a) => `${a}.agent_no IS NOT NULL`),
    link("message", to("message", "session_no", "seq")),
  ),
  ...facts("event", ofEvent("evals"), link("eval", to("eval", "session_no", "first_seq"))),
  ...facts("event", ofEvent("calls"), link("call", to("call", "session_no", "first_seq"))),
  ...facts("event", ofEvent("snapshots"), link("snapshot", to("snapshot", "session_no", "seq"))),
  ...facts("event", ofEvents("heads"), link("head", many(to("head", "no")))),
  ...facts("event", ofEvent("invocations"), link("invocation", to("invocation", "session_no", "first_seq"))),
  ...facts("event", ofEvent("derivations"), {
    ...link("source-session", to("session", "source_session_no")),
    ...link("source-head", maybeTo("head", "source_head")),
  }),
  ...facts("event", ofEvent("annotations"), { "payload-ref": payload("payload") }),
];

const messageFacts = () => [
  ...facts("message", MESSAGES, {
    id: identity("message", ["session_no", "seq"]),
    session: to("session", "session_no"),
    ...link("turn", found("turn", ["session_no"], turnOf("seq"))),
    seq: int("seq"),
    branch: int("branch"),
    agent: to("agent", "agent_no"),
    role: keyword("role"),
    run: maybe(text("run"), "run"),
    ...link("call", found("call", ["session_no"], callOf)),
    key: maybe(text("key"), "key"),
    "content-ref": maybe({ ...text("sha256"), type: { is: "ref" } }, "sha256"),
    "char-count": maybe(int("chars"), "chars"),
    "created-at": instant("at"),
  }),
  ...facts(
    "message",
    ofEvent("events", (a) => `${a}.agent_no IS NOT NULL AND ${a}.erased_seq IS NOT NULL`),
    {
      erased: derived("boolean", () => "1"),
    },
  ),
];

const turnFacts = () =>
  facts("turn", newest("turns"), {
    id: identity("turn", ["session_no", "first_seq"]),
    session: to("session", "session_no"),
    seq: int("first_seq"),
    branch: int("branch"),
    status: keyword("status"),
    agent: maybeTo("agent", "agent_no"),
    run: maybe(text("run"), "run"),
    head: found(
      "head",
      [],
      (a) =>
        `(SELECT max(h.no) FROM heads h WHERE h.session_no = ${a}.session_no AND h.turn_seq = ${a}.first_seq ` +
        `AND h.seq >= ${a}.first_seq)`,
    ),
    "updated-at": instant("at"),
  });

const evalFacts = () =>
  facts("eval", newest("evals"), {
    id: identity("eval", ["session_no", "first_seq"]),
    session: to("session", "session_no"),
    seq: int("first_seq"),
    branch: int("branch"),
    ...link("turn", maybeTo("turn", "session_no", "turn_seq")),
    ...link("message", maybeTo("message", "session_no", "message_seq")),
    status: keyword("status"),
    "code-ref": payload("code"),
    "result-ref": payload("result"),
    "final-ref": payload("final"),
    "error-ref": payload("error"),
    "updated-at": instant("at"),
    erased: derived("boolean", (a) => `CASE WHEN ${a}.erased_seq IS NOT NULL THEN 1 END`),
  });

const callFacts = () =>
  facts("call", newest("calls"), {
    id: identity("call", ["session_no", "first_seq"]),
    session: to("session", "session_no"),
    seq: int("first_seq"),
    branch: int("branch"),
    head: found("head", [], headBefore("first_seq")),
    ...link("turn", maybeTo("turn", "session_no", "turn_seq")),
    type: keyword("type"),
    status: keyword("status"),
    "request-ref": payload("request"),
    "response-ref": payload("response"),
    "result-ref": payload("result"),
    "error-ref": payload("error"),
    model: maybe(text("model"), "model"),
    provider: maybe(text("provider"), "provider"),
    "input-tokens": maybe(int("tokens_in"), "tokens_in"),
    "output-tokens": maybe(int("tokens_out"), "tokens_out"),
    "cached-tokens": maybe(int("tokens_cached"), "tokens_cached"),
    "cost-usd": maybe(usd("cost_usd"), "cost_usd"),
    "created-at": instant("created_at"),
    "completed-at": maybe(instant("completed_at"), "completed_at"),
    erased: derived("boolean", (a) => `CASE WHEN ${a}.erased_seq IS NOT NULL THEN 1 END`),
  });

const snapshotFacts = () =>
  facts("snapshot", ofEvent("snapshots"), {
    id: identity("snapshot", ["session_no", "seq"]),
    session: to("session", "session_no"),
    seq: int("seq"),
    branch: int("branch"),
    ...link("turn", maybeTo("turn", "session_no", "turn_seq")),
    "vars-ref": payload("vars"),
    "created-at": instant("at"),
    erased: derived("boolean", (a) => `CASE WHEN ${a}.erased_seq IS NOT NULL THEN 1 END`),
  });

const headFacts = () =>
  facts(
    "head",
    { table: "heads", entity: ["no"], unique: ["no"] },
    {
      id: identity("head", ["no"], "id"),
      session: to("session", "session_no"),
      seq: int("seq"),
      branch: int("branch"),
      basis: maybeTo("head", "basis_no"),
      status: keyword("status"),
      fingerprint: maybe(text("fingerprint"), "fingerprint"),
      // A head's id commits to everything at its position, so the state needs no other payload.
      "state-ref": text("id"),
      "state-version": derived("int", (_, own) => `CAST(1 AS ${own.int})`),
      "final-ref": payload("final"),
      "final-summary": utf8Text("final_summary"),
      ...link("snapshot", maybeTo("snapshot", "session_no", "snapshot_seq")),
      "snapshot-ref": derived("ref", varsOf("session_no", "snapshot_seq")),
      "created-at": instant("at"),
      ...link("turn", maybeTo("turn", "session_no", "turn_seq")),
      "cache-id": maybe(text("cache_id"), "cache_id"),
    },
  );

const INVOCATIONS = newest("invocations");
const invocationFacts = () => [
  ...facts("invocation", INVOCATIONS, {
    id: identity("invocation", ["session_no", "first_seq"]),
    seq: int("first_seq"),
    type: keyword("type"),
    status: keyword("status"),
    "caller-session": to("session", "session_no"),
    "caller-head-before": maybeTo("head", "caller_head_before"),
    "caller-head-after": maybeTo("head", "caller_head_after"),
    "callee-session": maybeTo("session", "callee_session_no"),
    "callee-head-before": maybeTo("head", "callee_head_before"),
    "callee-head-after": maybeTo("head", "callee_head_after"),
    ...link("call", maybeTo("call", "session_no", "call_seq")),
    label: utf8Text("label"),
    "created-at": instant("created_at"),
    "completed-at": maybe(instant("completed_at"), "completed_at"),
  }),
  ...facts("invocation", INVOCATIONS, {
    "source-session": maybeTo("session", "source_session_no"),
    "source-head": maybeTo("head", "source_head"),
    "source-snapshot-ref": derived("ref", varsOf("source_session_no", "source_snapshot_seq")),
    "source-fingerprint": maybe(text("source_fingerprint"), "source_fingerprint"),
    // Invocations of the type attach have additional names for their source.
  }).map((attribute) => ({ ...attribute, name: attribute.name.replace(":invocation/", ":attach/") })),
];

const derivationFacts = () =>
  facts("derivation", ofEvent("derivations"), {
    id: identity("derivation", ["session_no", "seq"]),
    type: keyword("type"),
    "source-session": to("session", "source_session_no"),
    "source-head": maybeTo("head", "source_head"),
    "source-branch": to("branch", "source_session_no", "source_branch"),
    "source-seq": int("source_seq"),
    "target-session": to("session", "session_no"),
    "created-at": instant("at"),
  });

const stateFacts = () =>
  facts(
    "state",
    {
      table: "state",
      entity: ["session_no", "key"],
      unique: ["session_no", "key"],
      where: (a) =>
        `${a}.until_seq IS NULL AND ${a}.value IS NOT NULL ` +
        `AND ${a}.branch = (SELECT s.branch FROM sessions s WHERE s.no = ${a}.session_no)`,
    },
    {
      session: to("session", "session_no"),
      key: text("key"),
      "value-ref": payload("value"),
      seq: int("seq"),
      "expires-at": maybe(instant("expires_at"), "expires_at"),
    },
  );

export const sessionAttributes = (): readonly Attribute[] => [
  ...sessionFacts(),
  ...aroundFacts(),
  ...eventFacts(),
  ...rowFacts(),
  ...messageFacts(),
  ...turnFacts(),
  ...evalFacts(),
  ...callFacts(),
  ...snapshotFacts(),
  ...headFacts(),
  ...invocationFacts(),
  ...derivationFacts(),
  ...stateFacts(),
];
