// Publishes a head: one commit with its events, the head itself, and the session's pointer to it. The head's id
// contains the chain hash before it, which only the commit knows, because others may append until then. So the commit
// completes the draft that is decided here.
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
import { type LineageStretch, type LinePosition, readLineageAt } from "../core/lineage.ts";
import { branchGuard, headGuard, whileIdle } from "../core/session-guards.ts";
import { countLineage } from "./counts.ts";
import { preparePayloads } from "./payload-columns.ts";

/** A checked HeadInput, its payloads ready to be stored. */
export interface PreparedHead {
  readonly final: PreparedPayload | null;
  readonly vars: PreparedPayload | null;
  readonly finalSummary: Uint8Array | null;
  /** The commitment to the summary, with the salt of the final value, because a head has one salt. */
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
  /** The summary message before the head, and the last message that it covers, by its id. */
  readonly compaction?: { readonly append: Commit; readonly compacts: NonNullable<HeadDraft["compacts"]> };
  /** Rows that the head's own event writes, and the agents that they refer to. */
  readonly ends?: readonly Write[];
  readonly agents?: readonly string[];
  /** Events after it. */
  readonly after?: readonly EventDraft[];
  /** Further guards of the decision. */
  readonly guards?: readonly Guard[];
}

/**
 * A rule for `decide`. It is decided again if the session has moved to another branch, but not because others append.
 */
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
        branchGuard(session),
        ...(expect === undefined ? [] : [headGuard(session)]),
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
      if (head === undefined) throw new Error("bug: the commit returned no head");
      return headOf(head);
    },
  };
}

/** What the branch continues, if it has no head yet. It cannot change while the session is on the branch. */
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

/** The newest stretch that belongs to another session. */
async function firstOther(storage: Storage, at: LinePosition, no: number): Promise<LineageStretch | undefined> {
  const lineage = readLineageAt(storage, at);
  for (let next = await lineage.take(1); next.length > 0; next = await lineage.take(1)) {
    const [stretch] = next;
    if (stretch !== undefined && stretch.no !== no) return stretch;
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
    // The commit adds the head's id, which commits to everything else.
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
  return new HoldfastError(
    "Conflict",
    `the session ${JSON.stringify(session.id)} has another current head than the expected one`,
    {
      details: { session: session.id, expected, actual: session.head },
      hint: "Another writer has published a head or moved it. Read the session again; fork to keep both.",
    },
  );
}
