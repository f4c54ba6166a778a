// The state that the checks of all sessions share: known branches, recounted heads, contents already read.
import type { Counts } from "../contracts/heads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { ContentChars } from "./content-chars.ts";
import type { IssueReporter } from "./findings.ts";

/** The state of one check() call that all of its sessions share. */
export interface Survey {
  readonly storage: Storage;
  /** Adds to the counts of the report. */
  count(what: string, n?: number): void;
  /** Branches whose lineage is known to have a beginning, and sessions with a branch whose lineage has none. */
  readonly acyclicBranches: Set<string>;
  readonly cyclicSessions: Set<number>;
  /** The right counts of heads whose root is wrong, so that one wrong head makes no later head wrong. */
  readonly recountedHeads: Map<string, Counts>;
  /** Blobs that are the content of messages in the logs read so far: their bytes name attachments. */
  readonly contents: ContentChars;
  /** Whether only one session is checked: then the check also follows what it inherits. */
  readonly isSingleSession: boolean;
  /** Checks a blob that a row names, when only one session is checked; `as`: how the row uses the blob. */
  readonly checkBlobOnce?: (
    reporter: IssueReporter,
    row: string,
    sha256: Uint8Array,
    as?: BlobUse | null,
  ) => Promise<void>;
}

/** Blobs whose bytes name other blobs: the content of a message, and the list of a capture's files. */
export type BlobUse = "content" | "manifest";
