// The text index as callers see it: its language, how much it holds, and making it anew.

/** Languages of which words are stemmed; "none" leaves words as they are. */
export const TEXT_LANGUAGES = ["english", "french", "german", "russian", "spanish", "none"] as const;
export type TextLanguage = (typeof TEXT_LANGUAGES)[number];

/** What open() takes as `search`. */
export interface SearchSettings {
  /** The language of a store that has no index yet, by default English; later the store has it, and reindex() changes it. */
  readonly language?: TextLanguage;
}

export interface TextIndexStats {
  /** null until a part of the index is written. */
  readonly language: TextLanguage | null;
  readonly segments: number;
  /** Indexed messages, and the passages that they were cut into. */
  readonly items: number;
  readonly units: number;
  readonly bytes: number;
  /** Messages that are in no segment yet. Searches read their texts. */
  readonly pending: number;
}

export interface ReindexProgress {
  /** Passages that were indexed again, of about so many. */
  readonly units: number;
  readonly total: number;
}

export interface Reindexing {
  /**
   * Makes the text index anew from the stored texts, beside readers and writers: searches answer from the old index
   * until a part of the new one takes its place. It repairs a damaged index, and changes its language. It may be ended
   * and called again at any time.
   */
  reindex(options?: {
    /** Default: the language of the store. */
    readonly language?: TextLanguage;
    readonly onProgress?: (progress: ReindexProgress) => void;
    readonly signal?: AbortSignal;
  }): Promise<TextIndexStats>;
}
