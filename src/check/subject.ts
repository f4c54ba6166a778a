// What every check of a session is given: the session as it was read, what its log says, and where to report.

import type { Counts } from "../contracts/heads.ts";
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { ContentChars } from "./content-chars.ts";
import type { SecondLook } from "./findings.ts";
import type { Ledger } from "./ledger.ts";

/** Blobs whose bytes name other blobs: the content of a message, and the list of a capture's files. */
export type BlobUse = "content" | "manifest";

/** What is known of the whole store while its sessions are looked at one by one. */
export interface Survey {
  readonly storage: Storage;
  /** Adds to what the report says was looked at. */
  count(what: string, n?: number): void;
  /** Branches that are known to have a beginning, and sessions with one that has none. */
  readonly sound: Set<string>;
  readonly cyclic: Set<number>;
  /** What heads whose root is wrong should have counted, so that one wrong head makes no others wrong. */
  readonly recounted: Map<string, Counts>;
  /** Blobs that are the content of messages, as far as logs were read: their bytes name attachments. */
  readonly contents: ContentChars;
  /** Only one session is checked, not what it inherits from others. */
  readonly alone: boolean;
  /** Told of every blob a row names, when the session is checked alone; `as`: what the row has it for. */
  readonly blob?: (look: SecondLook, row: string, sha256: Uint8Array, as?: BlobUse | null) => Promise<void>;
}

export interface Subject {
  readonly survey: Survey;
  readonly look: SecondLook;
  readonly session: CheckedSessionRow;
  /** null in quick mode, which does not read the log. */
  readonly ledger: Ledger | null;
}
