// A storage like another one, in which some verbs do something else. Storages are classes, so a spread would lose their methods.
import type { Storage } from "../contracts/storage/storage.ts";

export function wrapStorage(storage: Storage, other: Partial<Pick<Storage, "commit" | "query">>): Storage {
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
    ...other,
  };
}
