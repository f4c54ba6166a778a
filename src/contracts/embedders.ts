// Embedders: programs or services that turn texts into vectors, so that texts with near meanings have near vectors.

export interface Embedder {
  /**
   * Names the model and everything that is done to a text before the model sees it, such as "openai/text-embedding-3-small@512". Vectors
   * of different ids are never compared: with a new id, all texts are embedded again.
   */
  readonly id: string;
  /** How many numbers each vector has. */
  readonly dimensions: number;
  /** How many texts one call takes at most; default 64. */
  readonly maxBatch?: number;
  /**
   * One vector for each text, in their order, of finite numbers. Some models embed a question in another way than the texts
   * that answer it: `kind` says which of both the texts are. If a text cannot be embedded, the call fails: it never skips one.
   */
  embed(texts: readonly string[], options: EmbedOptions): Promise<readonly (Float32Array | readonly number[])[]>;
}

export interface EmbedOptions {
  readonly kind: "document" | "query";
  /** Aborts when the store closes, the time for the call is over, or the caller no longer waits. The store always gives one. */
  readonly signal?: AbortSignal;
}
