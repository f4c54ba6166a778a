// The verbs of the store itself.
import type { CheckProgress } from "../check.ts";
import { type ReindexProgress, TEXT_LANGUAGES } from "../text-index.ts";
import { EVENT_RANGE } from "./log.ts";
import {
  callback,
  checked,
  choice,
  LOCATOR,
  limit,
  local,
  optional,
  options,
  orElse,
  param,
  ROW_ID,
  read,
  SIGNAL,
  whole,
  write,
} from "./vocabulary.ts";

const AT = param("at", LOCATOR);

export const STATS_VERBS = {
  stats: read(param("options", options({ sessions: limit("page", 10) }))),
};

const QUERY = [
  param("query", checked<string | object>("query")),
  param("inputs", optional(checked<readonly unknown[]>("inputs of a query"))),
  param(
    "options",
    options({
      limit: optional(whole(1, 1_000_000)),
      timeoutMs: orElse(whole(1, 3_600_000), 10_000),
      maxRows: orElse(whole(1, 1_000_000), 1_000_000),
    }),
  ),
] as const;

export const QUERY_VERBS = {
  query: read(...QUERY),
  explain: read(...QUERY),
  facts: read(),
};

export const TRACE_VERBS = {
  trace: read(AT, EVENT_RANGE),
  causes: read(param("event", ROW_ID), param("options", options({ limit: limit("causes", 100) }))),
};

export const CHECK_VERBS = {
  check: read(
    param(
      "options",
      options({
        mode: orElse(choice(["deep", "quick"]), "deep"),
        session: optional(LOCATOR),
        onProgress: optional(callback<(progress: CheckProgress) => void>()),
      }),
    ),
  ),
};

export const REINDEX_VERBS = {
  reindex: write(
    param(
      "options",
      options({
        language: optional(choice(TEXT_LANGUAGES)),
        onProgress: optional(callback<(progress: ReindexProgress) => void>()),
        signal: optional(SIGNAL),
      }),
    ),
  ),
};

export const HANDLE_VERBS = {
  clock: local(),
  close: write(),
};
