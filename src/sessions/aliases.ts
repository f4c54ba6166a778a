// Aliases: further names of sessions. Each is recorded in the log of its session.
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
      const gone = alias.session === "" ? "Its session was deleted; pass" : "Pass";
      throw nameTaken(name, alias.session, `${gone} move: true to point it here.`);
    }
    const at = storage.environment.now();
    const holder = alias === undefined || alias.session === "" ? null : alias.session;
    return {
      commit: {
        sessions: [
          { id, mode: "existing", at },
          ...(holder === null ? [] : [{ id: holder, mode: "lock", at } as const]),
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
              // The alias of a deleted session may have belonged to this session before.
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

/** The session's row has the number of its aliases, so that the checker notices a lost one. */
function countAliases(more: 1 | -1, session: string): Write {
  return { op: "run", statement: "session.countAliases", params: [more, { session }] };
}

function recountAliases(session: string): Write {
  return { op: "run", statement: "session.recountAliases", params: [{ session }] };
}

function nameTaken(name: string, session: string, hint: string): HoldfastError {
  const holder = session === "" ? {} : { session };
  return new HoldfastError("AlreadyExists", `the alias ${JSON.stringify(name)} is taken`, {
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
    // A deleted session has no log for the event.
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
