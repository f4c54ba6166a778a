// What the worker embeds: texts of one kind of items. A batch is of one place, such as a collection, whose items have numbers.

import type { EmbeddedKind } from "../contracts/embeddings.ts";
import type { Write } from "../contracts/storage/commit.ts";

export interface EmbeddingBatch {
  readonly kind: EmbeddedKind;
  readonly scope: number;
  /** In the order of their numbers. */
  readonly items: readonly TextItem[];
  /**
   * Stores the vectors of those items that are still there, together with `writes`. The items are of this batch, in any number.
   */
  apply(vectors: ReadonlyMap<number, Float32Array>, writes: readonly Write[]): Promise<void>;
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
