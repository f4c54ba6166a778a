// A session's state: every value holds from its event until the one that replaced it or took it away, and the log says
// which that is.

import type { JsonObject } from "../contracts/json.ts";
import type { CheckedStateRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { checkBlob, checkCommitments, compare, isErased, type Pair } from "./compare.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import { keysOf, removedBy } from "./state-endings.ts";
import type { Subject } from "./subject.ts";

const STATE = ["state/set", "state/patched", "state/cleared"] as const;

export async function checkState(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  let held: CheckedStateRow | null = null;
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
    if (held !== null) await checkValue(subject, held, row);
    held = row;
  }
  if (held !== null) await checkValue(subject, held, null);
}

async function checkValue(subject: Subject, row: CheckedStateRow, after: CheckedStateRow | null): Promise<void> {
  const { look, session } = subject;
  const id = rowId(session.id, row.seq);
  const next = after?.branch === row.branch && after.key === row.key ? after.seq : null;
  const isTwice = next !== null && row.until_seq === null;
  if (isTwice) look.report("state-held-twice", [id], { table: "state", key: row.key, branch: row.branch, until: next });
  const payload = { name: row.key, no: row.value_no, sha256: row.value, salt: row.salt };
  await checkBlob(subject, "state", id, payload);
  const said = compare(subject, row, {
    table: "state",
    seq: row.seq,
    branch: row.branch,
    types: STATE,
    pairs: ({ data }) => [
      ["branch", row.branch, row.event_branch],
      ["key", isSaid(subject, row, data), true],
      ...(isTwice ? [] : endPair(subject, row, next)),
      ...(data.expires === undefined || isForgotten(subject, row)
        ? []
        : ([["expires_at", row.expires_at, row.ord < 0 ? null : data.expires]] as const)),
    ],
  });
  if (said === null || isErased(subject, payload)) return;
  // Only its own value: the event commits to all of them. A row below 0 has none.
  const commitments = row.ord < 0 ? {} : { [row.key]: said.commitments[row.key] ?? "" };
  checkCommitments(subject, { table: "state", id }, { ...said, commitments }, [payload]);
}

/** A value stands at its place among the keys; a row below 0 only says that a key, or every key, is taken away. */
function isSaid(subject: Subject, row: CheckedStateRow, data: JsonObject): boolean {
  const keys = keysOf(data);
  if (row.ord >= 0) return keys[row.ord] === row.key;
  const removed = removedBy(String(row.event_type), data);
  if (removed === null ? row.key === "" : removed.has(row.key) && !keys.includes(row.key)) return true;
  return isForgotten(subject, row) && keys.includes(row.key);
}

/** Of a deleted session that was erased everywhere, what held something holds nothing. */
function isForgotten({ session }: Subject, row: CheckedStateRow): boolean {
  return session.deleted_at !== null && row.ord < 0;
}

function endPair({ ledger }: Subject, row: CheckedStateRow, next: number | null): readonly Pair[] {
  if (ledger === null) return [];
  const { until_seq } = row;
  // It is unknown what came later.
  const end = ledger.endOf(row.branch);
  const found = until_seq !== null && until_seq > end ? null : until_seq;
  return [["until_seq", found, ledger.endings.after(row, next, end)]];
}
