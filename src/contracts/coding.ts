// Coding agents on this machine: what a session of theirs left on disk, and how it is put back.
import type { Capture, CapturedFile, CaptureOrigin, LeftOutFile } from "./captures.ts";

export interface FoundFile extends Pick<CapturedFile, "role" | "path" | "size"> {
  /** Where it is now. */
  readonly file: string;
  /** It is only ever appended to. */
  readonly grows: boolean;
}

/** A session as it is on disk now. */
export interface FoundSession extends CaptureOrigin, Pick<Capture, "agent" | "sessionId"> {
  readonly files: readonly FoundFile[];
}

/** What is put back: the files of a capture, or of a bundle. */
export interface CaptureSource extends CaptureOrigin, Pick<Capture, "agent" | "sessionId"> {
  readonly files: readonly CapturedFile[];
  /** What was removed from it, because a bundle is untrusted input. */
  readonly left?: readonly LeftOutFile[];
  read(path: string): AsyncIterable<Uint8Array>;
}

/** The outcome of a restore, after everything was verified. */
export interface Restored extends Pick<Capture, "agent" | "sessionId" | "cwd" | "configDir" | "key"> {
  readonly files: number;
  readonly bytes: number;
  /** Messages of the conversation that are there now. */
  readonly messages: number;
  /** What is here goes on from what was captured, and stayed: the store does not have all of it. */
  readonly isAhead: boolean;
  /** What was not put back, and why: nothing that the conversation needs. */
  readonly left: readonly LeftOutFile[];
}
