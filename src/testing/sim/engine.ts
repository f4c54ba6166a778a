// The store under a simulation. It is loaded when the first one begins: on a Node without SQLite, open() reports that,
// and importing holdfast/testing does not fail.
type Engine = {
  readonly openOn: typeof import("../../open.ts").openOn;
  readonly openSqlite: typeof import("../../storage/sql/sqlite/driver.ts").openSqlite;
};

let loaded: Engine | null = null;

/** Loads the engine once, before anything is scheduled. */
export async function loadEngine(): Promise<void> {
  if (loaded !== null) return;
  const { openOn } = await import("../../open.ts");
  // open() loads it for stores with an embedder.
  await import("../../core/embed-texts.ts");
  const { openSqlite } = await import("../../storage/sql/sqlite/driver.ts");
  loaded = { openOn, openSqlite };
}

export function engine(): Engine {
  if (loaded === null) throw new Error("bug: a simulation began before its engine was loaded");
  return loaded;
}
