// Erasing (rule LG6): content leaves the store, the chain stays verifiable, and the caller is told what went and what
// was kept because something else still refers to it.
import type { Erasure, HistoryScope } from "../contracts/history.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { CopyRow, DiscardedRow, ErasableRow, SessionRow, WordsRow } from "../contracts/queries.ts";
import type { Cell, ErasedScope, Storage, Write } from "../contracts/storage.ts";
import { decide } from "../core/decide.ts";

/** Times a deletion insists on an exact report before it simply happens. */
const EXACT_ATTEMPTS = 16;

const NOTHING: Erasure = { removed: { messages: 0, blobs: 0, bytes: 0 }, kept: { blobs: 0 } };

type MessageScope = "messages" | "run" | "allMessages";

/** The statements of one scope in the order that keeps every ref alive until its row has let go. */
function erasureWrites(scope: ErasedScope, now: number, where: readonly Cell[], erase: readonly Cell[]): Write[] {
  const unindex = (of: MessageScope): Write => ({ op: "run", statement: `${of}.unindex`, params: where });
  return [
    ...(scope === "allState" || scope === "allAnnotations" ? [] : [unindex(scope)]),
    { op: "run", statement: `${scope}.release`, params: where },
    { op: "run", statement: `${scope}.dropLinks`, params: [now, ...where] },
    { op: "run", statement: `${scope}.drop`, params: [now, ...where] },
    { op: "run", statement: `${scope}.erase`, params: erase },
  ];
}

interface Tally {
  readonly rows: number;
  readonly blobs: number;
  readonly bytes: number;
  readonly kept: number;
}

/** What goes: words in the rows, and blobs to which only these rows refer, which nobody pinned and whose own time is over. */
function tally(rows: readonly ErasableRow[], now: number, messages?: WordsRow): Tally {
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
    if (sum.rows === 0) return { answer: NOTHING };
    const where: Cell[] = run === undefined ? [session.no, agent.no, upTo] : [session.no, agent.no, run, upTo];
    return {
      commit: {
        solo: true,
        sessions: [{ id: scope.session, mode: "existing", at }],
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
            writes: erasureWrites(run === undefined ? "messages" : "run", at, where, [{ slot: "seq" }, ...where]),
          },
        ],
      },
      answer: () => ({
        removed: { messages: sum.rows, blobs: sum.blobs, bytes: sum.bytes },
        kept: { blobs: sum.kept + keptOf(copies) },
      }),
    };
  });
  await afterwards(storage, payloads, later);
  return erasure;
}

function keptOf(copies: readonly CopyRow[]): number {
  return copies.filter((copy) => copy.kept === 1).length;
}

/** Not by the commit itself: kept in parts, or outside the database. */
function goesLater(row: ErasableRow): boolean {
  return row.form >= 2 || row.store !== "";
}

async function countLive(storage: Storage, scope: HistoryScope, upTo: number): Promise<number> {
  const [row] = await storage.query("history.countUpTo", upTo, scope.agent, scope.session);
  return row?.n ?? 0;
}

/** Everything the session holds; a tombstone with its id stays. null when there is none. */
export async function eraseSession(storage: Storage, payloads: Payloads, id: string): Promise<Erasure | null> {
  let later: readonly DiscardedRow[] = [];
  let attempts = 0;
  const erasure = await decide<Erasure | null>(storage, async () => {
    const [session] = await storage.query("session.get", id);
    if (session === undefined || session.deleted_at !== null) return { answer: null };
    const at = storage.environment.now();
    const scopes = await Promise.all([
      storage.query("allMessages.erasable", session.no),
      storage.query("allState.erasable", session.no),
      storage.query("allAnnotations.erasable", session.no),
    ]);
    const named = await Promise.all([
      storage.query("allMessages.named", session.no),
      storage.query("allState.named", session.no),
      storage.query("allAnnotations.named", session.no),
    ]);
    const copies = await storage.query("allMessages.copies", at, session.no);
    later = [...scopes.flat().filter(goesLater), ...named.flat(), ...copies];
    const [words] = await storage.query("allMessages.words", session.no);
    const messages = tally(scopes[0], at, words);
    const state = tally(scopes[1], at);
    const annotations = tally(scopes[2], at);
    return {
      commit: {
        solo: true,
        sessions: [{ id, mode: "existing", at }],
        // The report says what this snapshot showed. Where others never stop writing, deleting goes before counting.
        guards: attempts++ < EXACT_ATTEMPTS ? [{ check: "session.seq", key: [id], expect: session.seq }] : [],
        writes: sessionWrites(session, at),
      },
      answer: () => ({
        removed: {
          messages: messages.rows,
          events: session.seq,
          state: state.rows,
          annotations: annotations.rows,
          blobs: messages.blobs + state.blobs + annotations.blobs,
          bytes: messages.bytes + state.bytes + annotations.bytes,
        },
        kept: { tombstone: 1, blobs: messages.kept + state.kept + annotations.kept + keptOf(copies) },
      }),
    };
  });
  if (erasure !== null) await afterwards(storage, payloads, later);
  return erasure;
}

function sessionWrites(session: SessionRow, at: number): Write[] {
  const where: Cell[] = [session.no];
  const of = (scope: ErasedScope) => erasureWrites(scope, at, where, where);
  return [
    ...of("allMessages"),
    ...of("allState"),
    ...of("allAnnotations"),
    { op: "run", statement: "tasks.removeAll", params: where },
    { op: "run", statement: "boards.removeAll", params: where },
    { op: "run", statement: "words.shorten", params: [] },
    { op: "run", statement: "session.untag", params: where },
    { op: "run", statement: "session.unalias", params: where },
    { op: "run", statement: "session.tombstone", params: [at, session.no] },
  ];
}

/** Erased words are gone from the files as well: from the database's free pages and WAL, and from outside it. */
async function afterwards(storage: Storage, payloads: Payloads, later: readonly DiscardedRow[]): Promise<void> {
  await payloads.discard(later);
  await storage.reclaim();
}
