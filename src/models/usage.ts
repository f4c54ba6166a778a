// Computes the usage and cost of a call. A count that the provider does not report is unknown, and not 0.
import type { ChatModelOptions } from "../contracts/chat.ts";
import type { ModelUsage } from "../contracts/models.ts";

/** Tokens as the provider reported them. */
export interface TokenCounts {
  /** All tokens of the request, including cached ones. */
  readonly input?: number | null | undefined;
  readonly output?: number | null | undefined;
  /** Input tokens that were read from the provider's cache, and that were written to it. */
  readonly cached?: number | null | undefined;
  readonly written?: number | null | undefined;
}

const MILLION = 1_000_000;

export function usageOf(counts: TokenCounts, price: NonNullable<ChatModelOptions["price"]> | undefined): ModelUsage {
  const [input, output, cached, written] = [counts.input, counts.output, counts.cached, counts.written].map(countOf);
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(cached === undefined ? {} : { cachedTokens: cached }),
    costUsd:
      price === undefined || input === undefined || output === undefined
        ? null
        : costOf(price, input, output, cached ?? 0, written ?? 0),
  };
}

function costOf(
  price: NonNullable<ChatModelOptions["price"]>,
  input: number,
  output: number,
  cached: number,
  written: number,
): number {
  const { inputPerMTok, outputPerMTok, cachedInputPerMTok = inputPerMTok, cacheWritePerMTok = inputPerMTok } = price;
  const plain = Math.max(0, input - cached - written);
  const sum = plain * inputPerMTok + output * outputPerMTok + cached * cachedInputPerMTok + written * cacheWritePerMTok;
  return sum / MILLION;
}

/** Servers that imitate an interface may report any value. */
function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}
