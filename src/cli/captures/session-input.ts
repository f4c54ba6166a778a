// A session that the caller passes in instead of a store: with --from, AGENT_SESSION_FILE, or as base64 in
// AGENT_SESSION_BLOB. It is a bundle, or a single transcript, compressed or not; then AGENT_SESSION_ID or --session-id
// names the session. It may be hostile.
import { readCaptureBundle } from "../../captures/bundle.ts";
import { singleTranscript, sourceInMemory } from "../../coding/capture-source.ts";
import { checkSessionId } from "../../coding/claude/session-files.ts";
import { TranscriptReader } from "../../coding/claude/transcript.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { isBundle, isGzip, openGzip } from "../../core/bundle.ts";
import { limitExceeded } from "../../core/check.ts";
import { fileIn, isFile } from "../bytes.ts";
import { UsageError } from "../failure.ts";
import type { Io } from "../io.ts";

export interface SessionInputOptions {
  /** --from */
  readonly from: string | undefined;
  /** --out: if the file exists, the run continues its session. */
  readonly out: string | undefined;
  readonly hasStore: boolean;
}

export interface SessionInput {
  readonly source: CaptureSource | null;
  /** Why the input that an environment variable names cannot be used. The agent starts anyway. */
  readonly why: string | null;
}

const NO_INPUT: SessionInput = { source: null, why: null };

/** An input that the command line names must be valid: the user can correct it before the agent starts. */
export async function readSessionInput(io: Io, { from, out, hasStore }: SessionInputOptions): Promise<SessionInput> {
  const { AGENT_SESSION_BLOB: blob, AGENT_SESSION_FILE: file } = io.env;
  if (from !== undefined) return { source: await sourceFrom(io, from, "--from"), why: null };
  if (blob) return orProblem(sourceFrom(io, `base64:${blob}`, "AGENT_SESSION_BLOB"));
  if (file) return orProblem(sourceFrom(io, file, "AGENT_SESSION_FILE"));
  if (out !== undefined && !hasStore && (await isFile(out, io))) {
    return { source: await sourceFrom(io, out, "--out"), why: null };
  }
  return NO_INPUT;
}

async function orProblem(reading: Promise<CaptureSource>): Promise<SessionInput> {
  try {
    return { source: await reading, why: null };
  } catch (error) {
    return { source: null, why: error instanceof Error ? error.message : String(error) };
  }
}

async function sourceFrom(io: Io, from: string, what: string): Promise<CaptureSource> {
  const sessionId = io.env.AGENT_SESSION_ID || undefined;
  const bytes = await readInputBytes(from, io);
  if (!isBundle(bytes) && sessionId === undefined) {
    throw wrong(`${what} is no bundle: AGENT_SESSION_ID must name its session`);
  }
  const source = await decodeSessionInput(bytes, isBundle(bytes) ? undefined : sessionId, io.cwd);
  if (sessionId !== undefined && source.sessionId !== sessionId) {
    throw wrong(`${what} contains the session ${source.sessionId}, but AGENT_SESSION_ID is ${sessionId}`);
  }
  return source;
}

function wrong(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", why, {
    hint: "Create a bundle with `holdfast capture --session-id ID --out FILE`, or leave the input out.",
  });
}

const INLINE = "base64:";
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** The input counts as text if its first bytes, so many, are text. */
const LOOK = 4096;

export async function readInputBytes(from: string, io: Io): Promise<Uint8Array> {
  if (from.startsWith(INLINE)) return decoded(from.slice(INLINE.length)) ?? Buffer.alloc(0);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of fileIn(from, io)) {
    size += piece.byteLength;
    if (size > LIMITS.bundleBytes) throw limitExceeded("bundleBytes", "the size of the passed-in session", size);
    pieces.push(piece);
  }
  const bytes = Buffer.concat(pieces);
  const isText = !isBundle(bytes) && !isGzip(bytes) && /^[\sA-Za-z0-9+/_=-]+$/.test(bytes.toString("latin1", 0, LOOK));
  return (isText ? decoded(bytes.toString("latin1")) : null) ?? bytes;
}

function decoded(text: string): Uint8Array | null {
  const plain = text.replace(/\s+/g, "");
  return BASE64.test(plain) ? Buffer.from(plain, "base64") : null;
}

/** A single transcript does not name its session, so `sessionId` must. */
export async function decodeSessionInput(
  bytes: Uint8Array,
  sessionId: string | undefined,
  cwd: string,
): Promise<CaptureSource> {
  if (isBundle(bytes)) {
    const found = await readCaptureBundle(bytes);
    if (sessionId === undefined || sessionId === found.sessionId) return sourceInMemory(found);
    throw new UsageError(`the bundle is of session ${found.sessionId}; leave out --session-id`);
  }
  const transcript = isGzip(bytes) ? await openGzip(bytes) : bytes;
  const reader = new TranscriptReader();
  reader.push(transcript);
  if (reader.end().messages === 0) throw unknown(bytes.byteLength);
  if (sessionId === undefined) {
    throw new UsageError("the input is a single transcript of Claude Code; name its session with --session-id ID");
  }
  return sourceInMemory(singleTranscript(checkSessionId(sessionId), transcript, cwd));
}

function unknown(size: number): HoldfastError {
  const what = size === 0 ? "the input is empty" : "the input is neither a bundle nor a transcript of Claude Code";
  return new HoldfastError("ArchiveCorrupted", `nothing was restored: ${what}`, {
    hint: "create a bundle with `holdfast capture --session-id ID --out FILE`, or copy the file again",
    details: { size },
  });
}
