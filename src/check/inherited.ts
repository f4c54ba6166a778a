// What a session that is checked alone inherits: stretches of other sessions' logs, and every row of those stretches that
// it reads through them. In a check of everything, each of those sessions is looked at by itself.
import type { CheckKind } from "../contracts/check.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedHeadRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import { readInheritedRanges, verifyInherited } from "../log/inherited.ts";
import type { SecondLook } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { PAGE, rowsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";
import type { Survey } from "./survey.ts";
import { readKeptRanges, tombstoneKind } from "./tombstones.ts";

/** Damage of the log itself is reported once, and what lies after the stretch is not inherited. */
const STRETCH_EVENTS: ReadonlySet<CheckKind> = new Set(["seq-gap", "chain-broken", "event-mismatch", "remains-left"]);

/** `rows` looks at every row of a session, and at what its log announced. */
export async function checkInherited(
  { survey, look, session }: Subject,
  rows: (source: Subject, ledger: Ledger) => Promise<void>,
): Promise<void> {
  const { storage } = survey;
  for await (const { session: source, ...bad } of verifyInherited(storage, session, "all")) {
    look.report(tombstoneKind(bad), [rowId(source, bad.seq)], { ...bad, inheritedBy: session.id });
  }
  for (const [id, kept] of await readInheritedRanges(storage, session)) {
    const [source] = await storage.query("check.session", { id });
    if (source === undefined) continue;
    const place: InheritedSource = { source: id, heads: new Set(), ledger: null };
    const inside = within(look, place, session.id);
    const quiet: Survey = { ...survey, count: () => {} };
    place.ledger = await readKeptRanges(quiet, inside, source, kept);
    await readHeads(survey, source.no, place);
    await rows({ survey: quiet, look: inside, session: source, ledger: place.ledger }, place.ledger);
  }
}

interface InheritedSource {
  readonly source: string;
  /** Those of the stretches. */
  readonly heads: Set<string>;
  /** null while the log is read, of which only what is inherited is looked at. */
  ledger: Ledger | null;
}

async function readHeads({ storage }: Survey, no: number, { heads, ledger }: InheritedSource): Promise<void> {
  for await (const row of rowsOf<CheckedHeadRow>((last) =>
    storage.query("check.heads", { session: no, afterSeq: last?.seq ?? 0, afterNo: last?.no ?? 0, limit: PAGE }),
  )) {
    if (ledger?.covers(row.seq)) heads.add(row.id);
  }
}

function within(look: SecondLook, place: InheritedSource, inheritedBy: string): SecondLook {
  return {
    isRequested: look.isRequested,
    report: (kind, rows, details = {}) => {
      if (!STRETCH_EVENTS.has(kind) && isInside(rows, details, place))
        look.report(kind, rows, { ...details, inheritedBy });
    },
  };
}

function isInside(rows: readonly string[], details: JsonObject, { source, heads, ledger }: InheritedSource): boolean {
  if (ledger === null) return true;
  if (rows.some((row) => heads.has(row))) return true;
  // Of a blob the row that names it comes behind its ref.
  const row = rows.find((one) => one.startsWith(`${source}#`)) ?? "";
  const seq = details.seq ?? (row.startsWith(`${source}#`) ? Number(row.slice(source.length + 1)) : details.branch);
  return typeof seq === "number" && ledger.covers(seq);
}
