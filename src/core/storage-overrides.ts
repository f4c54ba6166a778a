// A storage of which some verbs go another way, for code that puts something between the rules and the storage.
import type { Storage } from "../contracts/storage/storage.ts";

/** Verb by verb: a storage is an instance of a class, whose methods a spread would leave behind. */
export function overrideStorage(storage: Storage, overrides: Partial<Pick<Storage, "commit" | "query">>): Storage {
  return {
    engine: storage.engine,
    fragments: storage.fragments,
    environment: storage.environment,
    commit: (commit) => storage.commit(commit),
    query: (name, params) => storage.query(name, params),
    inspect: (sql, params, limits) => storage.inspect(sql, params, limits),
    changed: (session, timeoutMs, signal) => storage.changed(session, timeoutMs, signal),
    follow: (session) => storage.follow(session),
    reclaim: () => storage.reclaim(),
    rewrite: () => storage.rewrite(),
    examine: () => storage.examine(),
    size: () => storage.size(),
    close: () => storage.close(),
    ...overrides,
  };
}
