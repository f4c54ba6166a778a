// Captures: the local state of a coding agent's session, stored file by file, so that it can be restored on another
// machine. Promise: restored files equal the saved ones byte for byte; a save is one commit; a save that is not based
// on the newest generation is a Conflict, or is kept beside the newest if the caller asks for that; every capture shows
// when it expires.
import type { Page, PageOptions } from "./json.ts";

export type CodingAgent = "claude-code" | "opencode";

/** The role of a file in its session. Only its path decides where a restore writes it. */
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
   * Relative, with "/" between its parts. Paths of Claude Code are those below its config directory, with "project"
   * instead of "projects/<key>"; paths of OpenCode begin with "export", "todos", "tool-output" or "plans".
   */
  readonly path: string;
  readonly size: number;
  /** The blob with the file's bytes, and the size of the file when it was saved. */
  readonly ref: string;
  readonly stored: number;
}

/** Where a session was on its machine when it was captured. */
export interface CaptureOrigin {
  readonly cwd: string;
  /** Claude Code only: its config directory, and the name of the project's directory in it. */
  readonly configDir: string | null;
  readonly key: string | null;
  readonly agentVersion: string | null;
}

export interface Capture extends CaptureOrigin {
  readonly id: string;
  readonly request: string;
  readonly agent: CodingAgent;
  /** The agent's own id of the session. */
  readonly sessionId: string;
  /**
   * The Holdfast session with the capture's log and conversation. A capture that is kept beside the newest has its own.
   */
  readonly session: string;
  /** The number of this save, from 1 on. */
  readonly generation: number;
  /** True if this capture is kept beside the newest, because another machine had saved in the meantime. */
  readonly diverged: boolean;
  readonly fileCount: number;
  /** The bytes of its files, and their bytes in the store. Bytes that captures share are counted in each of them. */
  readonly size: number;
  readonly stored: number;
  readonly createdAt: number;
  readonly savedAt: number;
  /** null if it never expires. */
  readonly expiresAt: number | null;
}

export interface CaptureWithFiles extends Capture {
  readonly files: readonly CapturedFile[];
}

export interface NewCapturedFile extends Pick<CapturedFile, "role" | "path"> {
  /** The bytes, or the ref of a blob with them. */
  readonly content: Uint8Array | { readonly ref: string };
  /**
   * The agent only appends to this file. If it begins with the bytes of the generation before, only the rest is stored.
   */
  readonly grows?: boolean;
  /** The caller promises not to change the bytes until they are saved, so they are not copied. */
  readonly owned?: boolean;
}

export interface NewCapture
  extends Pick<Capture, "request" | "agent" | "sessionId" | "cwd">,
    Partial<Omit<CaptureOrigin, "cwd">> {
  readonly files: readonly NewCapturedFile[];
  /**
   * The capture that this save is based on; null for none. Conflict if a newer generation was saved since. Default: the
   * newest capture.
   */
  readonly basis?: Pick<Capture, "id" | "generation"> | null;
  /** Instead of a Conflict, keep the capture beside the newest, so that a person can decide. */
  readonly onConflict?: "refuse" | "keep";
  /**
   * The id of the Holdfast session for the log of a new capture; by default it is named after the agent's session. It
   * never changes.
   */
  readonly session?: string;
  /** Time to live. null: never expires. Default: the same as before, 7 days for a new capture. */
  readonly ttlMs?: number | null;
}

export interface CaptureFilter extends PageOptions, Partial<Pick<Capture, "request" | "agent" | "sessionId">> {
  /** Include captures that are kept beside the newest. Default false. */
  readonly diverged?: boolean;
}

/** A file that was not captured, not accepted from a bundle or not restored, and why. */
export interface LeftOutFile {
  readonly path: string;
  readonly why: string;
}

/** What was removed. */
export interface CapturesRemoved {
  readonly removed: readonly (Pick<Capture, "id" | "request" | "sessionId"> & {
    /**
     * Why the conversation could not be imported before the capture was removed. Without it, the conversation is in its
     * session.
     */
    readonly notImported?: string;
  })[];
  readonly bytes: number;
}

