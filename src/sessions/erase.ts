// Erasing (rule LG6): content leaves the store, the chain stays verifiable, and the caller is told what went and what
// was kept because something else still refers to it.
import type { Erasure, HistoryScope } from "../contracts/history.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { CopyRow, DiscardedRow, ErasableRow, WordsRow } from "../contracts/queries.ts";
import type { Cell, ErasedScope, Storage, Write } from "../contracts/storage.ts";
import { decide } from "../core/decide.ts";
import { currentLineage } from "../core/lineage.ts";
import { messageRowsAt } from "./view-messages.ts";

const NOTHING: Erasure = { removed: { messages: 0, blobs: 0, bytes: 0 }, kept: { blobs: 0 } };

type MessageScope = "messages" | "run" | "allMessages";

/** The statements of one scope in the order that keeps every ref alive until its row has let go. */
function erasureWrites(scope: ErasedScope, now: number, where: readonly Cell[], erase: readonly Cell[]): Write[] {
  return [...releaseWrites(scope, now, where), { op: "run", statement: `${scope}.erase`, params: erase }];
}

/** What the rows of a scope refer to goes, unless somebody else needs it; the rows still say so. */
export function releaseWrites(scope: ErasedScope, now: number, where: readonly Cell[]): Write[] {
  const unindex = (of: MessageScope): Write => ({ op: "run", statement: `${of}.unindex`, params: where });
  return [
    ...(scope === "messages" || scope === "run" || scope === "allMessages" ? [unindex(scope)] : []),
    { op: "run", statement: `${scope}.release`, params: where },
    { op: "run", statement: `${scope}.dropLinks`, params: [now, ...where] },
    { op: "run", statement: `${scope}.drop`, params: [now, ...where] },
  ];
}

export interface Tally {
  readonly rows: number;
  readonly blobs: number;
  readonly bytes: number;
  readonly kept: number;
}

/** What goes: words in the rows, and blobs to which only these rows refer, which nobody pinned and whose own time is over. */
export function tally(rows: readonly ErasableRow[], now: number, messages?: WordsRow): Tally {
  const gone = rows.filter(
    (row) => row.rows >= row.refs && row.pinned === 0 && row.expires_at !== null && row.expires_at <= now,
  );
  return {
    // Of messages all are counted, also one whose blob is missing.
    rows: messages?.n ?? rows.reduce((sum, row) => sum + row.rows, 0),
    blobs: gone.length,
    // What is kept in parts has no bytes of its own; its size says what goes.
    bytes: gone.reduce((sum, row) => sum + (row.form < 2 ? row.stored : row.size), messages?.bytes ?? 0),
    kept: rows.length - gone.length,
  };
}

export async function eraseMessages(
  storage: Storage,
  payloads: Payloads,
  scope: HistoryScope,
  run: string | undefined,
): Promise<Erasure> {
  let later: readonly DiscardedRow[] = [];
  const erasure = await decide<Erasure>(storage, async () => {
    const [session] = await storage.query("session.get", scope.session);
    const [agent] = await storage.query("agent.get", scope.agent);
    if (session === undefined || session.deleted_at !== null || agent === undefined) return { answer: NOTHING };
    const upTo = session.seq;
    // Counted before the rows are read: a clear in between then makes the guard fail, whatever it took.
    const live = await countLive(storage, scope, upTo);
    const at = storage.environment.now();
    const [rows, named, [words], copies] = await Promise.all(
      run === undefined
        ? ([
            storage.query("messages.erasable", session.no, agent.no, upTo),
            storage.query("messages.named", session.no, agent.no, upTo),
            storage.query("messages.words", session.no, agent.no, upTo),
            storage.query("messages.copies", at, session.no, agent.no, upTo),
          ] as const)
        : ([
            storage.query("run.erasable", session.no, agent.no, run, upTo),
            storage.query("run.named", session.no, agent.no, run, upTo),
            storage.query("run.words", session.no, agent.no, run, upTo),
            storage.query("run.copies", at, session.no, agent.no, run, upTo),
          ] as const),
    );
    later = [...rows.filter(goesLater), ...named, ...copies];
    const sum = tally(rows, at, words);
    const inherited = await inheritedBy(storage, scope, run);
    if (sum.rows === 0 && inherited === 0) return { answer: NOTHING };
    const inherits = inherited > 0;
    const where: Cell[] = run === undefined ? [session.no, agent.no, upTo] : [session.no, agent.no, run, upTo];
    return {
      commit: {
        solo: true,
        sessions: [{ id: scope.session, mode: "existing", at }],
        agents: [{ id: scope.agent, at }],
        // What is appended from now on stays; another clear of the same messages sends this decision back.
        guards: [{ check: "messages.live", key: [upTo, scope.agent, scope.session], expect: live }],
        events: [
          {
            session: scope.session,
            type: "messages/cleared",
            at,
            agent: scope.agent,
            ...(run === undefined ? {} : { run }),
            data: { count: sum.rows },
            messages: -sum.rows,
            writes: [
              ...erasureWrites(run === undefined ? "messages" : "run", at, where, [{ slot: "seq" }, ...where]),
              ...(inherits ? [clearRow(scope.agent, run)] : []),
            ],
          },
        ],
      },
      answer: () => ({
        removed: { messages: sum.rows, blobs: sum.blobs, bytes: sum.bytes },
        kept: { blobs: sum.kept + keptOf(copies), ...(inherits ? { inherited } : {}) },
      }),
    };
  });
  await afterwards(storage, payloads, later);
  return erasure;
}

/** Messages of other sessions that this one shows because it continues them: a clear hides them here, and erases none. */
async function inheritedBy(
  storage: Storage,
  { session, agent }: HistoryScope,
  run: string | undefined,
): Promise<number> {
  const lineage = await currentLineage(storage, session);
  let n = 0;
  for (const segment of lineage) {
    if (segment.session === session) continue;
    const rows = await messageRowsAt(storage, [segment]);
    n += rows.filter(
      (row) => row.erased_seq === null && row.agent === agent && (run === undefined || row.run === run),
    ).length;
  }
  return n;
}

function clearRow(agent: string, run: string | undefined): Write {
  return { op: "insert", table: "clears", row: { agent_no: { agent }, run: run ?? null } };
}

export function keptOf(copies: readonly CopyRow[]): number {
  return copies.filter((copy) => copy.kept === 1).length;
}

/** Not by the commit itself: kept in parts, or outside the database. */
export function goesLater(row: ErasableRow): boolean {
  return row.form >= 2 || row.store !== "";
}

async function countLive(storage: Storage, scope: HistoryScope, upTo: number): Promise<number> {
  const [row] = await storage.query("history.countUpTo", upTo, scope.agent, scope.session);
  return row?.n ?? 0;
}

/** Erased words are gone from the files as well: from the database's free pages and WAL, and from outside it. */
export async function afterwards(storage: Storage, payloads: Payloads, later: readonly DiscardedRow[]): Promise<void> {
  await payloads.discard(later);
  await storage.reclaim();
}
