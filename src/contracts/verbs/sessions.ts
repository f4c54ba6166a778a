// The verbs of sessions.
import type { ContextOptions } from "../context.ts";
import type { Sessions } from "../sessions.ts";
import {
  BOOLEAN,
  callback,
  checked,
  choice,
  currentSession,
  ID,
  input,
  JSON_OBJECT,
  LOCATOR,
  limit,
  nullable,
  optional,
  options,
  orElse,
  PAGE,
  param,
  ROW_ID,
  read,
  readLive,
  readPage,
  record,
  set,
  streamBytes,
  text,
  whole,
  write,
} from "./vocabulary.ts";

const described = {
  id: optional(ID),
  agent: optional(ID),
  title: optional(text("titleBytes")),
  tags: optional(set(ID, "tags")),
  metadata: optional(JSON_OBJECT),
  request: optional(ID),
};

/** A session that is to be created. */
export const NEW_SESSION = optional(record("session", { ...described, origin: optional(ID), cacheId: optional(ID) }));
const STATUS = choice(["open", "closed"]);

/** What an invocation says of itself. */
export const INVOCATION_FIELDS = {
  label: optional(text("titleBytes")),
  call: optional(ROW_ID),
  session: NEW_SESSION,
};
export const ATTACH_FIELDS = { mode: choice(["continue", "branch"]), ...INVOCATION_FIELDS };
export const CALLER = currentSession("an invocation begins");

export const CONTEXT_OPTIONS = options({
  agent: optional(ID),
  budget: orElse(whole(), null),
  tokenizer: optional(callback<NonNullable<ContextOptions["tokenizer"]>>()),
  blocks: optional(checked<NonNullable<ContextOptions["blocks"]>>("true, false, or an agent and labels of blocks")),
  memory: optional(checked<NonNullable<ContextOptions["memory"]>>("a query, or an object with a query")),
});

const AT = param("at", LOCATOR);

export const SESSION_VERBS = {
  create: write(param("session", NEW_SESSION)),
  get: read(AT),
  list: readPage(
    param(
      "filter",
      options({
        ...PAGE,
        agent: optional(ID),
        tag: optional(ID),
        status: orElse(STATUS, null),
        request: optional(ID),
        createdAfter: orElse(whole(), 0),
        createdBefore: orElse(whole(), Number.MAX_SAFE_INTEGER),
      }),
    ),
  ),
  update: write(
    param("session", currentSession("a session is changed")),
    param(
      "patch",
      input({
        title: optional(nullable(text("titleBytes"))),
        status: optional(STATUS),
        tags: optional(set(ID, "tags")),
        metadata: optional(JSON_OBJECT),
        request: optional(nullable(ID)),
        version: optional(whole(1)),
      }),
    ),
  ),
  setAlias: write(
    param("session", currentSession("a name points at a session")),
    param("alias", ID),
    param("options", options({ move: orElse(BOOLEAN, false) })),
  ),
  removeAlias: write(param("alias", ID)),
  delete: write(
    param("session", currentSession("a session is erased")),
    param("options", options({ everywhere: orElse(BOOLEAN, false) })),
  ),
  at: readLive(AT),
  fork: write(AT, param("fork", optional(record("fork", { ...described, message: optional(ROW_ID) })))),
  resume: write(AT),
  rewind: write(AT),
  attach: write(AT, param("attach", record("attach", { caller: CALLER, ...ATTACH_FIELDS }))),
  context: read(AT, param("options", CONTEXT_OPTIONS)),
};

/** Of whole sessions: their code is loaded with the first call of one of them. */
export const ARCHIVE_VERBS = {
  export: streamBytes(
    AT,
    param("options", options({ children: orElse(BOOLEAN, false), aliases: orElse(BOOLEAN, true) })),
  ),
  import: write(param("source", checked<Parameters<Sessions["import"]>[0]>("an archive, whole or in pieces"))),
  markdown: read(AT),
  diff: read(param("a", LOCATOR), param("b", LOCATOR)),
  cost: read(param("at", optional(LOCATOR))),
  tree: read(param("at", optional(LOCATOR)), param("options", options({ limit: limit("page", 100) }))),
};
