// Views of a session at a head, or now: every kind of row is read by range over the lineage. There is no copy that
// could disagree with the rows.
import type { Counts } from "../contracts/heads.ts";
import type { Invocation } from "../contracts/invocations.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { View } from "../contracts/lineage.ts";
import type { Session } from "../contracts/session.ts";
import type { InvocationRow, StretchParams } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decodeRow, oneOf, optional, utf8, whole } from "../core/decode.ts";
import { headOf } from "../core/head.ts";
import { type LineageStretch, lineageAt } from "../core/lineage.ts";
import { optionalRowId, rowId } from "../core/row-id.ts";
import type { LocatedSession } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { messageRowsIn, messagesOf } from "../history/at.ts";
import { decodeValue, readHeldAt, readValue } from "../state/rows.ts";
import { callOf } from "./calls.ts";
import { countLineage } from "./counts.ts";
import { evalOf } from "./evals.ts";
import { snapshotOf } from "./snapshots.ts";
import { turnOf } from "./turns.ts";

export async function viewAt(
  storage: Storage,
  payloads: Payloads,
  session: Session,
  { session: row, head }: LocatedSession,
): Promise<View> {
  const at = head === null ? row : { no: row.no, branch: head.branch, seq: head.seq };
  // Read on demand, because a lineage never changes.
  let found: Promise<readonly LineageStretch[]> | undefined;
  const lineage = () => {
    found ??= lineageAt(storage, at);
    return found;
  };
  return {
    session,
    head: head === null ? null : headOf(head),
    branch: at.branch,
    seq: at.seq,
    counts: async (): Promise<Counts> => (await countLineage(storage, at)).counts,
    messages: async (range) =>
      messagesOf(await messageRowsIn(storage, at, row.id, range), payloads, new TimeSlice(storage.environment)),
    turns: async () => (await versions(await lineage(), (s) => storage.query("turns.at", s))).map(turnOf),
    evals: async () => (await versions(await lineage(), (s) => storage.query("evals.at", s))).map(evalOf),
    calls: async () => (await versions(await lineage(), (s) => storage.query("calls.at", s))).map(callOf),
    invocations: async () =>
      (await versions(await lineage(), (s) => storage.query("invocations.at", s))).map(invocationOf),
    snapshots: async () =>
      (
        await stretches(await lineage(), (no, branch, upTo) =>
          storage.query("snapshots.at", { session: no, branch, after: 0, upTo }),
        )
      ).map(snapshotOf),
    heads: async () =>
      (
        await stretches(await lineage(), (no, branch, upTo) =>
          storage.query("heads.at", { session: no, branch, after: 0, upTo }),
        )
      ).map(headOf),
    async state(): Promise<JsonObject> {
      const entries: [string, JsonObject[string]][] = [];
      for (const held of await readHeldAt(storage, at)) {
        entries.push([held.key, decodeValue(await readValue(payloads, row.id, held))]);
      }
      return Object.fromEntries(entries);
    },
  };
}

/** Oldest first. */
async function stretches<R>(
  lineage: readonly LineageStretch[],
  read: (no: number, branch: number, upTo: number) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const rows = await Promise.all(lineage.map(({ no, branch, upTo }) => read(no, branch, upTo)));
  return rows.reverse().flat();
}

/** For each row its version in the newest stretch that has one, in the order in which the rows began. */
export async function versions<R extends { readonly session: string; readonly first_seq: number }>(
  lineage: readonly LineageStretch[],
  read: (stretch: StretchParams) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  const found = new Map<string, R>();
  const rows = await stretches(lineage, (session, branch, upTo) => read({ session, branch, after: 0, upTo }));
  for (const row of rows) found.set(rowId(row.session, row.first_seq), row);
  return [...found.values()];
}

const TYPES: readonly Invocation["type"][] = ["spawn", "attach"];
const STATUSES: readonly Invocation["status"][] = ["running", "done", "failed"];

export function invocationOf(row: InvocationRow): Invocation {
  const { session } = row;
  const found = decodeRow({ kind: "invocation", session, seq: row.first_seq }, row, {
    first_seq: whole,
    branch: whole,
    type: oneOf(TYPES),
    status: oneOf(STATUSES),
    label: optional(utf8),
    created_at: whole,
    completed_at: optional(whole),
  });
  return {
    id: rowId(session, found.first_seq),
    session,
    seq: found.first_seq,
    branch: found.branch,
    type: found.type,
    mode: modeOf(row),
    status: found.status,
    callee: row.callee,
    callerHeadBefore: row.caller_before,
    callerHeadAfter: row.caller_after,
    calleeHeadBefore: row.callee_before,
    calleeHeadAfter: row.callee_after,
    call: optionalRowId(session, row.call_seq),
    label: found.label,
    source:
      row.source === null
        ? null
        : {
            session: row.source,
            head: row.source_head,
            fingerprint: row.source_fingerprint,
            snapshot: optionalRowId(row.source, row.source_snapshot_seq),
          },
    createdAt: found.created_at,
    completedAt: found.completed_at,
  };
}

/** An invocation that continues a session works in the attached session itself. */
function modeOf({ type, callee, source }: InvocationRow): Invocation["mode"] {
  if (type !== "attach") return null;
  return callee !== null && callee === source ? "continue" : "branch";
}
