// Publishing a head: the events that belong to it, the head itself, and the pointer that moves with it, in one commit. Its
// id names the chain hash it stands on, so the commit holds only while the log is as long as it was when it was decided.
import { HoldfastError } from "../contracts/errors.ts";
import type { Compaction, Counts, Head, HeadInput, HeadStatus } from "../contracts/lineage.ts";
import type { HeadRow } from "../contracts/lineage-queries.ts";
import type { Prepare, PreparedPayload } from "../contracts/payloads.ts";
import type { SessionRow } from "../contracts/queries.ts";
import type { Commit, EventDraft, Storage, Write } from "../contracts/storage.ts";
import { encodeText } from "../core/bytes.ts";
import { envelope, nextHash } from "../core/chain.ts";
import { checkOptionalId, checkRecord, checkText } from "../core/check.ts";
import type { Decision } from "../core/decide.ts";
import { lineageAt } from "../core/lineage.ts";
import { checkHeadId } from "../core/locator.ts";
import { addCounts, standing } from "./counts.ts";
import { preparePayloads } from "./payload-columns.ts";
import { committed, encodeRoot, headId, headOf, rootOf } from "./root.ts";

/** A checked HeadInput, its payloads ready to be stored. */
export interface Prepared {
  readonly final: PreparedPayload | null;
  readonly vars: PreparedPayload | null;
  readonly finalSummary: Uint8Array | null;
  readonly fingerprint: string | null;
  readonly cacheId: string | null;
  readonly expect: string | null | undefined;
}

const INPUT = ["final", "finalSummary", "vars", "fingerprint", "cacheId", "expect"] as const;

export async function prepareHead(prepare: Prepare, input: HeadInput | undefined): Promise<Prepared> {
  const given = checkRecord(input, "head", INPUT);
  const { expect, finalSummary } = given;
  const said = {
    finalSummary: finalSummary === undefined ? null : encodeText(checkText(finalSummary, "finalSummary", "titleBytes")),
    fingerprint: checkOptionalId(given.fingerprint, "fingerprint") ?? null,
    cacheId: checkOptionalId(given.cacheId, "cacheId") ?? null,
    expect: expect === undefined || expect === null ? expect : checkHeadId(expect, "expect"),
  };
  const carried = { final: given.final, vars: given.vars } as Pick<HeadInput, "final" | "vars">;
  const { final, vars } = await preparePayloads(prepare, carried);
  return { ...said, final: final ?? null, vars: vars ?? null };
}

export interface Plan {
  readonly session: SessionRow;
  readonly prepared: Prepared;
  readonly status: HeadStatus;
  readonly at: number;
  readonly turnSeq?: number;
  /** Events before the head, which belong to it; `adds` says what they add to its counts. */
  readonly events?: readonly EventDraft[];
  readonly adds?: Partial<Counts>;
  /** Rows that the head's own event writes, of agents named here. */
  readonly ends?: readonly Write[];
  readonly agents?: readonly string[];
  /** Given the seq that follows those events. */
  readonly compaction?: (basis: HeadRow | null) => Compaction;
  /** Events after it. */
  readonly after?: (head: HeadRow) => readonly EventDraft[];
  readonly blobs?: Commit;
}

