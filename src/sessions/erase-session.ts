// Deleting a session (rule LG6): everything it holds goes and a tombstone stays, but for what live forks inherit of it,
// which is kept for them and goes with the last of them.
import type { Erasure } from "../contracts/history.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { DiscardedRow, ErasableRow, SessionRow, WordsRow } from "../contracts/queries.ts";
import type { Cell, ErasedScope, Storage, Write } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { decide } from "../core/decide.ts";
import { lineageAt } from "../core/lineage.ts";
import { afterwards, goesLater, keptOf, releaseWrites, type Tally, tally } from "./erase.ts";

/** Times a deletion insists on an exact report before it simply happens. */
const EXACT_ATTEMPTS = 16;

const SCOPES = ["allMessages", "allState", "allAnnotations", "allWork"] as const satisfies readonly ErasedScope[];
const ROWS = ["turns", "evals", "calls", "snapshots", "heads", "invocations"] as const;

/** What of a session's log is kept for others: up to this seq on this branch. */
interface Remains {
  readonly branch: number;
  readonly upTo: number;
}

/** Everything the session holds; a tombstone with its id stays. null when there is none. */
export async function eraseSession(
  storage: Storage,
  payloads: Payloads,
  id: string,
  everywhere: boolean,
): Promise<Erasure | null> {
  let later: readonly DiscardedRow[] = [];
  let attempts = 0;
  const erasure = await decide<Erasure | null>(storage, async () => {
    const [session] = await storage.query("session.get", id);
    if (session === undefined || session.deleted_at !== null) return { answer: null };
    const at = storage.environment.now();
    const forks = await storage.query("branches.forks", session.no, session.no);
    const remains = await needed(storage, session.no);
    const found = await survey(storage, session.no, everywhere ? [] : remains, at);
    later = found.later;
    return {
      commit: {
        solo: true,
        sessions: [{ id, mode: "existing", at }],
        guards: [
          { check: "session.forks", key: [id], expect: forks[0]?.n ?? 0 },
          // The report says what this snapshot showed. Where others never stop writing, deleting goes before counting.
          ...(attempts++ < EXACT_ATTEMPTS ? [{ check: "session.seq" as const, key: [id], expect: session.seq }] : []),
        ],
        writes: [...eraseWrites(session.no, session.seq, remains, at, everywhere), ...tombstoneWrites(session, at)],
      },
      answer: () => report(found, session.seq, remains, everywhere),
    };
  });
  if (erasure === null) return null;
  await afterwards(storage, payloads, later);
  const freed = await shrinkRemains(storage, payloads);
  const removed = { ...erasure.removed };
  for (const [kind, n] of Object.entries(freed)) removed[kind] = (removed[kind] ?? 0) + n;
  return { removed, kept: erasure.kept };
}

interface Survey {
  readonly tallies: Readonly<Record<(typeof SCOPES)[number], Tally>>;
  readonly inherited: number;
  readonly copies: number;
  readonly later: readonly DiscardedRow[];
}

/** What would go, and what would be kept, of the session with this number. */
async function survey(storage: Storage, no: number, remains: readonly Remains[], at: number): Promise<Survey> {
  const [messages, state, annotations, work, words, copies] = await Promise.all([
    storage.query("allMessages.erasable", no),
    storage.query("allState.erasable", no),
    storage.query("allAnnotations.erasable", no),
    storage.query("allWork.erasable", no),
    storage.query("allMessages.words", no),
    storage.query("allMessages.copies", at, no),
  ]);
  const named = await Promise.all([
    storage.query("allMessages.named", no),
    storage.query("allState.named", no),
    storage.query("allAnnotations.named", no),
    storage.query("allWork.named", no),
  ]);
  const stays = { messages: [] as ErasableRow[], state: [] as ErasableRow[], work: [] as ErasableRow[] };
  let kept: WordsRow = { n: 0, bytes: 0 };
  for (const { branch, upTo } of remains) {
    stays.messages.push(...(await storage.query("keptMessages.erasable", no, branch, upTo)));
    stays.state.push(...(await storage.query("keptState.erasable", no, branch, upTo)));
    stays.work.push(...(await storage.query("keptWork.erasable", no, branch, upTo)));
    const [short] = await storage.query("keptMessages.words", no, branch, upTo);
    kept = { n: kept.n + (short?.n ?? 0), bytes: kept.bytes + (short?.bytes ?? 0) };
  }
  const all = words[0] ?? { n: 0, bytes: 0 };
  const spoken = { n: all.n - kept.n, bytes: all.bytes - kept.bytes };
  return {
    tallies: {
      allMessages: tally(without(messages, stays.messages), at, spoken),
      allState: tally(without(state, stays.state), at),
      allAnnotations: tally(annotations, at),
      allWork: tally(without(work, stays.work), at),
    },
    inherited: kept.n,
    copies: keptOf(copies),
    later: [...[messages, state, annotations, work].flat().filter(goesLater), ...named.flat(), ...copies],
  };
}

