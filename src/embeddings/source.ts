// What the worker embeds: texts of one kind of items. A batch is of one place, such as a collection, whose items have numbers.

import type { EmbeddedKind } from "../contracts/embeddings.ts";
import type { EmbeddingFault } from "./failures.ts";

/** What came of a text: its vector, or why it has none. */
export type EmbeddingOutcome = Float32Array | EmbeddingFault;

export interface EmbeddingBatch {
  readonly kind: EmbeddedKind;
  readonly scope: number;
  /** In the order of their numbers. */
  readonly items: readonly TextItem[];
  /**
   * Stores the outcomes of those items that are still there and wait. The items are of this batch, in any number. False: there was nothing
   * to store.
   */
  apply(outcomes: ReadonlyMap<number, EmbeddingOutcome>): Promise<boolean>;
}

export interface TextItem {
  readonly item: number;
  readonly text: string;
}

/** Work that a source has done without the embedder, or none is left. */
export type SourceStep = EmbeddingBatch | "done" | "idle";

export interface EmbeddingSource {
  readonly kind: EmbeddedKind;
  /** The next texts to embed; "done": something else was done, ask again. */
  next(limit: number): Promise<SourceStep>;
}
