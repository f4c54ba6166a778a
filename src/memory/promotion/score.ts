// How much a memory belongs into the core blocks: how important it is, how recent, and how often it was confirmed. Searches do not
// count: what is found would be found more often.
import type { Memory } from "../../contracts/memory.ts";
import type { PromotionBlock, PromotionSignal } from "../../contracts/promotion.ts";

/** In thousandths, as all scores here. */
export const NEEDED_SCORE = 500;
/** A memory in a block keeps its place with a score that is a little lower, so that it does not come and go. */
const HELD_BONUS = 100;
const UNIT = 1000;

const WEIGHTS = { importance: 0.5, recency: 0.2, frequency: 0.3 } as const;
const HALF_LIFE_MS = 30 * 24 * 3_600_000;
/** So many confirmations are worth half. */
const HALF_CONFIRMATIONS = 2;

export interface MemoryScore {
  /** With the bonus. */
  readonly score: number;
  readonly signals: readonly PromotionSignal[];
}

export function scoreMemory(
  { importance, validFrom, confirmations }: Pick<Memory, "importance" | "validFrom" | "confirmations">,
  at: number,
  isInBlock: boolean,
): MemoryScore {
  const values = {
    importance,
    recency: 0.5 ** (Math.max(0, at - validFrom) / HALF_LIFE_MS),
    frequency: confirmations / (confirmations + HALF_CONFIRMATIONS),
  };
  const names = ["importance", "recency", "frequency"] as const;
  const signals = names.map((name) => ({ name, value: rounded(values[name]), weight: WEIGHTS[name] }));
  const sum = signals.reduce((total, { value, weight }) => total + value * weight, 0);
  return { score: Math.round(sum * UNIT) + (isInBlock ? HELD_BONUS : 0), signals };
}

/** As callers see it. */
export function shownScore(score: number): number {
  return Math.min(1, score / UNIT);
}

export function blockFor(kind: string): PromotionBlock {
  if (kind === "goal") return "goals";
  return kind === "event" ? "scratch" : "facts";
}

function rounded(value: number): number {
  return Math.round(value * UNIT) / UNIT;
}
