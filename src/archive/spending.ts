// What calls took and cost. Unknown is counted as unknown and never as nothing (rule SE11).
import type { CostReport, Spending } from "../contracts/archive.ts";
import type { CallRow, SpendingRow } from "../contracts/lineage-queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkId } from "../core/check.ts";
import { findSession } from "../sessions/find.ts";

const NOTHING: Spending = {
  ...{ calls: 0, inputTokens: 0, outputTokens: 0, cachedTokens: 0 },
  ...{ unknownTokens: 0, costUsd: 0, unknownCosts: 0 },
};

export function spentOn(calls: readonly CallRow[]): Spending {
  return calls.map(ofCall).reduce(plus, NOTHING);
}

function ofCall({ tokens_in, tokens_out, tokens_cached, cost_usd }: CallRow): Spending {
  return {
    ...{ calls: 1, inputTokens: tokens_in ?? 0, outputTokens: tokens_out ?? 0, cachedTokens: tokens_cached ?? 0 },
    unknownTokens: tokens_in === null || tokens_out === null ? 1 : 0,
    ...{ costUsd: cost_usd ?? 0, unknownCosts: cost_usd === null ? 1 : 0 },
  };
}

function plus(a: Spending, b: Spending): Spending {
  return {
    calls: a.calls + b.calls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    unknownTokens: a.unknownTokens + b.unknownTokens,
    costUsd: a.costUsd + b.costUsd,
    unknownCosts: a.unknownCosts + b.unknownCosts,
  };
}

function ofRow(row: SpendingRow): Spending {
  return {
    ...{ calls: row.calls, inputTokens: row.tokens_in, outputTokens: row.tokens_out, cachedTokens: row.tokens_cached },
    ...{ unknownTokens: row.unknown_tokens, costUsd: row.cost_usd, unknownCosts: row.unknown_costs },
  };
}

export async function costOf(storage: Storage, session: unknown): Promise<CostReport> {
  const id = session === undefined ? null : (await findSession(storage, checkId(session, "session"))).id;
  const rows = await storage.query("calls.spending", id, id);
  const sessions = [...Map.groupBy(rows, (row) => row.session)].map(([name, found]) => {
    const models = found.map((row) => ({ provider: row.provider, model: row.model, ...ofRow(row) }));
    return { session: name, total: models.reduce<Spending>(plus, NOTHING), models };
  });
  return { total: sessions.map(({ total }) => total).reduce(plus, NOTHING), sessions };
}
