// What a run has spent and what it may spend: the reasons for which a run ends by itself.

import { HoldfastError } from "../contracts/errors.ts";
import type { ModelReply } from "../contracts/models.ts";
import type { Run, RunLimits } from "../contracts/run-record.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { decodeText } from "../core/bytes.ts";
import { addUsd } from "../core/money.ts";

/** What the model calls of an iteration cost, replayed ones included. */
export class Spending {
  #tokens = 0;
  #cost: number | null = null;

  add({ inputTokens = 0, outputTokens = 0, costUsd = null }: ModelReply): void {
    this.#tokens += inputTokens + outputTokens;
    if (costUsd !== null) this.#cost = addUsd(this.#cost ?? 0, costUsd);
  }

  /** Together with what the run had spent before. A cost that is not known stays null, not 0. */
  after({ tokens, cost_usd }: RunRow): Pick<RunRow, "tokens" | "cost_usd"> {
    const cost = this.#cost === null ? cost_usd : addUsd(cost_usd ?? 0, this.#cost);
    return { cost_usd: cost, tokens: tokens + this.#tokens };
  }

  /** The columns that change: none where no model was asked. */
  changes(row: RunRow): Partial<Pick<RunRow, "tokens" | "cost_usd">> {
    return this.#tokens === 0 && this.#cost === null ? {} : this.after(row);
  }
}

export function limitsOf({ limits }: RunRow): RunLimits {
  return JSON.parse(decodeText(limits)) as RunLimits;
}

export function deadlineOf({ created_at }: RunRow, { wallMs }: RunLimits): number {
  return wallMs === undefined ? Number.POSITIVE_INFINITY : created_at + wallMs;
}

/** Why the run ends now; null: it goes on. */
export function stopReason(
  row: RunRow,
  limits: RunLimits,
  spending: Spending,
  now: number,
): NonNullable<Run["stopReason"]> | null {
  const { tokens, cost_usd } = spending.after(row);
  if (row.cancel === 1) return "cancelled";
  if (limits.iterations !== undefined && row.iteration >= limits.iterations) return "limit:iterations";
  if (limits.tokens !== undefined && tokens >= limits.tokens) return "limit:tokens";
  if (limits.costUsd !== undefined && (cost_usd ?? 0) >= limits.costUsd) return "limit:costUsd";
  return now >= deadlineOf(row, limits) ? "limit:wallMs" : null;
}

export function stopError(stop: NonNullable<Run["stopReason"]>): HoldfastError {
  if (stop === "cancelled") return new HoldfastError("Aborted", "the run was cancelled");
  const limit = stop.slice("limit:".length);
  return new HoldfastError("LimitExceeded", `the run reached its limit of ${limit}`, { details: { limit } });
}
