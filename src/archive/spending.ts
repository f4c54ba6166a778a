// Sums tokens and cost of calls. Unknown values are counted as unknown and never as zero (rule SE11).
import type { CostReport, Spending } from "../contracts/archive.ts";
import type { Locator } from "../contracts/locators.ts";
import type { CallRow, HeadRow, SpendingRow } from "../contracts/storage/lineage-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { lineageAt } from "../core/lineage.ts";
import { addUsd, roundUsd } from "../core/money.ts";
import { findAt } from "../core/session-lookup.ts";
import { versions } from "../sessions/view.ts";

const NOTHING: Spending = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  unknownTokens: 0,
  costUsd: 0,
  unknownCosts: 0,
};

export function sumSpending(calls: readonly CallRow[]): Spending {
  return calls.map(ofCall).reduce(addSpending, NOTHING);
}

function ofCall({ tokens_in, tokens_out, tokens_cached, cost_usd }: CallRow): Spending {
  return {
    calls: 1,
    inputTokens: tokens_in ?? 0,
    outputTokens: tokens_out ?? 0,
    cachedTokens: tokens_cached ?? 0,
    unknownTokens: tokens_in === null || tokens_out === null ? 1 : 0,
    costUsd: cost_usd ?? 0,
    unknownCosts: cost_usd === null ? 1 : 0,
  };
}

export function addSpending(a: Spending, b: Spending): Spending {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    unknownTokens: a.unknownTokens + b.unknownTokens,
    costUsd: addUsd(a.costUsd, b.costUsd),
    unknownCosts: a.unknownCosts + b.unknownCosts,
  };
}

function ofRow(row: SpendingRow): Spending {
  return {
    calls: row.calls,
    inputTokens: row.tokens_in,
    outputTokens: row.tokens_out,
    cachedTokens: row.tokens_cached,
    unknownTokens: row.unknown_tokens,
    costUsd: roundUsd(row.cost_usd),
    unknownCosts: row.unknown_costs,
  };
}

/** The cost of all sessions, of one session on all of its branches, or of the calls of a head's lineage. */
export async function costOf(storage: Storage, locator: Locator | null): Promise<CostReport> {
  const found = locator === null ? null : await findAt(storage, locator);
  if (found !== null && found.head !== null) return reportOf(await spentAt(storage, found.head));
  const id = found?.session.id ?? null;
  const rows = await storage.query("calls.spending", { session: id });
  return reportOf(rows.map((row) => ({ ...modelOf(row), ...ofRow(row) })));
}

type SpendingBySession = CostReport["sessions"][number]["models"][number] & { readonly session: string };

function modelOf({ session, provider, model }: Pick<SpendingBySession, "session" | "provider" | "model">) {
  return { session, provider, model };
}

function reportOf(spent: readonly SpendingBySession[]): CostReport {
  const sessions = [...Map.groupBy(spent, ({ session }) => session)].map(([session, found]) => {
    const models = found.map(({ session: _, ...model }) => model);
    return { session, total: models.reduce<Spending>(addSpending, NOTHING), models };
  });
  return { total: sessions.map(({ total }) => total).reduce(addSpending, NOTHING), sessions };
}

/** A call counts for the session that logged it, also if another session inherits it. */
async function spentAt(storage: Storage, head: HeadRow): Promise<readonly SpendingBySession[]> {
  const lineage = await lineageAt(storage, { no: head.session_no, branch: head.branch, seq: head.seq });
  const calls = await versions(lineage, (stretch) => storage.query("calls.at", stretch));
  const groups = Map.groupBy(calls, (call) => JSON.stringify([call.session, call.provider ?? "", call.model ?? ""]));
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, [first, ...rest]]) =>
      first === undefined ? [] : [{ ...modelOf(first), ...sumSpending([first, ...rest]) }],
    );
}
