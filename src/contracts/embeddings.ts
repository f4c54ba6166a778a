// The background work that gives stored texts their embeddings. Promises: nothing runs without an embedder; a write never waits for one;
// every text that has no embedding yet is embedded by one of the processes that have the store open with the embedder, also after crashes
// and failures; an embedding is stored only while its text is still there, and is only compared with embeddings of the same model.

/** What has embeddings: documents of collections, memories, and messages, the longer ones in passages of about 75 words. */
export type EmbeddedKind = "documents" | "memories" | "messages";

export interface EmbeddingStatus {
  /** The embedder of this handle; null: it was opened without one, so that searches by words are all there is. */
  readonly embedder: {
    readonly id: string;
    readonly dimensions: number;
    /**
     * current: the store's texts are embedded by it. left: the store was switched to another embedder later, so that this one
     * embeds nothing; embeddings.adopt() switches back.
     */
    readonly state: "current" | "left";
  } | null;
  /** The id of the embedder whose embeddings the store has or is making; null: it never had one. */
  readonly model: string | null;
  readonly kinds: Readonly<Record<EmbeddedKind, EmbeddingProgress>>;
  /** Why no text is embedded at the moment; null: the last call of the embedder succeeded. */
  readonly failure: EmbedderFailure | null;
}

/** How wait() ended. */
export interface EmbeddingWait extends EmbeddingStatus {
  /** Whether texts still wait: the time was over before they were embedded. */
  readonly timedOut: boolean;
}

export interface EmbeddingProgress {
  /** Texts that wait for their embedding, including `failing` ones; a new message or memory counts once until it is cut into passages. */
  readonly pending: number;
  /** Texts that failed and are tried again. */
  readonly failing: number;
  /** Texts that failed for good and are not counted as pending; embeddings.retry() tries them again. */
  readonly parked: number;
  /** Texts without an embedding in collections whose embeddings come from elsewhere: their owner gives the embeddings. */
  readonly foreign: number;
}

/** A failure of the embedder that is no fault of a single text: a server that cannot be reached, a wrong key. */
export interface EmbedderFailure {
  readonly embedder: string;
  /** Such as "HTTP 401 invalid_api_key". */
  readonly reason: string;
  readonly attempts: number;
  readonly at: number;
  readonly nextTryAt: number;
}

/** A text that could not be embedded although others could. */
export interface FailedEmbedding {
  readonly kind: EmbeddedKind;
  /** Of a document: its collection; otherwise "". */
  readonly collection: string;
  /** Of the document, the memory or the message; "": it has gone meanwhile. */
  readonly id: string;
  readonly reason: string;
  readonly attempts: number;
  readonly at: number;
  /** null: it is parked, and waits for embeddings.retry(). */
  readonly nextTryAt: number | null;
}

export interface Embeddings {
  status(): Promise<EmbeddingStatus>;
  /** Texts that failed, kind by kind and collection by collection, at most `limit` of them; default 100. */
  failures(options?: { readonly limit?: number }): Promise<readonly FailedEmbedding[]>;
  /**
   * Tries all failed texts again now, and an embedder that failed, also if a request is under way that will fail; `parked: false` leaves
   * parked texts parked. Returns how many texts are tried again.
   */
  retry(options?: { readonly parked?: boolean }): Promise<number>;
  /**
   * Waits until no text waits for its embedding, except those that are parked, or until the time is over; default 60 seconds. Then
   * `timedOut` is true. It works only with an embedder.
   */
  wait(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<EmbeddingWait>;
  /**
   * Makes this handle's embedder the store's again, after the store was switched to another one. All texts are embedded again. An
   * embedder that the store never had is adopted by itself.
   */
  adopt(): Promise<EmbeddingStatus>;
}
