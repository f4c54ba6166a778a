// What `holdfast restore --from` is handed: a bundle, or a single transcript as others pass it on, compressed or not; each of
// them as bytes or as base64 text. Whoever made it may be hostile.
import { readCaptureBundle } from "../../captures/bundle.ts";
import { checkSessionId } from "../../coding/claude/layout.ts";
import { TranscriptReader } from "../../coding/claude/transcript.ts";
import { sourceInMemory, transcriptAlone } from "../../coding/sources.ts";
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { isBundle, isGzip, openGzip } from "../../core/bundle.ts";
import { limitExceeded } from "../../core/check.ts";
import { fileIn } from "../bytes.ts";
import { UsageError } from "../failure.ts";
import type { Io } from "../io.ts";

const INLINE = "base64:";
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
/** So much is looked at to tell text from bytes. */
const LOOK = 4096;

export async function readHanded(from: string, io: Io): Promise<Uint8Array> {
  if (from.startsWith(INLINE)) return decoded(from.slice(INLINE.length)) ?? Buffer.alloc(0);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of fileIn(from, io)) {
    size += piece.byteLength;
    if (size > LIMITS.bundleBytes) throw limitExceeded("bundleBytes", "the size of what was handed in", size);
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

/** Without a list of its own, the session's id is the user's to say. */
export async function sourceHanded(
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
    throw new UsageError("it is a transcript of Claude Code alone; name its session with --session-id ID");
  }
  return sourceInMemory(transcriptAlone(checkSessionId(sessionId), transcript, cwd));
}

function unknown(size: number): HoldfastError {
  const what = size === 0 ? "it is empty" : "it is neither a bundle nor a transcript of Claude Code";
  return new HoldfastError("ArchiveCorrupted", `nothing was put back: ${what}`, {
    hint: "make it with `holdfast capture --session-id ID --out FILE`, or copy it again",
    details: { size },
  });
}
