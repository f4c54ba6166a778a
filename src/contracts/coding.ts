// Coding agents on this machine: what a session of theirs left on disk, and how it is put back.
import type { CapturedFile, CaptureOrigin, CaptureRole, CodingAgent, LeftOut } from "./captures.ts";

export interface FoundFile {
  readonly role: CaptureRole;
  /** As CapturedFile has it. */
  readonly path: string;
  /** Where it is now. */
  readonly file: string;
  readonly size: number;
  /** It is only ever appended to. */
  readonly grows: boolean;
}

/** A session as it is on disk now. */
export interface FoundSession extends CaptureOrigin {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly files: readonly FoundFile[];
}

/** What is put back: the files of a capture, or of a bundle. */
export interface CaptureSource extends CaptureOrigin {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly files: readonly CapturedFile[];
  /** What was removed from it, because a bundle is untrusted input. */
  readonly left?: readonly LeftOut[];
  read(path: string): AsyncIterable<Uint8Array>;
}

/** The outcome of a restore, after everything was verified. */
export interface Restored {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly cwd: string;
  readonly configDir: string | null;
  readonly key: string | null;
  readonly files: number;
  readonly bytes: number;
  /** Messages of the conversation that are there now. */
  readonly messages: number;
  /** What is here goes on from what was captured, and stayed: the store does not have all of it. */
  readonly isAhead: boolean;
  /** What was not put back, and why: nothing that the conversation needs. */
  readonly left: readonly LeftOut[];
}
