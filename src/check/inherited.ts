// When one session is checked alone, this checks the ranges of other sessions' logs that it inherits, and every row of
// those ranges. A check of the whole store checks each of those sessions by itself.
import type { CheckKind } from "../contracts/check.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedHeadRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { readInheritedRanges, verifyInherited } from "../log/inherited.ts";
import type { IssueReporter } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";
import { readKeptRanges, tombstoneKind } from "./tombstones.ts";

/** Damage of the log itself is already reported, and events after the range are not inherited. */
const STRETCH_EVENTS: ReadonlySet<CheckKind> = new Set(["seq-gap", "chain-broken", "event-mismatch", "remains-left"]);

/** `rows` checks every row of a session, and that the rows its log announces exist. */
export async function checkInherited(
  { survey, reporter, session }: Subject,
  rows: (source: Subject, ledger: Ledger) => Promise<void>,
): Promise<void> {
  const { storage } = survey;
  for await (const { session: source, ...bad } of verifyInherited(storage, session, "all")) {
    reporter.report(tombstoneKind(bad), [rowId(source, bad.seq)], { ...bad, inheritedBy: session.id });
  }
  for (const [id, kept] of await readInheritedRanges(storage, session)) {
    const [source] = await storage.query("check.session", { id });
    if (source === undefined) continue;
    const inherited: InheritedSource = { source: id, heads: new Set(), ledger: null };
    const rangeReporter = reportInside(reporter, inherited, session.id);
    const uncounted: Survey = { ...survey, count: () => {} };
    inherited.ledger = await readKeptRanges(uncounted, rangeReporter, source, kept);
    await readHeads(survey, source.no, inherited);
    await rows(
      { survey: uncounted, reporter: rangeReporter, session: source, ledger: inherited.ledger },
      inherited.ledger,
    );
  }
}

interface InheritedSource {
  readonly source: string;
  /** The heads in the inherited ranges. */
  readonly heads: Set<string>;
  /** null while the log is read: the reader only sees the inherited ranges then. */
  ledger: Ledger | null;
}

async function readHeads({ storage }: Survey, no: number, { heads, ledger }: InheritedSource): Promise<void> {
  for await (const row of rowsOf<CheckedHeadRow>((last) =>
    storage.query("check.heads", { session: no, afterSeq: last?.seq ?? 0, afterNo: last?.no ?? 0, limit: PAGE }),
  )) {
    if (ledger?.covers(row.seq)) heads.add(row.id);
  }
}

function reportInside(reporter: IssueReporter, inherited: InheritedSource, inheritedBy: string): IssueReporter {
  return {
    isRequested: reporter.isRequested,
    report: (kind, rows, details = {}) => {
      if (!STRETCH_EVENTS.has(kind) && isInside(rows, details, inherited))
        reporter.report(kind, rows, { ...details, inheritedBy });
    },
  };
}

function isInside(rows: readonly string[], details: JsonObject, { source, heads, ledger }: InheritedSource): boolean {
  if (ledger === null) return true;
  if (rows.some((row) => heads.has(row))) return true;
  // An issue about a blob lists the blob's ref first and the row that names it second.
  const row = rows.find((one) => one.startsWith(`${source}#`)) ?? "";
  const seq = details.seq ?? (row.startsWith(`${source}#`) ? Number(row.slice(source.length + 1)) : details.branch);
  return typeof seq === "number" && ledger.covers(seq);
}
