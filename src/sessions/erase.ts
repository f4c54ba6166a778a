// Erasing (rule LG6): content leaves the store, the chain stays verifiable, and the report says what was removed and
// what was kept because something else still refers to it.
import type { Erasure, HistoryScope } from "../contracts/history.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { CopyRow, DiscardedRow, ErasableRow } from "../contracts/queries.ts";
import type { Cell, ErasedScope, FoundRows, Storage, Write } from "../contracts/storage.ts";
import { toHex } from "../core/bytes.ts";
import { decide } from "../core/decide.ts";
import { currentLineage } from "../core/lineage.ts";
import { whileIdle } from "./guards.ts";
import { messageRowsAt } from "./view-messages.ts";

const NOTHING: Erasure = { removed: { messages: 0, blobs: 0, bytes: 0 }, kept: { blobs: 0 } };

/** Whose content may stand in the rows of events. */
const IN_EVENTS = ["messages", "run", "allMessages", "journal", "saved"] as const satisfies readonly ErasedScope[];
type MessageScope = (typeof IN_EVENTS)[number];

/**
 * The statements of some scopes in the order that keeps every ref alive until its row has released it. In the middle
 * they read what is removed and what stays: released rows are locked, so that no other commit pins or names one unseen,
 * and a pin of inline content waits for its session. So the report is about what this commit erases, and not about an
 * earlier moment.
 */
export function releaseWrites(scopes: readonly ErasedScope[], now: number, where: readonly Cell[]): Write[] {
  const ofMessages = scopes.filter(isOfMessages);
  const timed = (scope: ErasedScope, part: "dropLinks" | "drop"): Write => ({
    op: "run",
    statement: `${scope}.${part}`,
    params: [now, ...where],
  });
  return [
    ...ofMessages.map((scope): Write => ({ op: "run", statement: `${scope}.unindex`, params: where })),
    ...scopes.map((scope): Write => ({ op: "run", statement: `${scope}.release`, params: where })),
    ...scopes.map((scope): Write => ({ op: "read", query: `${scope}.named`, params: where })),
    // First of all links among those that go: what only they named does not stay.
    ...scopes.map((scope) => timed(scope, "dropLinks")),
    ...scopes.map((scope): Write => ({ op: "read", query: `${scope}.erasable`, params: where })),
    ...ofMessages.map((scope): Write => ({ op: "read", query: `${scope}.copies`, params: [now, ...where] })),
    ...scopes.map((scope) => timed(scope, "drop")),
  ];
}

/** And then the rows forget. */
export function forgetWrites(scopes: readonly ErasedScope[], erase: readonly Cell[]): Write[] {
  return scopes.map((scope) => ({ op: "run", statement: `${scope}.erase`, params: erase }));
}

function isOfMessages(scope: ErasedScope): scope is MessageScope {
  return (IN_EVENTS as readonly ErasedScope[]).includes(scope);
}

/** What an erasure did, as it was read inside its commit. */
export interface Tally {
  readonly blobs: number;
  readonly bytes: number;
  readonly kept: number;
  /** Not removed by the commit itself: kept in parts, outside the database, or perhaps named by others, too. */
  readonly later: readonly DiscardedRow[];
}

export function tally(found: FoundRows, scopes: readonly ErasedScope[], now: number): Tally {
  const rows = scopes.flatMap((scope): readonly ErasableRow[] => found[`${scope}.erasable`] ?? []);
  const named = scopes.flatMap((scope): readonly DiscardedRow[] => found[`${scope}.named`] ?? []);
  const copies = scopes.filter(isOfMessages).flatMap((scope): readonly CopyRow[] => found[`${scope}.copies`] ?? []);
  const gone = distinct(rows.filter((row) => goes(row, now)));
  // What one session still held may have gone with another, in the same commit.
  const left = new Set(gone.map((row) => toHex(row.sha256)));
  const stays = rows.filter((row) => !left.has(toHex(row.sha256)));
  const kept = distinct([...stays, ...copies.filter((copy) => copy.kept === 1)]);
  return {
    blobs: gone.length,
    // What is kept in parts has no bytes of its own; its size says what goes.
    bytes: gone.reduce((sum, row) => sum + (row.form < 2 ? row.stored : row.size), 0),
    kept: kept.length,
    later: distinct([...rows.filter((row) => row.form >= 2 || row.store !== ""), ...named, ...copies]),
  };
}

