// What is known of the whole store while its sessions are checked one by one.

import type { Counts } from "../contracts/heads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { ContentChars } from "./content-chars.ts";
import type { SecondLook } from "./findings.ts";

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

/** Blobs whose bytes name other blobs: the content of a message, and the list of a capture's files. */
export type BlobUse = "content" | "manifest";
