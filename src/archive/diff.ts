// Compares two heads or sessions. Messages and calls are the same if they are the same row of the same log: forks share rows, and do not
// copy them.
import type { Diff, DiffSide } from "../contracts/archive.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { View } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import type { CallRow, MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { canonicalJson } from "../core/hashing.ts";
import { type LineageStretch, lineageAt } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import { findAt } from "../core/session-lookup.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { messageRowsAt, messagesOf } from "../history/at.ts";
import { sessionOf } from "../sessions/describe.ts";
import { versions, viewAt } from "../sessions/view.ts";
import { sumSpending } from "./spending.ts";

interface Side {
  readonly view: View;
  readonly lineage: readonly LineageStretch[];
  readonly messages: ReadonlyMap<string, MessageAtRow>;
  readonly calls: ReadonlyMap<string, CallRow>;
  readonly state: JsonObject;
}

export async function diffOf(storage: Storage, payloads: Payloads, first: Locator, second: Locator): Promise<Diff> {
  const a = await readSide(storage, payloads, first);
  const b = await readSide(storage, payloads, second);
  const slice = new TimeSlice(storage.environment);
  return {
    a: await sideOf(a, b, payloads, slice),
    b: await sideOf(b, a, payloads, slice),
    ancestor: await ancestorOf(storage, a.lineage, b.lineage),
    common: [...a.messages.keys()].filter((id) => b.messages.has(id)).length,
    state: stateDiff(a.state, b.state),
  };
}

function stateDiff(a: JsonObject, b: JsonObject): Diff["state"] {
  const [inA, inB] = [(key: string) => Object.hasOwn(a, key), (key: string) => Object.hasOwn(b, key)];
  const added = Object.keys(b).filter((key) => !inA(key));
  const removed = Object.keys(a).filter((key) => !inB(key));
  const changed = Object.keys(a).filter((key) => inB(key) && canonicalJson(a[key]) !== canonicalJson(b[key]));
  const of = (key: string) => ({ ...(inA(key) ? { a: a[key] } : {}), ...(inB(key) ? { b: b[key] } : {}) });
  const values = Object.fromEntries([...added, ...removed, ...changed].map((key) => [key, of(key)]));
  return { added, removed, changed, values };
}

async function readSide(storage: Storage, payloads: Payloads, locator: Locator): Promise<Side> {
  const found = await findAt(storage, locator);
  const view = await viewAt(storage, payloads, sessionOf(found.session, []), found);
  const lineage = await lineageAt(storage, { no: found.session.no, branch: view.branch, seq: view.seq });
  const messages = await messageRowsAt(storage, lineage);
  const calls = await versions(lineage, (stretch) => storage.query("calls.at", stretch));
  return {
    view,
    lineage,
    messages: new Map(messages.map((row) => [rowId(row.session, row.seq), row])),
    // A call that ended on only one side differs.
    calls: new Map(calls.map((row) => [`${rowId(row.session, row.first_seq)}@${row.seq}`, row])),
    state: await view.state(),
  };
}

async function sideOf(side: Side, other: Side, payloads: Payloads, slice: TimeSlice): Promise<DiffSide> {
  const own = [...side.messages].filter(([id]) => !other.messages.has(id)).map(([, row]) => row);
  const calls = [...side.calls].filter(([id]) => !other.calls.has(id)).map(([, row]) => row);
  const { session, head, branch, seq } = side.view;
  return {
    session: session.id,
    head,
    branch,
    seq,
    counts: await side.view.counts(),
    messages: await messagesOf(own, payloads, slice),
    spent: sumSpending(calls),
  };
}

/** Two lineages that share a stretch also share all older ones. So the first shared stretch has the common ancestor. */
async function ancestorOf(
  storage: Storage,
  a: readonly LineageStretch[],
  b: readonly LineageStretch[],
): Promise<Diff["ancestor"]> {
  for (const { no, branch, upTo, session } of a) {
    const shared = b.find((other) => other.no === no && other.branch === branch);
    if (shared === undefined) continue;
    const seq = Math.min(upTo, shared.upTo);
    const [head] = await storage.query("head.before", { session: no, branch, upTo: seq });
    return { session, branch, seq, head: head?.id ?? null };
  }
  return null;
}