/** No other row refers to it, it is not pinned or named, and its own time is over. */
function goes(row: ErasableRow, now: number): boolean {
  if (row.refs !== 0 || row.pinned !== 0 || row.linked !== 0) return false;
  return row.expires_at !== null && row.expires_at <= now;
}

/** A blob may be the content of a message and a value of the state at once. */
function distinct<T extends DiscardedRow>(rows: readonly T[]): readonly T[] {
  return [...new Map(rows.map((row) => [toHex(row.sha256), row])).values()];
}

/** Rows of a scope, those of one blob counted each. */
export function countRows(rows: readonly ErasableRow[] = []): number {
  return rows.reduce((sum, row) => sum + row.rows, 0);
}

export interface ErasureOutcome {
  readonly report: Erasure;
  readonly later: readonly DiscardedRow[];
}

export async function eraseMessages(
  storage: Storage,
  payloads: Payloads,
  scope: HistoryScope,
  run: string | undefined,
): Promise<Erasure> {
  const erased = await decide<ErasureOutcome | null>(storage, async () => {
    const [session] = await storage.query("session.get", scope.session);
    const [agent] = await storage.query("agent.get", scope.agent);
    if (session === undefined || session.deleted_at !== null || agent === undefined) return { answer: null };
    const upTo = session.seq;
    // Counted before the words are: a clear in between then makes the guard fail, whatever it took.
    const live = await countLive(storage, scope, upTo);
    const at = storage.environment.now();
    const [inline] =
      run === undefined
        ? await storage.query("messages.inline", session.no, agent.no, upTo)
        : await storage.query("run.inline", session.no, agent.no, run, upTo);
    const inherited = await inheritedBy(storage, scope, run);
    if (inline === undefined || (inline.n === 0 && inherited.live === 0)) return { answer: null };
    const scopes = [run === undefined ? "messages" : "run"] as const;
    const where: Cell[] = run === undefined ? [session.no, agent.no, upTo] : [session.no, agent.no, run, upTo];
    return {
      commit: {
        solo: true,
        sessions: [{ id: scope.session, mode: "existing", at }],
        agents: [{ id: scope.agent, at }],
        // What is appended from now on stays; another clear of the same messages sends this decision back.
        guards: [
          await whileIdle(storage, scope.session),
          { check: "messages.live", key: [upTo, scope.agent, scope.session], expect: live },
        ],
        events: [
          {
            session: scope.session,
            type: "messages/cleared",
            at,
            agent: scope.agent,
            ...(run === undefined ? {} : { run }),
            data: { count: inline.n },
            messages: -inline.n,
            writes: [
              ...releaseWrites(scopes, at, where),
              ...forgetWrites(scopes, [{ slot: "seq" }, ...where]),
              ...(inherited.any ? [clearRow({ agent: scope.agent }, run)] : []),
            ],
          },
        ],
      },
      answer: ({ found = {} }) => {
        const { blobs, bytes, kept, later } = tally(found, scopes, at);
        return {
          report: {
            removed: { messages: inline.n, blobs, bytes: bytes + inline.bytes },
            kept: { blobs: kept, ...(inherited.live === 0 ? {} : { inherited: inherited.live }) },
          },
          later,
        };
      },
    };
  });
  if (erased !== null) await afterwards(storage, payloads, erased.later);
  return erased?.report ?? NOTHING;
}

/** Messages of other sessions that this one shows because it continues them: a clear hides them here, and erases none. */
async function inheritedBy(
  storage: Storage,
  { session, agent }: HistoryScope,
  run: string | undefined,
): Promise<{ readonly any: boolean; readonly live: number }> {
  const others = (await currentLineage(storage, session)).filter((segment) => segment.session !== session);
  let live = 0;
  for (const segment of others) {
    const rows = await messageRowsAt(storage, [segment]);
    live += rows.filter(
      (row) => row.erased_seq === null && row.agent === agent && (run === undefined || row.run === run),
    ).length;
  }
  // What its own session erased is also shown, as a placeholder, by the sessions that inherit it.
  return { any: others.length > 0, live };
}

/** Where something is inherited: from here on it shows none of it. */
export function clearRow(agent: number | { readonly agent: string }, run: string | undefined): Write {
  return { op: "insert", table: "clears", row: { agent_no: agent, run: run ?? null } };
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
