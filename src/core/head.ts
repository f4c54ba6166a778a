// What a head commits to: the small root in its row, and the id made from the root. The root contains payloads as
// commitments, so that a head's id survives their erasure and does not confirm guesses. The commit that publishes a
// head completes it.
import type { Context } from "../contracts/context.ts";
import type { Counts, Head } from "../contracts/heads.ts";
import type { HeadDraft, PublishedHead } from "../contracts/storage/commit.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import { encodeText, sha256, sha256Hex, toHex, toRef } from "./bytes.ts";
import { addCounts, NONE } from "./counts.ts";
import { type Column, decodeRow, digest, jsonObject, oneOf, optional, text, utf8, whole } from "./decode.ts";
import { canonicalJson, commitment } from "./hashing.ts";
import { optionalRowId, rowId } from "./row-id.ts";

export interface HeadRoot {
  readonly counts: Counts;
  readonly final: string | null;
  readonly vars: string | null;
  readonly fingerprint: string | null;
  readonly compaction: NonNullable<Context["compaction"]> | null;
  readonly summary: string | null;
  readonly cacheId: string | null;
}

/**
 * Fields that are null or zero are left out to keep the root short, because every head stores one. Its counter is the
 * head's own seq. Roots of version 1 contain neither the summary nor the cache id.
 */
export function encodeRoot(root: HeadRoot, v: 1 | 2 = 2): Uint8Array {
  const { counts, compaction, final, fingerprint, vars } = root;
  const { summary, cacheId } = v === 1 ? { summary: null, cacheId: null } : root;
  // Canonical JSON. The code writes the fields in canonical order and does not sort, because every checkpoint makes a
  // head.
  let text = "{";
  if (cacheId !== null) text += `"cacheId":${canonicalJson(cacheId)},`;
  if (compaction !== null) text += `"compaction":${canonicalJson(compaction)},`;
  text += `"counts":{${encodeCounts(counts)}},`;
  if (final !== null) text += `"final":${canonicalJson(final)},`;
  if (fingerprint !== null) text += `"fingerprint":${canonicalJson(fingerprint)},`;
  if (summary !== null) text += `"summary":${canonicalJson(summary)},`;
  text += `"v":${v}`;
  if (vars !== null) text += `,"vars":${canonicalJson(vars)}`;
  return encodeText(`${text}}`);
}

function encodeCounts({ calls, evals, invocations, messages, snapshots, turns }: Counts): string {
  let text = "";
  if (calls !== 0) text += `,"calls":${calls}`;
  if (evals !== 0) text += `,"evals":${evals}`;
  if (invocations !== 0) text += `,"invocations":${invocations}`;
  if (messages !== 0) text += `,"messages":${messages}`;
  if (snapshots !== 0) text += `,"snapshots":${snapshots}`;
  if (turns !== 0) text += `,"turns":${turns}`;
  return text.slice(1);
}

export function committed(payload: { readonly sha256: Uint8Array; readonly salt: Uint8Array } | null): string | null {
  return payload === null ? null : commitment(payload.salt, payload.sha256);
}

/** The commitment to the row's summary. If the summary was erased, only the commitment in the root is left. */
export function committedSummary(
  { final_summary, salt }: Pick<HeadRow, "final_summary" | "salt">,
  said: string | null,
): string | null {
  if (final_summary === null) return salt === null ? said : null;
  // A summary without its salt is damage, whatever the root contains.
  return salt?.byteLength === 16 ? commitment(salt, sha256(final_summary)) : "";
}

/** What a head's id is made from. Row numbers are never part of it. */
export interface HeadIdentity {
  readonly session: string;
  readonly branch: number;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly basis: string | null;
  /** The position that a fork's first head continues: session, branch and seq. */
  readonly source: { readonly session: string; readonly branch: number; readonly seq: number } | null;
  readonly status: Head["status"];
  readonly root: Uint8Array;
}

export function headId({ basis, branch, chain, root, seq, session, source, status }: HeadIdentity): string {
  // In canonical order, so that the hot path does not sort.
  const from = source === null ? null : { branch: source.branch, seq: source.seq, session: source.session };
  const event = { basis, branch, chain: toHex(chain), root: sha256Hex(root), seq, session, source: from, status };
  return `hd-${sha256Hex(canonicalJson(event))}`;
}

/** A head's id, and what the next head inherits from it. */
export interface NewestHead {
  readonly id: string;
  readonly counts: Counts;
  readonly compaction: NonNullable<Context["compaction"]> | null;
}