export interface Captures {
  /**
   * Saves the newest generation of (request, agent, session id) in one commit. InvalidArgument for files that could not
   * be restored: a session id that the agent would not make, or no transcript (OpenCode: no export) of that session.
   */
  save(capture: NewCapture): Promise<CaptureWithFiles>;
  /**
   * Makes a diverged capture the newest one, and keeps the former newest beside it. The
   * conversations of both are imported first.
   */
  prefer(id: string): Promise<Capture>;
  /** The newest capture that has not expired; null if there is none. */
  latest(request: string, agent?: CodingAgent): Promise<Capture | null>;
  /** The newest capture of this session, of any request. */
  bySession(sessionId: string, agent?: CodingAgent): Promise<Capture | null>;
  /** Finds the capture also after it expired. Reading its files is CaptureExpired then. */
  get(id: string): Promise<Capture | null>;
  /** Newest first, without expired captures. */
  list(filter?: CaptureFilter): Promise<Page<Capture>>;
  /** Throws CaptureExpired, NotFound, or StoreCorrupted if the manifest was not written by Holdfast. */
  files(id: string): Promise<readonly CapturedFile[]>;
  /** One file, in pieces; the hash is verified at the end. */
  read(id: string, path: string): AsyncIterable<Uint8Array>;
  /** A capture as one compressed file, for machines that cannot reach a store. */
  getBundle(id: string): Promise<Uint8Array>;
  /**
   * Saves the files of a bundle. A bundle is untrusted input: scripts that the agent would run without being asked to,
   * and permissions that its user did not give, are left out. ArchiveCorrupted if the bundle is incomplete; then
   * nothing is saved.
   */
  putBundle(
    bundle: Uint8Array,
    capture: Pick<NewCapture, "request" | "basis" | "onConflict" | "ttlMs" | "session">,
  ): Promise<CaptureWithFiles & { readonly left: readonly LeftOutFile[] }>;
  /** null if it never expires. */
  expire(id: string, expiresAt: number | null): Promise<Capture>;
  delete(id: string): Promise<CapturesRemoved>;
  deleteForRequest(request: string): Promise<CapturesRemoved>;
  /** Removes expired captures, after their conversations are imported. `dryRun` only lists them. */
  deleteExpired(options?: { readonly dryRun?: boolean }): Promise<CapturesRemoved>;
  /**
   * Claims a request for this process and this agent, until the process releases the claim or ends. RequestBusy if
   * another process has the claim. If that process is gone, its claim is void: at once on the same machine, and on
   * other machines when its lease has expired. A claim coordinates processes that use claims; it does not restrict any
   * other.
   */
  claim(
    request: string,
    agent: CodingAgent,
    options?: {
      /** How long a process on another machine may be silent before it counts as gone; default 10 s. */
      readonly leaseMs?: number;
      /** true: instead of RequestBusy, wait until the other process, and the worker that it named, have ended. */
      readonly wait?: boolean;
      /** Ends the waiting, with Aborted. */
      readonly signal?: AbortSignal;
      /**
       * Called if the call has to wait: to find out whether the owner is alive, or for its end. Called again if the
       * owner changes.
       */
      readonly onWait?: (owner: ClaimOwner) => void;
    },
  ): Promise<RequestClaim>;
}

/** The process that works on a request. */
export interface ClaimOwner {
  /** null if the platform does not report it. */
  readonly host: string | null;
  readonly pid: number | null;
  /** When the claim began, by the store's clock; epoch milliseconds. */
  readonly since: number;
  /** Set if the process is gone, but the process that it named as its worker is still running. */
  readonly orphan: number | null;
  /**
   * True if the process runs on this machine and has sent no heartbeat for the length of its lease: it is stopped
   * (Ctrl-Z), or it hangs.
   */
  readonly isStalled: boolean;
}

/** Work of a process that ended without releasing its claim. The last part of it may be only on that machine's disk. */
export interface UnsavedWork {
  /** The agent's session; null if the process ended before it named one. */
  readonly sessionId: string | null;
  /** Whether the work is on this machine's disk; null if the platform does not report it. */
  readonly isLocal: boolean | null;
  /** When that process claimed the request, and its last heartbeat, by the store's clock; epoch milliseconds. */
  readonly since: number;
  readonly lastSeenAt: number;
}

export interface RequestClaim {
  /** Aborted when another process has taken the claim, because this process sent no heartbeat for too long. */
  readonly lost: AbortSignal;
  /**
   * What the previous owner of the claim recorded about its work; null if there was no claim or it recorded nothing.
   */
  readonly previous: {
    /** false if that process ended without releasing its claim: its last work may be only on its machine's disk. */
    readonly isReleased: boolean;
    /** null if it released the claim. */
    readonly sessionId: string | null;
    /** The capture that it named, or that an earlier owner named. */
    readonly capture: string | null;
    /** Unsaved work of that process and of earlier ones that no process has settled yet, the latest last. */
    readonly unsaved: readonly UnsavedWork[];
  } | null;
  /**
   * Records what the work is, for the process that claims the request next. Fields that are not given stay as they
   * were. While the process `workerPid` of this machine runs, the request stays claimed, even if this process is
   * killed.
   */
  describe(work: {
    /** The process that does the work, such as the agent. It may outlive the process that has the claim. */
    readonly workerPid?: number;
    /** The agent's session. */
    readonly sessionId?: string;
    /** The capture of the session. */
    readonly capture?: string;
  }): Promise<void>;
  /**
   * Records that the unsaved work of an earlier process is saved now, or that there was none. Until then, for a week,
   * every process that claims the request gets it in `unsaved`.
   */
  settle(unsaved: UnsavedWork): Promise<void>;
  /** Releases the claim. May be called twice. */
  release(): Promise<void>;
}
