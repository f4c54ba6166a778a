// The verbs of history.
import type { MessageInput } from "../messages.ts";
import {
  checked,
  ID,
  limit,
  list,
  optional,
  options,
  orElse,
  param,
  read,
  sessionId,
  whole,
  write,
} from "./vocabulary.ts";

const READ = sessionId(
  "a history is read",
  "sessions.at() shows messages and state at a head; sessions.fork() continues from one.",
);
/** A message may be given as the scope of others: fields that are none of its own are ignored. */
const scope = (session: ReturnType<typeof sessionId>) =>
  param("scope", { kind: "record", prefix: "scope", fields: { session, agent: ID }, isOpen: true } as const);
const ADDED = scope(sessionId("messages are added"));
const CLEARED = scope(sessionId("messages are cleared"));
const MESSAGE = checked<MessageInput<object>>("message");
const RUN = param("options", options({ run: optional(ID) }));
export const HISTORY_RANGE = options({
  limit: optional({ kind: "limit", limit: "historyPage" }),
  offset: optional(whole()),
  after: optional(checked<number | string>("seq or message id")),
  since: optional(whole()),
  last: optional({ kind: "limit", limit: "historyPage" }),
  run: optional(ID),
});
const RANGE = param("range", HISTORY_RANGE);

export const HISTORY_VERBS = {
  append: write(ADDED, param("message", MESSAGE), RUN),
  appendMany: write(ADDED, param("messages", list(MESSAGE, "messagesPerAppend")), RUN),
  get: read(scope(READ), RANGE),
  count: read(scope(READ), param("range", options({ run: optional(ID) }))),
  clear: write(CLEARED),
  clearRun: write(CLEARED, param("run", ID)),
  session: read(param("session", READ), RANGE),
  byAgent: read(
    param("agent", ID),
    param(
      "range",
      options({
        limit: limit("historyPage", 1000),
        since: orElse(whole(), 0),
        until: orElse(whole(), Number.MAX_SAFE_INTEGER),
      }),
    ),
  ),
};
