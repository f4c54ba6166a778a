// Captures: the local state of a coding agent's session, kept file by file, so that it can be restored on another
// machine. Promise: what is restored is byte for byte what was there; a save is one commit, and a save that is not
// based on the newest generation is a Conflict, or is kept beside it if the caller asks for that; every expiry is
// announced.
import type { Page, PageOptions } from "./json.ts";

export type CodingAgent = "claude-code" | "opencode";

/** The role of a file in its session. Its path alone decides where it goes. */
export type CaptureRole =
  | "transcript"
  | "subagent"
  | "tool-result"
  | "task"
  | "file-history"
  | "export"
  | "todos"
  | "output"
  | "other";

export interface CapturedFile {
  readonly role: CaptureRole;
  /**
   * Relative, with "/" between its parts. Claude Code's are as below its config directory, with "project" in the place of
   * "projects/<key>"; OpenCode's begin with "export", "todos", "tool-output" or "plans".
   */
  readonly path: string;
  readonly size: number;
  /** The blob that holds it, and the bytes that it took when it was saved. */
  readonly ref: string;
  readonly stored: number;
}

/** Where a session was when it was captured. */
export interface CaptureOrigin {
  readonly cwd: string;
  /** Claude Code: its config directory, and the name of the project's directory in it. */
  readonly configDir: string | null;
  readonly key: string | null;
  readonly agentVersion: string | null;
}

export interface Capture extends CaptureOrigin {
  readonly id: string;
  readonly request: string;
  readonly agent: CodingAgent;
  /** As the agent calls it. */
  readonly sessionId: string;
  /** The Holdfast session that has its log, and the conversation. One that is kept beside the newest has another. */
  readonly session: string;
  /** How many times it was saved, from 1 on. */
  readonly generation: number;
  /** Kept beside the newest, because another machine had saved in the meantime. */
  readonly diverged: boolean;
  readonly fileCount: number;
  /** Bytes of its files, and the bytes they take in the store, what they share with other captures counted in each. */
  readonly size: number;
  readonly stored: number;
  readonly createdAt: number;
  readonly savedAt: number;
  /** null: never. */
  readonly expiresAt: number | null;
}

export interface CaptureWithFiles extends Capture {
  readonly files: readonly CapturedFile[];
}

export interface NewCapturedFile extends Pick<CapturedFile, "role" | "path"> {
  /** The bytes, or the ref of a blob that holds them. */
  readonly content: Uint8Array | { readonly ref: string };
  /** A file that is only ever appended to: when it begins with what the generation before has of it, the rest is stored. */
  readonly grows?: boolean;
  /** The caller does not change the bytes until they are saved, so they need not be copied. */
  readonly owned?: boolean;
}

export interface NewCapture
  extends Pick<Capture, "request" | "agent" | "sessionId" | "cwd">,
    Partial<Omit<CaptureOrigin, "cwd">> {
  readonly files: readonly NewCapturedFile[];
  /**
   * The capture that this save is based on, null for none. Conflict when it was saved since; not given: the newest one.
   */
  readonly basis?: Pick<Capture, "id" | "generation"> | null;
  /** What to do instead of refusing: keep it beside the newest, to be looked at by a person. */
  readonly onConflict?: "refuse" | "keep";
  /** Of the Holdfast session that a new one has its log in; one named after the agent's when not given. It stays there. */
  readonly session?: string;
  /** null: never. Not given: as long as it was kept before, 7 days for a new one. */
  readonly ttlMs?: number | null;
}

export interface CaptureFilter extends PageOptions, Partial<Pick<Capture, "request" | "agent" | "sessionId">> {
  /** Also those that are kept beside the newest. Default false. */
  readonly diverged?: boolean;
}

/** A file that was not captured, not taken from a bundle or not restored, and why. */
export interface LeftOutFile {
  readonly path: string;
  readonly why: string;
}

/** What a removal took away. */
export interface CapturesRemoved {
  readonly removed: readonly (Pick<Capture, "id" | "request" | "sessionId"> & {
    /** Why its conversation could not be imported before it was removed; not given: it is in its session. */
    readonly notImported?: string;
  })[];
  readonly bytes: number;
}

