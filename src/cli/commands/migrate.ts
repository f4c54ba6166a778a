// holdfast migrate: brings a store of an older version to this version's schema, and prints both versions.
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Command, Context } from "../command-line.ts";
import { safe } from "../terminal.ts";

export const migrate: Command = {
  name: "migrate",
  summary: "bring a store to this version's schema",
  usage: ["migrate"],
  description:
    "Applies the numbered schema changes that a store of an older version lacks, each once, under a lock. " +
    "Opening a store does the same; use this command to migrate at a time you choose and to see both versions." +
    "\n\nMake a backup first. The newest writes of a SQLite store can be in agents.db-wal, next to " +
    "agents.db, so a copy of agents.db alone may lack them. Let sqlite3 make the copy (.backup, as below), or stop " +
    "all writers and copy agents.db together with agents.db-wal if there is one.",
  options: {},
  operands: [],
  examples: [
    { command: "holdfast migrate", does: "migrate ./holdfast.db" },
    {
      command: `sqlite3 agents.db ".backup copy.db" && holdfast migrate --store agents.db`,
      does: "make a backup first",
    },
  ],
  next: "holdfast verify checks the hash chains.",
  run: async (context) => {
    const before = await versionBefore(context);
    const { schemaVersion: after, engine } = (await context.open({ migrate: true })).info;
    const migrated = before !== after;
    await context.output.answer({ store: context.storeName, engine, before, after, migrated }, () => [
      migrated
        ? safe`migrated ${context.storeName} from schema ${before ?? "(older)"} to ${after}`
        : safe`${context.storeName} has schema ${after} already; nothing to do`,
    ]);
    return undefined;
  },
};

/** null: the store is older, and its version is unknown. */
async function versionBefore(context: Context): Promise<number | null> {
  try {
    return (await context.open({ migrate: false })).info.schemaVersion;
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "Conflict") throw error;
    const { found } = error.details;
    return typeof found === "number" ? found : null;
  }
}