/** The state of a branch at the moment of a commit: its newest head, and the rows counted after it. */
export interface BranchPosition {
  readonly head: NewestHead | null;
  readonly since: Counts;
}

/** The position of the event that publishes the head. */
export interface EventPosition {
  readonly session: string;
  readonly no: number;
  readonly branch: number;
  readonly seq: number;
  /** The chain hash of the event before it. */
  readonly chain: Uint8Array;
  readonly at: number;
}

export interface CompleteHead {
  readonly row: PublishedHead;
  readonly newest: NewestHead;
}

export function completeHead(draft: HeadDraft, event: EventPosition, position: BranchPosition): CompleteHead {
  const { status, commits, columns, compacts } = draft;
  const { session, no, branch, seq, chain, at } = event;
  const before = position.head === null ? inherited(draft) : continued(position.head);
  const { basis, source } = before;
  const since = position.since === NONE ? before.counts : addCounts(before.counts, position.since);
  const counts = addCounts(since, draft.adds);
  const compaction = compacts === null ? before.compaction : { summary: rowId(session, seq - 1), ...compacts };
  const root = encodeRoot({
    counts,
    compaction,
    final: commits.final,
    vars: commits.vars,
    summary: commits.summary,
    fingerprint: columns.fingerprint,
    cacheId: columns.cache_id,
  });
  const id = headId({ session, branch, seq, chain, basis: basis?.id ?? null, source, status, root });
  return {
    row: {
      id,
      session,
      session_no: no,
      branch,
      seq,
      basis: basis?.id ?? null,
      status,
      chain,
      root,
      at,
      ...columns,
      snapshot_seq: commits.vars === null ? null : seq - 1,
    },
    newest: { id, counts, compaction },
  };
}

function inherited({ inherits }: HeadDraft): NonNullable<HeadDraft["inherits"]> {
  if (inherits === null) throw new Error("bug: a branch that had a head has none");
  return inherits;
}

function continued(head: NewestHead): NonNullable<HeadDraft["inherits"]> {
  return { basis: head, source: null, counts: head.counts, compaction: head.compaction };
}

const COUNTS = ["messages", "turns", "evals", "calls", "snapshots", "invocations"] as const;

const counts: Column<Counts> = {
  wanted: "counts of rows",
  read(value) {
    if (typeof value !== "object" || value === null) return undefined;
    const found = Object.fromEntries(COUNTS.map((name) => [name, (value as Record<string, unknown>)[name] ?? 0]));
    return Object.values(found).every(Number.isSafeInteger) ? (found as unknown as Counts) : undefined;
  },
};

const compaction: Column<NonNullable<Context["compaction"]> | null> = {
  wanted: "a compaction",
  read(value) {
    if (value === null || value === undefined) return null;
    const found = value as Readonly<Record<string, unknown>>;
    const { over = [] } = found;
    const sound =
      typeof found.summary === "string" &&
      typeof found.upTo === "string" &&
      Array.isArray(over) &&
      over.every((one) => typeof one === "string");
    return sound ? (found as unknown as NonNullable<Context["compaction"]>) : undefined;
  },
};

const STATUSES: readonly Head["status"][] = ["complete", "aborted"];

const HEAD = {
  branch: whole,
  seq: whole,
  basis: optional(text),
  status: oneOf(STATUSES),
  chain: digest,
  root: jsonObject,
  final_summary: optional(utf8),
  fingerprint: optional(text),
  cache_id: optional(text),
  at: whole,
};

export function rootOf(row: Pick<HeadRow, "id" | "root">): {
  readonly counts: Counts;
  readonly compaction: NonNullable<Context["compaction"]> | null;
} {
  const name = { kind: "head", id: row.id };
  const { root } = decodeRow(name, row, { root: jsonObject });
  return decodeRow(name, root, { counts, compaction });
}

export function headOf(row: PublishedHead): Head {
  const found = decodeRow({ kind: "head", id: row.id }, row, HEAD);
  const root = rootOf(row);
  return {
    id: row.id,
    session: row.session,
    branch: found.branch,
    seq: found.seq,
    chain: toHex(found.chain),
    basis: found.basis,
    status: found.status,
    counts: root.counts,
    finalRef: row.final === null ? null : toRef(row.final),
    finalSummary: found.final_summary,
    snapshot: optionalRowId(row.session, row.snapshot_seq),
    fingerprint: found.fingerprint,
    turn: optionalRowId(row.session, row.turn_seq),
    cacheId: found.cache_id,
    compaction: root.compaction,
    at: found.at,
  };
}
