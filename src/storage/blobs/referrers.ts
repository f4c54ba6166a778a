// The rows that refer to a blob, as callers get them.
import type { BlobReferrer } from "../../contracts/blobs.ts";
import type { ReferrerRow } from "../../contracts/storage/blob-queries.ts";
import { rowId } from "../../core/row-id.ts";
import type { BlobContext } from "./byte-store.ts";
import { PREFIX_BYTES } from "./inline-content.ts";

export async function findReferrers(
  context: BlobContext,
  digest: Uint8Array,
  limit: number,
): Promise<readonly BlobReferrer[]> {
  const { storage } = context;
  const rows = await storage.query("blob.referrers", { sha256: digest, limit });
  const inline = await storage.query("inline.referrers", {
    prefix: digest.slice(0, PREFIX_BYTES),
    sha256: digest,
    limit,
  });
  const recent = await storage.query("inline.referrersUnindexed", { sha256: digest, limit });
  const found = [...recent, ...inline, ...rows].map(referrerOf);
  // A row may come into the index between the two reads.
  return [...new Map(found.map((one) => [`${one.kind} ${one.id}`, one])).values()].slice(0, limit);
}

const KINDS: Readonly<Record<string, BlobReferrer["kind"]>> = {
  annotations: "annotation",
  state: "state",
  evals: "eval",
  calls: "call",
  snapshots: "snapshot",
  heads: "head",
  captures: "capture",
  blocks: "block",
  documents: "document",
};

/** By the type of an event, the first that it begins with. */
const EVENT_KINDS: readonly (readonly [prefix: string, kind: BlobReferrer["kind"]])[] = [
  ["message/", "message"],
  ["step/", "step"],
  ["iteration/", "checkpoint"],
  ["checkpoint/", "checkpoint"],
  ["run/signalled", "signal"],
  ["run/", "run"],
];

function referrerOf(row: ReferrerRow): BlobReferrer {
  const { source, type, session } = row;
  const kind =
    source === "events"
      ? (EVENT_KINDS.find(([prefix]) => type?.startsWith(prefix))?.[1] ?? "event")
      : (KINDS[source] ?? "event");
  return { kind, id: idOf(row), session, how: row.named === 1 ? "attachment" : "content" };
}

function idOf({ source, session, seq, name }: ReferrerRow): string {
  if (source === "heads" || source === "captures" || source === "documents") return name ?? "";
  if (source === "blocks") return `${name}#${seq}`;
  return source === "state" ? `${session}/${name}` : rowId(session ?? "", seq);
}
