// What a container is handed instead of a store: a file (--from, AGENT_SESSION_FILE), or AGENT_SESSION_BLOB, the same as base64.
// It is a bundle of ours or the compressed transcript alone; then AGENT_SESSION_ID names its session.
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { isBundle } from "../../core/bundle.ts";
import { isFile } from "../bytes.ts";
import { readHanded, sourceHanded } from "../captures/handed.ts";
import type { Io } from "../io.ts";

export interface Handing {
  /** --from */
  readonly from: string | undefined;
  /** --out: a bundle that is there already is what is gone on from. */
  readonly out: string | undefined;
  readonly hasStore: boolean;
}

export interface Handed {
  readonly source: CaptureSource | null;
  /** Why what the environment handed over is of no use: that need not stop the agent. */
  readonly why: string | null;
}

const NOTHING: Handed = { source: null, why: null };

/** What was named on the command line must be right; it is a mistake that can be mended before anything begins. */
export async function handedOver(io: Io, { from, out, hasStore }: Handing): Promise<Handed> {
  const { AGENT_SESSION_BLOB: blob, AGENT_SESSION_FILE: file } = io.env;
  if (from !== undefined) return { source: await sourceFrom(io, from, "--from"), why: null };
  if (blob) return orWhy(sourceFrom(io, `base64:${blob}`, "AGENT_SESSION_BLOB"));
  if (file) return orWhy(sourceFrom(io, file, "AGENT_SESSION_FILE"));
  if (out !== undefined && !hasStore && (await isFile(out, io))) {
    return { source: await sourceFrom(io, out, "--out"), why: null };
  }
  return NOTHING;
}

async function orWhy(reading: Promise<CaptureSource>): Promise<Handed> {
  try {
    return { source: await reading, why: null };
  } catch (error) {
    return { source: null, why: error instanceof Error ? error.message : String(error) };
  }
}

async function sourceFrom(io: Io, from: string, what: string): Promise<CaptureSource> {
  const sessionId = io.env.AGENT_SESSION_ID || undefined;
  const bytes = await readHanded(from, io);
  if (!isBundle(bytes) && sessionId === undefined) {
    throw wrong(`${what} is no bundle: AGENT_SESSION_ID must name its session`);
  }
  const source = await sourceHanded(bytes, isBundle(bytes) ? undefined : sessionId, io.cwd);
  if (sessionId !== undefined && source.sessionId !== sessionId) {
    throw wrong(`${what} holds the session ${source.sessionId}, and AGENT_SESSION_ID says ${sessionId}`);
  }
  return source;
}

function wrong(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", why, {
    hint: "Make it with `holdfast capture --session-id ID --out FILE`, or leave it out.",
  });
}
