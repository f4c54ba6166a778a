// The named reads of captures; see queries.ts.
import type { Read } from "./rows.ts";

export interface CaptureRow {
  readonly no: number;
  readonly id: string;
  readonly session: string;
  readonly session_no: number;
  readonly seq: number;
  readonly request: string;
  readonly agent: string;
  readonly agent_session: string;
  readonly generation: number;
  readonly diverged: number;
  readonly cwd: Uint8Array;
  readonly config_dir: Uint8Array | null;
  readonly project_key: Uint8Array | null;
  readonly agent_version: Uint8Array | null;
  /** null: the blob of the file list is missing. */
  readonly manifest: Uint8Array | null;
  readonly salt: Uint8Array;
  readonly files: number;
  readonly size: number;
  readonly stored: number;
  readonly created_at: number;
  readonly saved_at: number;
  readonly expires_at: number | null;
}

/** `last` is the number of the last capture of the page before; `diverged` 1 also lists diverged captures. */
type CaptureListParams = { last: number; now: number; agent: string | null; diverged: number; limit: number };

export interface CaptureQueries {
  "capture.get": Read<{ id: string }, CaptureRow>;
  "capture.newest": Read<{ request: string; agent: string; agentSession: string }, CaptureRow>;
  "captures.list": Read<CaptureListParams, CaptureRow>;
  "captures.list.oldest": Read<CaptureListParams, CaptureRow>;
  "captures.byRequest": Read<CaptureListParams & { request: string }, CaptureRow>;
  "captures.byRequest.oldest": Read<CaptureListParams & { request: string }, CaptureRow>;
  "captures.bySession": Read<CaptureListParams & { agentSession: string }, CaptureRow>;
  "captures.bySession.oldest": Read<CaptureListParams & { agentSession: string }, CaptureRow>;
  "captures.byBoth": Read<CaptureListParams & { request: string; agentSession: string }, CaptureRow>;
  "captures.byBoth.oldest": Read<CaptureListParams & { request: string; agentSession: string }, CaptureRow>;
  "capture.stored": Read<{ sha256: Uint8Array }, { readonly stored: number; readonly size: number }>;
  /** The captures of a request, also expired ones. */
  "captures.ofRequest": Read<{ request: string; limit: number }, CaptureRow>;
  "captures.expired": Read<{ now: number; after: number; afterNo: number; limit: number }, CaptureRow>;
  "claim.get": Read<{ name: string }, { readonly value: string }>;
  "claims.list": Read<{ after: string; limit: number }, { readonly name: string; readonly value: string }>;
}

export interface CheckedCaptureRow {
  readonly id: string;
  /** null: the blob of the file list is missing. */
  readonly manifest: Uint8Array | null;
  readonly salt: Uint8Array;
  /** How many blobs the capture's file list names. */
  readonly named: number;
}
