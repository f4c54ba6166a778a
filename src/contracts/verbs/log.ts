// The verbs of the log.
import {
  choice,
  currentSession,
  ID,
  JSON_OBJECT,
  LOCATOR,
  limit,
  list,
  optional,
  options,
  orElse,
  param,
  read,
  SIGNAL,
  stream,
  whole,
  write,
} from "./vocabulary.ts";

const AT = param("at", LOCATOR);
const TYPES = optional(list(ID, "page"));
/** Other fields are ignored: a report of log.verify() is an anchor too. */
const anchor = (prefix: string) =>
  optional({
    kind: "record",
    prefix,
    isOpen: true,
    fields: { session: ID, seq: whole(), hash: { kind: "digest" } },
  } as const);

/** Of a log, and of a trace of it. */
export const EVENT_RANGE = param(
  "range",
  options({ after: orElse(whole(), 0), limit: limit("eventsPage", 1000), types: TYPES }),
);

export const LOG_VERBS = {
  read: read(AT, EVENT_RANGE),
  tail: stream(
    AT,
    param(
      "options",
      options({ after: orElse({ ...whole(), orText: "end" as const }, 0), types: TYPES, signal: optional(SIGNAL) }),
    ),
  ),
  verify: read(
    AT,
    param(
      "options",
      options({ from: anchor("from"), anchor: anchor("anchor"), inherited: orElse(choice(["all", "deleted"]), "all") }),
    ),
  ),
  anchor: read(AT),
  note: read(AT, param("seq", whole())),
  annotate: write(
    param("session", currentSession("a note is added")),
    param("note", JSON_OBJECT),
    param("options", options({ agent: optional(ID), run: optional(ID) })),
  ),
};
