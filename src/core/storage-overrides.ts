// A storage with some verbs replaced, for code between the rules and the storage.
import type { Storage } from "../contracts/storage/storage.ts";

/** Copies verb by verb: a storage is an instance of a class, and a spread would not copy its methods. */
export function overrideStorage(storage: Storage, overrides: Partial<Pick<Storage, "commit" | "query">>): Storage {
  return {
    engine: storage.engine,
    fragments: storage.fragments,
    environment: storage.environment,
    commit: (commit) => storage.commit(commit),
    query: (name, params) => storage.query(name, params),
    inspect: (sql, params, limits) => storage.inspect(sql, params, limits),
    waitForChange: (session, timeoutMs, signal) => storage.waitForChange(session, timeoutMs, signal),
    follow: (session) => storage.follow(session),
    reclaim: () => storage.reclaim(),
    rewrite: () => storage.rewrite(),
    examine: () => storage.examine(),
    size: () => storage.size(),
    close: () => storage.close(),
    ...overrides,
  };
}
