// What a container is handed in its environment instead of a store: AGENT_SESSION_ID and AGENT_SESSION_BLOB, the blob a bundle
// of ours or the compressed transcript alone, as base64.
import { unbundle } from "../../captures/bundle.ts";
import { type InMemory, transcriptAlone } from "../../coding/sources.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { isBundle, isGzip, openGzip } from "../../core/bundle.ts";
import type { Io } from "../io.ts";

export type Handed = InMemory;

/** null: nothing was handed over. */
export async function handedOver(env: Io["env"], cwd: string): Promise<Handed | null> {
  const { AGENT_SESSION_BLOB: blob, AGENT_SESSION_ID: sessionId } = env;
  if (blob === undefined || blob === "") return null;
  const bytes = Buffer.from(blob, "base64");
  const found = await readHanded(bytes, sessionId, cwd);
  if (sessionId !== undefined && sessionId !== "" && found.sessionId !== sessionId) {
    throw wrong(`AGENT_SESSION_BLOB holds the session ${found.sessionId}, not ${sessionId}`);
  }
  return found;
}

async function readHanded(bytes: Uint8Array, sessionId: string | undefined, cwd: string): Promise<Handed> {
  if (isBundle(bytes)) return unbundle(bytes);
  if (!isGzip(bytes)) throw wrong("AGENT_SESSION_BLOB is neither a bundle nor a compressed transcript in base64");
  if (sessionId === undefined || sessionId === "")
    throw wrong("AGENT_SESSION_BLOB is a transcript: AGENT_SESSION_ID must name it");
  return transcriptAlone(sessionId, await openGzip(bytes), cwd);
}

function wrong(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", why, {
    hint: "Make it with `holdfast capture --out FILE` and base64, or leave both variables out.",
  });
}