export interface Captures {
  /**
   * One commit: the newest generation of (request, agent, session id) from now on. InvalidArgument for what could not be put
   * back: a session id as the agent makes none, or no transcript (OpenCode: no export) of that session among the files.
   */
  save(capture: NewCapture): Promise<CaptureWithFiles>;
  /** One that was kept beside the newest takes its place, and the other way round. First the conversations of both are imported. */
  prefer(id: string): Promise<Capture>;
  /** The newest that has not expired; null when there is none. */
  latest(request: string, agent?: CodingAgent): Promise<Capture | null>;
  /** Of all requests that have one of this session, the newest. */
  bySession(sessionId: string, agent?: CodingAgent): Promise<Capture | null>;
  /** Also after its time: then it is CaptureExpired to read its files. */
  get(id: string): Promise<Capture | null>;
  /** Newest first, without those that have expired. */
  list(filter?: CaptureFilter): Promise<Page<Capture>>;
  /** CaptureExpired, NotFound or, of a manifest that is not ours, StoreCorrupted. */
  files(id: string): Promise<readonly CapturedFile[]>;
  /** One file, in pieces; the hash is verified by the end. */
  read(id: string, path: string): AsyncIterable<Uint8Array>;
  /** A capture as one compressed file: for machines that reach no store. */
  getBundle(id: string): Promise<Uint8Array>;
  /**
   * Saves the files of a bundle, except scripts that the agent would run by itself and permissions beyond its user's: a
   * bundle is untrusted input. ArchiveCorrupted when it is incomplete; then nothing is saved.
   */
  putBundle(
    bundle: Uint8Array,
    capture: Pick<NewCapture, "request" | "basis" | "onConflict" | "ttlMs" | "session">,
  ): Promise<CaptureWithFiles & { readonly left: readonly LeftOutFile[] }>;
  /** null: never. */
  expire(id: string, expiresAt: number | null): Promise<Capture>;
  delete(id: string): Promise<CapturesRemoved>;
  deleteForRequest(request: string): Promise<CapturesRemoved>;
  /** Those whose time is over, once their conversations are imported; `dryRun` says which they are. */
  deleteExpired(options?: { readonly dryRun?: boolean }): Promise<CapturesRemoved>;
  /**
   * Makes this process the one that works on a request with this agent, until it releases the claim or ends.
   * RequestBusy when another process has the claim. A claim of a process that is gone is recognised at once on the same
   * machine, and on other machines when its lease has expired. A claim coordinates the processes that use claims; it
   * does not restrict any other.
   */
  claim(
    request: string,
    agent: CodingAgent,
    options?: {
      /** How long a process on another machine may be silent before it counts as gone; default 10 s. */
      readonly leaseMs?: number;
      /** true: waits until the other process, and the worker that it named, has ended, instead of RequestBusy. */
      readonly wait?: boolean;
      /** Ends the waiting, with Aborted. */
      readonly signal?: AbortSignal;
      /** Called when it takes time to know whether the owner is alive, or to wait for its end; again when the owner is another one. */
      readonly onWait?: (owner: ClaimOwner) => void;
    },
  ): Promise<RequestClaim>;
}

/** The process that works on a request. */
export interface ClaimOwner {
  /** null where the platform does not say. */
  readonly host: string | null;
  readonly pid: number | null;
  /** When it began, by the store's clock; epoch milliseconds. */
  readonly since: number;
  /** The process is gone, and this one, which it named as its worker, is still running; null: it is not so. */
  readonly orphan: number | null;
  /** The process runs on this machine and has shown no sign of life for its lease: it is stopped (Ctrl-Z), or it hangs. */
  readonly isStalled: boolean;
}

/** Work of a process that ended without releasing its claim: its last part may be on that machine's disk only. */
export interface UnsavedWork {
  /** The agent's session; null: the process ended before it named one. */
  readonly sessionId: string | null;
  /** Whether this machine has it on its disk; null where the platform does not tell. */
  readonly isLocal: boolean | null;
  /** When that process claimed the request, and its last sign of life, by the store's clock; epoch milliseconds. */
  readonly since: number;
  readonly lastSeenAt: number;
}

export interface RequestClaim {
  /** Aborted when another process has taken the claim, because this one was silent for too long. */
  readonly lost: AbortSignal;
  /** null: there was no claim, or it said nothing. What the process that had the claim before said of its work. */
  readonly previous: {
    /** false: that process ended without releasing its claim, and its last work may be on its disk only. */
    readonly isReleased: boolean;
    /** null after a release. */
    readonly sessionId: string | null;
    /** The capture that it named, or that was named before it. */
    readonly capture: string | null;
    /** Of that process and of earlier ones, the last one last: what no process has settled yet. */
    readonly unsaved: readonly UnsavedWork[];
  } | null;
  /**
   * Says what the work is, for the process that claims the request next; what is not given stays. As long as the process
   * `workerPid` of this machine runs, the request stays claimed, also when this process is killed.
   */
  describe(work: {
    /** The process that does the work, such as the agent: it may outlive the one that has the claim. */
    readonly workerPid?: number;
    /** The agent's session. */
    readonly sessionId?: string;
    /** The capture that the session is saved as. */
    readonly capture?: string;
  }): Promise<void>;
  /**
   * Says that work which an earlier process left is saved, or that there is none. Until then every process that claims the
   * request is told of it, for a week.
   */
  settle(unsaved: UnsavedWork): Promise<void>;
  /** Idempotent. */
  release(): Promise<void>;
}
