// A session's state: every value holds from its event until the event that replaced or removed it, and the log says
// which event that is.
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedStateRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { type ColumnPair, checkBlob, checkCommitments, compare, isErased } from "./compare.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import { keysOf, removedBy } from "./state-endings.ts";
import type { Subject } from "./subject.ts";

const STATE = ["state/set", "state/patched", "state/cleared"] as const;

export async function checkState(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  let previous: CheckedStateRow | null = null;
  for await (const row of rowsOf<CheckedStateRow>((last) =>
    survey.storage.query("check.state", {
      session: session.no,
      afterBranch: last?.branch ?? BEFORE_ALL,
      afterKey: last?.key ?? "",
      afterSeq: last?.seq ?? BEFORE_ALL,
      limit: PAGE,
    }),
  )) {
    survey.count("state");
    if (previous !== null) await checkValue(subject, previous, row);
    previous = row;
  }
  if (previous !== null) await checkValue(subject, previous, null);
}

async function checkValue(subject: Subject, row: CheckedStateRow, after: CheckedStateRow | null): Promise<void> {
  const { reporter, session } = subject;
  const id = rowId(session.id, row.seq);
  const next = after?.branch === row.branch && after.key === row.key ? after.seq : null;
  const isTwice = next !== null && row.until_seq === null;
  if (isTwice)
    reporter.report("state-held-twice", [id], { table: "state", key: row.key, branch: row.branch, until: next });
  const payload = { name: row.key, no: row.value_no, sha256: row.value, salt: row.salt };
  await checkBlob(subject, "state", id, payload);
  const logged = compare(subject, row, {
    table: "state",
    seq: row.seq,
    branch: row.branch,
    types: STATE,
    pairs: ({ data }) => [
      ["branch", row.branch, row.event_branch],
      ["key", isLogged(subject, row, data), true],
      ...(isTwice ? [] : endPair(subject, row, next)),
      ...(data.expires === undefined || isForgotten(subject, row)
        ? []
        : ([["expires_at", row.expires_at, row.ord < 0 ? null : data.expires]] as const)),
    ],
  });
  if (logged === null || isErased(subject, payload)) return;
  // The event commits to all of its values, and this row has one of them. A row with a negative ord has none.
  const commitments = row.ord < 0 ? {} : { [row.key]: logged.commitments[row.key] ?? "" };
  checkCommitments(subject, { table: "state", id }, { ...logged, commitments }, [payload]);
}

/** A value's ord is its index among the event's keys; a row with a negative ord removes a key, or every key. */
function isLogged(subject: Subject, row: CheckedStateRow, data: JsonObject): boolean {
  const keys = keysOf(data);
  if (row.ord >= 0) return keys[row.ord] === row.key;
  const removed = removedBy(String(row.event_type), data);
  if (removed === null ? row.key === "" : removed.has(row.key) && !keys.includes(row.key)) return true;
  return isForgotten(subject, row) && keys.includes(row.key);
}

/** A session that was deleted everywhere keeps the rows of its values without the values, with a negative ord. */
function isForgotten({ session }: Subject, row: CheckedStateRow): boolean {
  return session.deleted_at !== null && row.ord < 0;
}

function endPair({ ledger }: Subject, row: CheckedStateRow, next: number | null): readonly ColumnPair[] {
  if (ledger === null) return [];
  const { until_seq } = row;
  // The events after the end of the branch are unknown.
  const end = ledger.endOf(row.branch);
  const found = until_seq !== null && until_seq > end ? null : until_seq;
  return [["until_seq", found, ledger.endings.after(row, next, end)]];
}