/** A decision for `decide`: it is made again when the log has grown meanwhile. */
export async function decideHead(storage: Storage, plan: Plan): Promise<Decision<Head>> {
  const { session, prepared, status, at, turnSeq } = plan;
  if (prepared.expect !== undefined && prepared.expect !== session.head) throw moved(session, prepared.expect);
  const events = [...(plan.events ?? []), ...snapshotEvents(plan)];
  const { head: newest, counts } = await standing(
    storage,
    await lineageAt(storage, { no: session.no, branch: session.branch, seq: session.seq }),
  );
  const basis = newest !== null && newest.session_no === session.no ? newest : null;
  const source = basis === null ? await sourceOf(storage, session) : null;
  let chain = session.chain;
  let seq = session.seq;
  for (const draft of events) chain = nextHash(chain, envelope(draft, ++seq));
  const snapshot = prepared.vars === null ? null : seq;
  // Its own event is the last that belongs to it; the chain is the one before, which it goes on from.
  seq++;
  const added = addCounts(counts, {
    ...plan.adds,
    snapshots: (plan.adds?.snapshots ?? 0) + (snapshot === null ? 0 : 1),
  });
  const compaction = plan.compaction?.(newest) ?? (newest === null ? null : rootOf(newest).compaction);
  const root = encodeRoot({
    counts: added,
    final: committed(prepared.final),
    vars: committed(prepared.vars),
    fingerprint: prepared.fingerprint,
    compaction,
  });
  const id = headId({
    session: session.id,
    branch: session.branch,
    seq,
    chain,
    basis: basis?.id ?? null,
    source,
    status,
    root,
  });
  const row: HeadRow = {
    ...{
      no: 0,
      id,
      session: session.id,
      session_no: session.no,
      branch: session.branch,
      seq,
      basis: basis?.id ?? null,
    },
    ...{ status, chain, root, final: prepared.final?.sha256 ?? null, salt: prepared.final?.salt ?? null },
    ...{ final_summary: prepared.finalSummary, snapshot_seq: snapshot, fingerprint: prepared.fingerprint },
    ...{ turn_seq: turnSeq ?? null, cache_id: prepared.cacheId ?? session.cache_id, at },
  };
  const stored = [prepared.final, prepared.vars].filter((one) => one !== null);
  return {
    commit: {
      sessions: [{ id: session.id, mode: "existing", at }],
      agents: [...new Set([...(plan.agents ?? []), ...events.flatMap(({ agent }) => agent ?? [])])].map((agent) => ({
        id: agent,
        at,
      })),
      guards: [{ check: "session.seq", key: [session.id], expect: session.seq }, ...(plan.blobs?.guards ?? [])],
      blobs: [...(plan.blobs?.blobs ?? []), ...stored.flatMap(({ blobs }) => blobs)],
      writes: [...(plan.blobs?.writes ?? []), ...stored.flatMap(({ writes }) => writes)],
      uses: [...(plan.blobs?.uses ?? []), ...stored.flatMap(({ uses }) => uses)],
      events: [...events, headEvent(row, basis, plan), ...(plan.after?.(row) ?? [])],
    },
    answer: () => headOf(row),
  };
}

function snapshotEvents({ session, prepared, at, turnSeq }: Plan): readonly EventDraft[] {
  if (prepared.vars === null) return [];
  return [snapshotEvent(session.id, prepared.vars, at, turnSeq ?? null)];
}

export function snapshotEvent(session: string, vars: PreparedPayload, at: number, turnSeq: number | null): EventDraft {
  return {
    session,
    type: "snapshot/added",
    at,
    ...(turnSeq === null ? {} : { data: { turn: turnSeq } }),
    payloads: { vars },
    writes: [{ op: "insert", table: "snapshots", row: { turn_seq: turnSeq, vars: vars.sha256, salt: vars.salt, at } }],
  };
}

function headEvent(row: HeadRow, basis: HeadRow | null, { prepared: { final }, ends, turnSeq }: Plan): EventDraft {
  const { id, session, status, at } = row;
  const move: Write[] =
    status === "complete" ? [{ op: "run", statement: "session.headTo", params: [id, { slot: "session" }] }] : [];
  const { no: _no, session: _session, session_no: _own, basis: _basis, ...columns } = row;
  return {
    session,
    type: "head/created",
    at,
    // The id commits to all else there is to say.
    data: { head: id, ...(turnSeq === undefined ? {} : { turn: turnSeq }) },
    ...(final === null ? {} : { payloads: { final } }),
    writes: [
      { op: "insert", table: "heads", row: { ...columns, basis_no: basis?.no ?? null } },
      ...(ends ?? []),
      ...move,
    ],
  };
}

/** Where a session that was made from another continues it. */
async function sourceOf(
  storage: Storage,
  session: SessionRow,
): Promise<{ readonly session: string; readonly branch: number; readonly seq: number } | null> {
  const lineage = await lineageAt(storage, { no: session.no, branch: session.branch, seq: session.seq });
  const source = lineage.find(({ no }) => no !== session.no);
  return source === undefined ? null : { session: source.session, branch: source.branch, seq: source.upTo };
}

function moved(session: SessionRow, expected: string | null): HoldfastError {
  return new HoldfastError("Conflict", `the current head of ${JSON.stringify(session.id)} is another one`, {
    details: { session: session.id, expected, actual: session.head },
    hint: "Read the session again: somebody published, or moved the head. Fork to keep both.",
  });
}
