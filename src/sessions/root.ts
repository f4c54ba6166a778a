// What a head commits to: the small root beside its row, and the id made from it. Payloads stand in it as commitments, so
// that a head's id survives their erasure and confirms no guess.
import type { Compaction, Counts, Head, HeadStatus } from "../contracts/lineage.ts";
import type { HeadRow } from "../contracts/lineage-queries.ts";
import type { PreparedPayload } from "../contracts/payloads.ts";
import { encodeText, sha256, toHex, toRef } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { commitment } from "../core/chain.ts";
import { type Column, decodeRow, digest, jsonObject, oneOf, optional, text, utf8, whole } from "../core/decode.ts";
import { optionalRowId } from "../core/row-id.ts";

export interface Root {
  readonly counts: Counts;
  readonly final: string | null;
  readonly vars: string | null;
  readonly fingerprint: string | null;
  readonly compaction: Compaction | null;
}

/** Without what is null or none: there is a root for every head, so it is short. Its counter is the head's own seq. */
export function encodeRoot({ counts, ...rest }: Root): Uint8Array {
  const said = (facts: object) =>
    Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== null && fact !== 0));
  return encodeText(canonicalJson({ v: 1, counts: said(counts), ...said(rest) } as never));
}

export function committed(payload: PreparedPayload | null): string | null {
  return payload === null ? null : commitment(payload.salt, payload.sha256);
}

/** What a head's id is made of. Numbers of rows never enter it. */
export interface Identity {
  readonly session: string;
  readonly branch: number;
  readonly seq: number;
  readonly chain: Uint8Array;
  readonly basis: string | null;
  /** What a fork's first head continues: session, branch and seq. */
  readonly source: { readonly session: string; readonly branch: number; readonly seq: number } | null;
  readonly status: HeadStatus;
  readonly root: Uint8Array;
}

export function headId({ chain, root, ...rest }: Identity): string {
  const text = canonicalJson({ ...rest, chain: toHex(chain), root: toHex(sha256(root)) } as never);
  return `hd-${toHex(sha256(encodeText(text)))}`;
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

const compaction: Column<Compaction | null> = {
  wanted: "a compaction",
  read(value) {
    if (value === null || value === undefined) return null;
    const found = value as Readonly<Record<string, unknown>>;
    const sound = typeof found.summary === "string" && typeof found.upTo === "string";
    return sound ? (found as unknown as Compaction) : undefined;
  },
};

const STATUSES: readonly HeadStatus[] = ["complete", "aborted"];

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

export function rootOf(row: HeadRow): { readonly counts: Counts; readonly compaction: Compaction | null } {
  const name = { kind: "head", id: row.id };
  const { root } = decodeRow(name, row, { root: jsonObject });
  return decodeRow(name, root, { counts, compaction });
}

export function headOf(row: HeadRow): Head {
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
