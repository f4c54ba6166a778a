// A capture as the store has it, whatever its time: once expired it is no longer given out, and until it is removed its
// conversation is still imported from it, because that outlives it.
import type { Capture } from "../contracts/captures.ts";
import type { CaptureSource } from "../contracts/coding.ts";

export type StoredCapture = Capture & CaptureSource;

/** Where an open store keeps the way to its captures. Its users know nothing of it. */
export const STORED = Symbol("stored captures");

export interface StoredCaptures {
  /** null: there is no such capture. */
  readonly [STORED]: (id: string) => Promise<StoredCapture | null>;
}
