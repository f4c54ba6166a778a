// Small facts of the whole store that belong to no session: which model embeds, who embeds now. They are texts in the table of the store's
// facts, replaced by compare-and-set.
import type { Guard } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { STORE_LOCK } from "../core/session-guards.ts";

export async function readFact(storage: Storage, name: string): Promise<string | null> {
  const [row] = await storage.query("claim.get", { name });
  return row?.value ?? null;
}

/** The fact is still as it was read. */
function factGuards(name: string, was: string | null): readonly Guard[] {
  return [STORE_LOCK, { check: "claim.value", key: [name], expect: was }];
}

/** False: another process has changed the fact in the meantime. */
export async function replaceFact(
  storage: Storage,
  name: string,
  was: string | null,
  text: string | null,
): Promise<boolean> {
  const write =
    text === null
      ? ({ op: "run", statement: "claim.remove", params: [name] } as const)
      : ({ op: "run", statement: "claim.put", params: [name, text] } as const);
  const outcome = await storage.commit({ guards: factGuards(name, was), writes: [write] });
  return outcome.ok;
}
