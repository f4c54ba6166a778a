// The statements that erase a session's rows, except those that live forks inherit, and the report of the erasure.
import type { Cell, FoundRows, Write } from "../contracts/storage/commit.ts";
import type { ErasedScope } from "../contracts/storage/statement-names.ts";
import {
  countRows,
  dropSegmentWrites,
  type ErasureOutcome,
  forgetWrites,
  releaseWrites,
  shortenWrites,
  tally,
} from "../core/erasure.ts";

const SCOPES = [
  "allMessages",
  "allState",
  "allAnnotations",
  "allWork",
  "allCaptures",
] as const satisfies readonly ErasedScope[];
const ROWS = ["turns", "evals", "calls", "snapshots", "heads", "invocations", "derivations", "branches"] as const;

export function reportOf(found: FoundRows, at: number, tombstone: 0 | 1): ErasureOutcome {
  const { blobs, bytes, kept, later } = tally(found, SCOPES, at);
  const inline = found["allMessages.inline"] ?? [];
  // First the session itself, then the rows of others that were kept only for it.
  const events = found["remains.events"] ?? [];
  const work = countRows(found["allWork.erasable"]);
  const captures = countRows(found["allCaptures.erasable"]);
  const removed = {
    messages: inline.reduce((sum, { n }) => sum + n, 0),
    events: events.reduce((sum, { n, kept: stay }) => sum + n - stay, 0),
    state: countRows(found["allState.erasable"]),
    annotations: countRows(found["allAnnotations.erasable"]),
    ...(work === 0 ? {} : { payloads: work }),
    ...(captures === 0 ? {} : { captures }),
    blobs,
    bytes: inline.reduce((sum, row) => sum + row.bytes, bytes),
  };
  const inherited = found["remains.messages"]?.[0]?.n ?? 0;
  const forOthers = events[0]?.kept ?? 0;
  const stays = {
    ...(tombstone === 0 ? {} : { tombstone }),
    blobs: kept,
    ...(inherited === 0 ? {} : { inherited }),
    ...(forOthers === 0 ? {} : { events: forOthers }),
  };
  return { report: { removed, kept: stays }, later };
}

export function sumOf(all: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const [kind, n] of all.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + n;
  return sum;
}

/**
 * A seq that no log reaches: an erasure with `everywhere` counts as later than everything that any session inherits.
 */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

export function eraseWrites(no: number, at: number, everywhere: boolean): readonly Write[] {
  const where = { session: no };
  const run = (statement: Extract<Write, { op: "run" }>["statement"], ...params: Cell[]): Write => ({
    op: "run",
    statement,
    params: [...params, no],
  });
  const release: Write[] = [
    { op: "read", query: "allMessages.inline", params: where },
    ...releaseWrites(SCOPES, at, where),
  ];
  const keep: Write = { op: "run", statement: "remains.keep", params: [no, no, no, no, no] };
  // With `everywhere`, the rows that forks inherit stay without content, so that the forks show placeholders.
  const forget: Write[] = [
    ...(["Messages", "Evals", "Calls", "Snapshots"] as const).map((kind) => run(`remains.forget${kind}`, AFTER_ALL)),
    run("remains.forgetHeads"),
    run("remains.forgetInvocations"),
    run("remains.forgetState"),
  ];
  return [
    run("remains.clear"),
    ...(everywhere ? [...release, keep, ...forget] : [keep, ...release]),
    { op: "read", query: "remains.events", params: where },
    ...forgetWrites(SCOPES, where),
    ...ROWS.map((table) => run(`${table}.dropAll`)),
    ...shortenWrites(),
  ];
}

/** Removes everything that is left of a session except its heads, because rows of the same commit replace it. */
export function replaceWrites(no: number): readonly Write[] {
  const run = (statement: Extract<Write, { op: "run" }>["statement"]): Write => ({
    op: "run",
    statement,
    params: [no],
  });
  return [
    run("remains.clear"),
    ...dropSegmentWrites(["allMessages"], { session: no }),
    run("allMessages.unindex"),
    ...SCOPES.map((scope) => run(`${scope}.release`)),
    ...forgetWrites(SCOPES, { session: no }),
    ...ROWS.filter((table) => table !== "heads").map((table) => run(`${table}.dropAll`)),
    ...shortenWrites(),
  ];
}
