// Coding agents on this machine: the files of their sessions on disk, and restoring them.
import type { Capture, CapturedFile, CaptureOrigin, LeftOutFile } from "./captures.ts";

export interface FoundFile extends Pick<CapturedFile, "role" | "path" | "size"> {
  /** The path of the file on this machine. */
  readonly file: string;
  /** True if the agent only appends to the file. */
  readonly grows: boolean;
}

/** A session with its files on disk now. */
export interface FoundSession extends CaptureOrigin, Pick<Capture, "agent" | "sessionId"> {
  readonly files: readonly FoundFile[];
}

/** What a restore writes: the files of a capture, or of a bundle. */
export interface CaptureSource extends CaptureOrigin, Pick<Capture, "agent" | "sessionId"> {
  readonly files: readonly CapturedFile[];
  /** What was removed from the bundle, because it is untrusted input. */
  readonly left?: readonly LeftOutFile[];
  read(path: string): AsyncIterable<Uint8Array>;
}

/** The outcome of a restore, after everything was verified. */
export interface Restored extends Pick<Capture, "agent" | "sessionId" | "cwd" | "configDir" | "key"> {
  readonly files: number;
  readonly bytes: number;
  /** How many messages of the conversation are on disk now. */
  readonly messages: number;
  /** True if the files on disk continue the capture and were kept: the store does not have all of them. */
  readonly isAhead: boolean;
  /** The files that were not restored, and why. The conversation needs none of them. */
  readonly left: readonly LeftOutFile[];
}
