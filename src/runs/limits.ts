// What a run has spent and what it may spend, and when a limit ends it.
import { HoldfastError } from "../contracts/errors.ts";
import type { ModelReply } from "../contracts/models.ts";
import type { Run, RunLimits } from "../contracts/run-record.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";
import { decodeText } from "../core/bytes.ts";
import { addUsd } from "../core/money.ts";

/** The tokens and cost of the model calls of an iteration, including replayed ones. */
export class Spending {
  #tokens = 0;
  #cost: number | null = null;

  add({ inputTokens = 0, outputTokens = 0, costUsd = null }: ModelReply): void {
    this.#tokens += inputTokens + outputTokens;
    if (costUsd !== null) this.#cost = addUsd(this.#cost ?? 0, costUsd);
  }

  /** Adds what the run had spent before. An unknown cost stays null, and does not become 0. */
  after({ tokens, cost_usd }: RunRow): Pick<RunRow, "tokens" | "cost_usd"> {
    const cost = this.#cost === null ? cost_usd : addUsd(cost_usd ?? 0, this.#cost);
    return { cost_usd: cost, tokens: tokens + this.#tokens };
  }

  /** The columns that change: none if no model was called. */
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

/** Why the run must end now; null if it may continue. */
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
