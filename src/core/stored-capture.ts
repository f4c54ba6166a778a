// A capture as it is stored, also after it expired. An expired capture can no longer be restored, but its conversation
// is imported from it before it is removed.
import type { Capture } from "../contracts/captures.ts";
import type { CaptureSource } from "../contracts/coding.ts";

export type StoredCapture = Capture & CaptureSource;

/** The hidden member of an open store that reads stored captures. It is not public. */
export const STORED = Symbol("stored captures");

export interface StoredCaptures {
  /** null if there is no such capture. */
  readonly [STORED]: (id: string) => Promise<StoredCapture | null>;
}
