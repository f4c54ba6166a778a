// Publishing a head: the events that belong to it, the head itself, and the pointer that moves with it, in one commit. Its
// id names the chain hash it stands on, which the commit alone knows: others may append until then, so the commit
// completes what is decided here.
import { HoldfastError } from "../contracts/errors.ts";
import type { Head, HeadInput } from "../contracts/heads.ts";
import type { Commit, EventDraft, Guard, HeadDraft, Write } from "../contracts/storage/commit.ts";
import type { Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { HEAD_INPUT } from "../contracts/verbs/lineage.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText, sha256 } from "../core/bytes.ts";
import { NONE } from "../core/counts.ts";
import type { Decision } from "../core/decide.ts";
import { committed, headOf, rootOf } from "../core/head.ts";
import { type LinePosition, readLineageAt, type Segment } from "../core/lineage.ts";
import { onBranch, onHead, whileIdle } from "../core/session-guards.ts";
import { countLineage } from "./counts.ts";
import { preparePayloads } from "./payload-columns.ts";

/** A checked HeadInput, its payloads ready to be stored. */
export interface PreparedHead {
  readonly final: PreparedPayload | null;
  readonly vars: PreparedPayload | null;
  readonly finalSummary: Uint8Array | null;
  /** What commits to it: under the salt of the final value, because a head has one. */
  readonly summary: { readonly sha256: Uint8Array; readonly salt: Uint8Array } | null;
  readonly fingerprint: string | null;
  readonly cacheId: string | null;
  readonly expect: string | null | undefined;
}

export async function prepareHead(
  { environment }: Storage,
  prepare: Prepare,
  input: ValueOf<typeof HEAD_INPUT>,
): Promise<PreparedHead> {
  const { expect, finalSummary, fingerprint = null, cacheId = null } = input;
  const said = {
    finalSummary: finalSummary === undefined ? null : encodeText(finalSummary),
    fingerprint,
    cacheId,
    expect,
  };
  const carried = { final: input.final, vars: input.vars } as Pick<HeadInput, "final" | "vars">;
  const { final, vars } = await preparePayloads(prepare, carried);
  const summary =
    said.finalSummary === null
      ? null
      : { sha256: sha256(said.finalSummary), salt: final?.salt ?? environment.random(16) };
  return { ...said, summary, final: final ?? null, vars: vars ?? null };
}

export interface HeadPlan {
  readonly session: SessionRow;
  readonly prepared: PreparedHead;
  readonly status: Head["status"];
  readonly at: number;
  readonly turnSeq?: number;
  /** A message before the head that stands for all up to another, by its id. */
  readonly compaction?: { readonly append: Commit; readonly compacts: NonNullable<HeadDraft["compacts"]> };
  /** Rows that the head's own event writes, of agents named here. */
  readonly ends?: readonly Write[];
  readonly agents?: readonly string[];
  /** Events after it. */
  readonly after?: readonly EventDraft[];
  /** What else the decision relies on. */
  readonly guards?: readonly Guard[];
}

/** A decision for `decide`: it is made again when the session has gone to another branch, never for what others add. */
export async function decideHead(storage: Storage, plan: HeadPlan): Promise<Decision<Head>> {
  const { session, prepared, at, compaction } = plan;
  const { expect } = prepared;
  if (expect !== undefined && expect !== session.head) throw headMoved(session, expect);
  const events = [...(compaction?.append.events ?? []), ...snapshotEvents(plan)];
  const idle = await whileIdle(storage, session.id);
  const inherits = await inheritedBy(storage, session);
  const append = compaction?.append;
  const stored = [prepared.final, prepared.vars].filter((one) => one !== null);
  return {
    commit: {
      sessions: [{ id: session.id, mode: "existing", at }],
      agents: [...new Set([...(plan.agents ?? []), ...events.flatMap(({ agent }) => agent ?? [])])].map((agent) => ({
        id: agent,
        at,
      })),
      guards: [
        idle,
        onBranch(session),
        ...(expect === undefined ? [] : [onHead(session)]),
        ...(plan.guards ?? []),
        ...(append?.guards ?? []),
      ],
      blobs: [...(append?.blobs ?? []), ...stored.flatMap(({ blobs }) => blobs)],
      writes: [...(append?.writes ?? []), ...stored.flatMap(({ writes }) => writes)],
      uses: [...(append?.uses ?? []), ...stored.flatMap(({ uses }) => uses)],
      events: [...events, headEvent(plan, inherits), ...(plan.after ?? [])],
    },
    answer: ({ events: written }) => {
      const head = written[events.length]?.head;
      if (head === undefined) throw new Error("bug: the commit tells of no head");
      return headOf(head);
    },
  };
}

/** What its branch continues, unless that has a head already. None of it changes while the session is on the branch. */
export async function inheritedBy(storage: Storage, session: SessionRow): Promise<HeadDraft["inherits"]> {
  const { no, branch, seq } = session;
  const [own] = await storage.query("head.before", { session: no, branch, upTo: seq });
  if (own !== undefined) return null;
  const [, parent] = await readLineageAt(storage, session).take(2);
  if (parent === undefined) return { basis: null, counts: NONE, compaction: null, source: null };
  const before = { no: parent.no, branch: parent.branch, seq: parent.upTo };
  const { head, counts } = await countLineage(storage, before);
  const basis = head !== null && head.session_no === no ? { id: head.id } : null;
  const source = basis === null ? await firstOther(storage, before, no) : undefined;
  return {
    basis,
    counts,
    compaction: head === null ? null : rootOf(head).compaction,
    source: source === undefined ? null : { session: source.session, branch: source.branch, seq: source.upTo },
  };
}

/** The newest stretch of another session. */
async function firstOther(storage: Storage, at: LinePosition, no: number): Promise<Segment | undefined> {
  const lineage = readLineageAt(storage, at);
  for (let next = await lineage.take(1); next.length > 0; next = await lineage.take(1)) {
    const [segment] = next;
    if (segment !== undefined && segment.no !== no) return segment;
  }
  return undefined;
}

function snapshotEvents({ session, prepared, at, turnSeq }: HeadPlan): readonly EventDraft[] {
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

export function headEvent(
  plan: Pick<HeadPlan, "session" | "prepared" | "status" | "at" | "turnSeq" | "compaction" | "ends">,
  inherits: HeadDraft["inherits"],
): EventDraft {
  const { session, prepared, status, at, turnSeq, compaction, ends } = plan;
  const { final, vars, finalSummary, summary, fingerprint, cacheId } = prepared;
  return {
    session: session.id,
    type: "head/created",
    at,
    // The id, which the commit adds, commits to all else there is to say.
    ...(turnSeq === undefined ? {} : { data: { turn: turnSeq } }),
    ...(final === null ? {} : { payloads: { final } }),
    head: {
      status,
      inherits,
      compacts: compaction?.compacts ?? null,
      adds: { messages: compaction === undefined ? 0 : 1, snapshots: vars === null ? 0 : 1 },
      commits: { final: committed(final), vars: committed(vars), summary: committed(summary) },
      columns: {
        final: final?.sha256 ?? null,
        salt: final?.salt ?? summary?.salt ?? null,
        final_summary: finalSummary,
        fingerprint,
        turn_seq: turnSeq ?? null,
        cache_id: cacheId ?? session.cache_id,
      },
    },
    writes: ends ?? [],
  };
}

function headMoved(session: SessionRow, expected: string | null): HoldfastError {
  return new HoldfastError("Conflict", `the current head of ${JSON.stringify(session.id)} is another one`, {
    details: { session: session.id, expected, actual: session.head },
    hint: "Another writer has published a head or moved it. Read the session again; fork to keep both.",
  });
}
