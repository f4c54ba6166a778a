// Aliases: names of sessions, each in the log of the session that has it.
import { HoldfastError } from "../contracts/errors.ts";
import type { Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decide } from "../core/decide.ts";
import { isReserved, reservedName } from "../core/locator.ts";
import { existingSession } from "../core/session-lookup.ts";

export async function setAlias(storage: Storage, id: string, name: string, move: boolean): Promise<void> {
  await decide<void>(storage, async () => {
    await existingSession(storage, id);
    // An alias that looks like a session's id would never be found.
    const [taken] = await storage.query("session.get", { id: name });
    if (taken !== undefined) throw nameTaken(name, taken.id, "It is a session's id; choose another name.");
    const [alias] = await storage.query("alias.get", { name });
    if (alias?.session === id) return { answer: undefined };
    if (alias === undefined && isReserved(name)) throw reservedName(name, "alias");
    if (alias !== undefined && !move) {
      const gone = alias.session === "" ? "The session it named is gone; pass" : "Pass";
      throw nameTaken(name, alias.session, `${gone} move: true to point it here.`);
    }
    const at = storage.environment.now();
    const holder = alias === undefined || alias.session === "" ? null : alias.session;
    return {
      commit: {
        sessions: [
          { id, mode: "existing", at },
          ...(holder === null ? [] : [{ id: holder, mode: "still", at } as const]),
        ],
        guards: [
          { check: "alias.session", key: [name], expect: alias?.session ?? null },
          { check: "session.id", key: [name], expect: null },
        ],
        events: [
          {
            session: id,
            type: "alias/set",
            at,
            data: { name },
            // A new name is inserted: if another commit takes it in between, the insert must fail, not replace it.
            writes: [
              { op: alias === undefined ? "insert" : "put", table: "aliases", row: { name, created_at: at } },
              // One that named nothing any more may have been lost by this very session.
              alias?.session === "" ? recountAliases(id) : countAliases(1, id),
              ...(holder === null ? [] : [countAliases(-1, holder)]),
            ],
          },
        ],
      },
      answer: () => undefined,
    };
  });
}

/** The session's row says how many names it has, so that a lost one is noticed. */
function countAliases(more: 1 | -1, session: string): Write {
  return { op: "run", statement: "session.countAliases", params: [more, { session }] };
}

function recountAliases(session: string): Write {
  return { op: "run", statement: "session.recountAliases", params: [{ session }] };
}

function nameTaken(name: string, session: string, hint: string): HoldfastError {
  const holder = session === "" ? {} : { session };
  return new HoldfastError("AlreadyExists", `the name ${JSON.stringify(name)} is taken`, {
    details: { kind: "alias", id: name, ...holder },
    hint,
  });
}

export async function removeAlias(storage: Storage, name: string): Promise<boolean> {
  return decide(storage, async () => {
    const [alias] = await storage.query("alias.get", { name });
    if (alias === undefined) return { answer: false };
    const { session } = alias;
    const at = storage.environment.now();
    const guards = [{ check: "alias.session", key: [name], expect: session }] as const;
    const gone = { op: "remove", table: "aliases", row: { name } } as const;
    // Of a session that is gone there is no log that could say so.
    if (session === "") return { commit: { guards, writes: [gone] }, answer: () => true };
    return {
      commit: {
        sessions: [{ id: session, mode: "existing", at }],
        guards,
        events: [{ session, type: "alias/removed", at, data: { name }, writes: [gone, countAliases(-1, session)] }],
      },
      answer: () => true,
    };
  });
}
