// Promotion: which memories of an agent are in its core blocks. It is on for agents that have a block facts, goals or scratch, and off for
// all others. Promise: a promotion is one commit; it adds and removes lines and leaves all others as they are; the same memories and
// blocks at the same time give the same result; a search never counts as use.

/** Promotion needs an agent, whose memories of the namespace go into its blocks. */
export interface PromotionScope {
  /** Default: "default". */
  readonly namespace?: string;
  readonly agent: string;
}

/** Goals go into the block goals, events into scratch, everything else into facts. */
export type PromotionBlock = "facts" | "goals" | "scratch";

export interface PromotedMemory {
  readonly memory: string;
  readonly block: PromotionBlock;
  /** From 0 to 1; see PromotionExplanation. */
  readonly score: number;
}

/**
 * score: others have more, or it is too low. room: the block is full of memories with a better score. ended: it does not hold any more.
 * undone: undoPromotion() took it back. edited: its line was changed or removed in the block, so it stays out until it is
 * confirmed again.
 */
export interface DemotedMemory extends PromotedMemory {
  readonly reason: "score" | "room" | "ended" | "undone" | "edited";
}

export interface PromotionReport {
  readonly promoted: readonly PromotedMemory[];
  readonly demoted: readonly DemotedMemory[];
  /** How many memories are in the blocks now. */
  readonly kept: number;
  /** The blocks that changed, with their new versions. */
  readonly blocks: readonly { readonly label: PromotionBlock; readonly version: number }[];
}

/** A part of a score. */
export interface PromotionSignal {
  /** recency: half after each 30 days from validFrom. frequency: n / (n + 2) after n confirmations. */
  readonly name: "importance" | "recency" | "frequency";
  /** From 0 to 1. */
  readonly value: number;
  readonly weight: number;
}

export interface PromotionExplanation {
  readonly memory: string;
  /** Where its line is; null: in no block. */
  readonly block: PromotionBlock | null;
  readonly pinned: boolean;
  /** The weighted sum of the signals, and a tenth more for a memory that is in its block: so it does not come and go. */
  readonly score: number;
  /** The score that a memory needs; 0.5. */
  readonly needed: number;
  readonly signals: readonly PromotionSignal[];
  /** In one sentence, why the next promotion would leave it in its block, put it there, or leave it out. */
  readonly reason: string;
}

export interface Promotions {
  /**
   * Puts the memories with the best scores into the agent's blocks facts, goals and scratch, a line each, as many as fit their limits, and
   * removes the lines of those that do not belong there any more. Lines of the agent stay. A read-only block is left as it is. Conflict if
   * memories would join lines that were promoted from another namespace.
   */
  promote(
    options: PromotionScope & { /** Only says what it would do. */ readonly dryRun?: boolean },
  ): Promise<PromotionReport>;
  /**
   * Takes back the last promotion: what it put into blocks leaves them, and stays out until it is confirmed again; what it removed comes
   * back, pinned. Conflict if there is nothing to take back.
   */
  undoPromotion(options: PromotionScope): Promise<PromotionReport>;
  /** Why a memory is in a block, or in none. NotFound if there is no such memory. */
  explainPromotion(id: string, options: PromotionScope): Promise<PromotionExplanation>;
  /** Pinned, it goes into its block with the next promotion and stays there as long as it holds. false: it is pinned already. */
  pin(id: string, options: PromotionScope): Promise<boolean>;
  unpin(id: string, options: PromotionScope): Promise<boolean>;
}
