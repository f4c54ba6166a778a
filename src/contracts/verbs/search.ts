// The verbs of search.
import type { Role } from "../messages.ts";
import type { SearchHit } from "../search.ts";
import {
  BOOLEAN,
  callback,
  choice,
  ID,
  LOCATOR,
  optional,
  options,
  orElse,
  param,
  read,
  SIGNAL,
  text,
  whole,
} from "./vocabulary.ts";

type Rerank = (query: string, hits: readonly SearchHit[]) => readonly number[] | Promise<readonly number[]>;

const ROLES = ["user", "assistant", "system", "tool", "developer"] as const satisfies readonly Role[];

export const SEARCH_VERBS = {
  search: read(
    param("query", text("searchBytes")),
    param(
      "options",
      options({
        session: optional(LOCATOR),
        request: optional(ID),
        tag: optional(ID),
        agent: optional(ID),
        role: optional(choice(ROLES)),
        tool: optional(ID),
        since: optional(whole()),
        until: optional(whole()),
        rewound: orElse(BOOLEAN, false),
        limit: optional({ kind: "limit", limit: "page" }),
        perSession: optional(whole(1)),
        tokens: optional(whole(1)),
        neighbours: orElse(whole(0, 20), 0),
        rerank: optional(callback<Rerank>()),
        signal: optional(SIGNAL),
      }),
    ),
  ),
};
