// What a container is handed in its environment instead of a store: AGENT_SESSION_ID and AGENT_SESSION_BLOB, the blob a bundle
// of ours or the compressed transcript alone, as base64.
import type { CaptureSource } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { isBundle } from "../../core/bundle.ts";
import { sourceHanded } from "../captures/handed.ts";
import type { Io } from "../io.ts";

/** null: nothing was handed over. */
export async function handedOver(env: Io["env"], cwd: string): Promise<CaptureSource | null> {
  const { AGENT_SESSION_BLOB: blob, AGENT_SESSION_ID: sessionId } = env;
  if (blob === undefined || blob === "") return null;
  const bytes = Buffer.from(blob, "base64");
  const isNamed = sessionId !== undefined && sessionId !== "";
  if (!isBundle(bytes) && !isNamed)
    throw wrong("AGENT_SESSION_BLOB is no bundle: AGENT_SESSION_ID must name its session");
  const source = await sourceHanded(bytes, isBundle(bytes) ? undefined : sessionId, cwd);
  if (isNamed && source.sessionId !== sessionId) {
    throw wrong(`AGENT_SESSION_BLOB holds the session ${source.sessionId}, not ${sessionId}`);
  }
  return source;
}

function wrong(why: string): HoldfastError {
  return new HoldfastError("InvalidArgument", why, {
    hint: "Make it with `holdfast capture --out FILE` and base64, or leave both variables out.",
  });
}
