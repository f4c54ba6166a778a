// Verifies a session's hash chain and finds the kind of its first damage.
import { HoldfastError } from "../contracts/errors.ts";
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { WholeEventRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { sameBytes } from "../core/bytes.ts";
import { genesis, nextHash } from "../core/hashing.ts";
import { rowId } from "../core/row-id.ts";
import { verifyChain } from "../log/verify.ts";
import type { IssueReporter } from "./findings.ts";

/** Calls `see` with every event in order, once it is verified. */
export async function verifyLog(
  storage: Storage,
  reporter: IssueReporter,
  session: CheckedSessionRow,
  see: (event: WholeEventRow) => void,
): Promise<{ readonly ok: boolean; readonly end: number }> {
  const { id, no, seq: end, chain } = session;
  const report = await verifyChain(storage, id, undefined, undefined, see).catch((error: unknown) => {
    // The session was erased a moment ago: there is nothing left to check.
    if (error instanceof HoldfastError && (error.code === "SessionDeleted" || error.code === "NotFound")) return null;
    throw error;
  });
  if (report === null) return { ok: false, end: 0 };
  if (report.ok) return { ok: true, end };
  const { badSeq: bad, reason } = report;
  const rows = [rowId(id, bad)];
  const details = { seq: bad, reason };
  const [event] = await storage.query("events.at", { session: id, seq: bad });
  if (event === undefined) {
    const [next] = await storage.query("check.beyond", { session: no, end: bad });
    reporter.report(next?.seq == null ? "log-truncated" : "seq-gap", rows, details);
  } else if (bad > end) reporter.report("log-beyond-end", rows, details);
  else {
    const [before] =
      bad === 1 ? [{ hash: genesis(id) }] : await storage.query("events.at", { session: id, seq: bad - 1 });
    const follows = before !== undefined && sameBytes(nextHash(before.hash, event.body), event.hash);
    const isEnd = bad === end && !sameBytes(event.hash, chain);
    const kind = reason.endsWith("on another branch") ? "branch-wrong" : "event-mismatch";
    reporter.report(follows && !isEnd ? kind : "chain-broken", rows, details);
  }
  return { ok: false, end: Math.min(end, bad - 1) };
}
