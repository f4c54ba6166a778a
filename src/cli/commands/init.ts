// holdfast init: creates a store, and does nothing else.
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Command, Context } from "../command-line.ts";
import { openIfThere } from "../store.ts";
import { facts } from "../table.ts";
import { safe } from "../terminal.ts";
import { formatTime } from "../units.ts";

export const init: Command = {
  name: "init",
  summary: "create a store",
  usage: ["init [--store URL]"],
  description:
    "Creates an empty store: one SQLite file (with -wal and -shm beside it while it is open), or the tables of a " +
    "PostgreSQL schema. The file can be read by its owner only; HOLDFAST_FILE_MODE=660 gives its group access. " +
    "init does not change an existing store. Most other commands never create one, so that a " +
    "mistake in --store leaves nothing behind. In your program, open(url) creates the store.",
  options: {},
  warnsOfExposedFiles: true,
  operands: [],
  examples: [
    { command: "holdfast init", does: "creates ./holdfast.db" },
    { command: "holdfast init --store agents.db", does: "creates agents.db" },
    { command: "HOLDFAST_STORE=postgres://me@host/db holdfast init", does: "creates the tables in PostgreSQL" },
  ],
  next: "holdfast messages add chat-1 --agent helper 'hello' writes the first message; holdfast sessions lists it.",
  run: async (context) => {
    const { holdfast, created } = await openOrCreate(context);
    const { info } = holdfast;
    const value = { created, store: context.storeName, ...info, url: context.storeName };
    await context.output.answer(value, () => [
      created ? safe`created a store at ${context.storeName}` : safe`a store exists at ${context.storeName} already`,
      "",
      ...facts(
        [
          ["engine", info.engine === "sqlite" ? "SQLite" : "PostgreSQL"],
          ["schema version", String(info.schemaVersion)],
          ["store id", info.storeId],
          ["created", formatTime(info.createdAt)],
        ],
        { ...context.output.frame, indent: 2 },
      ),
    ]);
    if (created) await context.output.note('next: `holdfast messages add chat-1 --agent helper "hello"`');
    return undefined;
  },
};

async function openOrCreate(context: Context): Promise<{ holdfast: Holdfast; created: boolean }> {
  const there = await openIfThere(context);
  return { holdfast: there ?? (await context.open({ create: true })), created: there === null };
}