/** The rows that refer to a blob, less those that go on doing so. */
function without(all: readonly ErasableRow[], stays: readonly ErasableRow[]): readonly ErasableRow[] {
  const staying = new Map<string, number>();
  for (const { sha256, rows } of stays) staying.set(toHex(sha256), (staying.get(toHex(sha256)) ?? 0) + rows);
  return all
    .map((row) => ({ ...row, rows: row.rows - (staying.get(toHex(row.sha256)) ?? 0) }))
    .filter(({ rows }) => rows > 0);
}

function report(found: Survey, events: number, remains: readonly Remains[], everywhere: boolean): Erasure {
  const { allMessages, allState, allAnnotations, allWork } = found.tallies;
  const all = [allMessages, allState, allAnnotations, allWork];
  const sum = (of: (one: Tally) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    removed: {
      messages: allMessages.rows,
      events,
      state: allState.rows,
      annotations: allAnnotations.rows,
      ...(allWork.rows === 0 ? {} : { payloads: allWork.rows }),
      blobs: sum(({ blobs }) => blobs),
      bytes: sum(({ bytes }) => bytes),
    },
    kept: {
      tombstone: 1,
      blobs: sum(({ kept }) => kept) + found.copies,
      ...(remains.length === 0 || everywhere ? {} : { inherited: found.inherited }),
    },
  };
}

/** Of the session's own branches, what live forks inherit: from where they branched off, back to its beginning. */
async function needed(storage: Storage, no: number): Promise<readonly Remains[]> {
  const upTo = new Map<number, number>();
  for (const cut of await storage.query("branches.needed", no, no)) {
    for (const segment of await lineageAt(storage, { no, branch: cut.branch, seq: cut.upto })) {
      if (segment.no !== no) break;
      upTo.set(segment.branch, Math.max(upTo.get(segment.branch) ?? 0, segment.upTo));
    }
  }
  return [...upTo].map(([branch, seq]) => ({ branch, upTo: seq }));
}

function eraseWrites(
  no: number,
  seq: number,
  remains: readonly Remains[],
  at: number,
  everywhere: boolean,
): readonly Write[] {
  const where: Cell[] = [no];
  const run = (statement: Extract<Write, { op: "run" }>["statement"], ...params: Cell[]): Write => ({
    ...{ op: "run", statement, params: [...params, no] },
  });
  const release = SCOPES.flatMap((scope) => releaseWrites(scope, at, where));
  const keep: Write[] = remains.map(({ branch, upTo }) => ({
    ...{ op: "insert", table: "remains", row: { session_no: no, branch, upto: upTo } },
  }));
  // Everywhere: the rows that forks inherit stay, so that these show what was there, and hold nothing any more.
  const forget: Write[] =
    everywhere && remains.length > 0
      ? [
          ...(["Messages", "Evals", "Calls", "Snapshots"] as const).map((kind) =>
            run(`remains.forget${kind}`, seq + 1),
          ),
          run("remains.forgetHeads"),
          run("remains.forgetState"),
        ]
      : [];
  return [
    run("remains.clear"),
    ...(everywhere ? [...release, ...keep, ...forget] : [...keep, ...release]),
    ...SCOPES.map((scope) => run(`${scope}.erase`)),
    ...ROWS.map((table) => run(`${table}.dropAll`)),
    run("derivations.dropAll"),
    run("branches.dropAll"),
    { op: "run", statement: "words.shorten", params: [] },
  ];
}

function tombstoneWrites(session: SessionRow, at: number): readonly Write[] {
  const where: Cell[] = [session.no];
  return [
    { op: "run", statement: "tasks.removeAll", params: where },
    { op: "run", statement: "boards.removeAll", params: where },
    { op: "run", statement: "session.untag", params: where },
    { op: "run", statement: "session.unalias", params: where },
    { op: "run", statement: "session.tombstone", params: [at, session.no] },
  ];
}

/**
 * What deleted sessions keep for forks, as far as nobody inherits it any more. Asked after every deletion, also for those
 * of others: so nothing is left behind by one that was cut off.
 */
async function shrinkRemains(storage: Storage, payloads: Payloads): Promise<Readonly<Record<string, number>>> {
  const freed: Record<string, number> = {};
  for (let changed = true; changed; ) {
    changed = false;
    const held = Map.groupBy(await storage.query("remains.list"), (row) => row.session_no);
    for (const [no, rows] of held) {
      const remains = await needed(storage, no);
      const same =
        remains.length === rows.length &&
        rows.every((row) => remains.some(({ branch, upTo }) => branch === row.branch && upTo === row.upto));
      if (same) continue;
      const at = storage.environment.now();
      const found = await survey(storage, no, remains, at);
      await storage.commit({ solo: true, writes: eraseWrites(no, 0, remains, at, false) });
      await afterwards(storage, payloads, found.later);
      const { removed } = report(found, 0, [], false);
      for (const [kind, n] of Object.entries(removed)) freed[kind] = (freed[kind] ?? 0) + n;
      changed = true;
    }
  }
  return freed;
}
