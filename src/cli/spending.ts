// Formats tokens and cost. Unknown amounts are shown as unknown, never as 0.
import type { Spending } from "../contracts/archive.ts";
import { formatCount, plural } from "./units.ts";

/** For example "$0.25", "at least $0.25 (2 of 5 calls unknown)" or "unknown". */
export function formatCost({ calls, costUsd, unknownCosts }: Spending): string {
  if (calls === 0) return "nothing";
  if (unknownCosts === calls) return "unknown";
  if (unknownCosts === 0) return formatUsd(costUsd);
  // The amount is rounded down, so that "at least" is true.
  const known = formatUsd(costUsd, "floor");
  return `at least ${known} (${formatCount(unknownCosts)} of ${plural(calls, "call")} unknown)`;
}

/** Formats amounts below one dollar with up to three significant digits. */
export function formatUsd(usd: number, roundingMode: "floor" | "halfExpand" = "halfExpand"): string {
  if (usd === 0 || usd >= 1)
    return `$${usd.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2, roundingMode })}`;
  return `$${usd.toLocaleString("en-US", { maximumSignificantDigits: 3, roundingMode })}`;
}

/** A number of tokens in a table; "?" if no call reported any. */
export function formatTokenCount(tokens: number, { calls, unknownTokens }: Spending): string {
  return tokens === 0 && calls > 0 && unknownTokens === calls ? "?" : formatCount(tokens);
}

export function formatTokens({ calls, inputTokens, outputTokens, unknownTokens }: Spending): string {
  if (calls === 0) return "none";
  if (unknownTokens === calls && inputTokens + outputTokens === 0) return "unknown";
  const known = `${formatCount(inputTokens)} in, ${formatCount(outputTokens)} out`;
  return unknownTokens === 0 ? known : `at least ${known} (${plural(unknownTokens, "call")} unknown)`;
}
