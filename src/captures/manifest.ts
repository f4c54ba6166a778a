// The list of a capture's files, as one payload: what the event of its save commits to. It names the blobs that hold them.
import type { CapturedFile, CaptureOrigin, CaptureRole, CodingAgent } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { encodeText, fromRef } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { jsonObject } from "../core/decode.ts";
import { checkPath } from "../core/paths.ts";

export const AGENTS: readonly CodingAgent[] = ["claude-code", "opencode"];
export const ROLES: readonly CaptureRole[] = [
  "transcript",
  "subagent",
  "tool-result",
  "task",
  "file-history",
  "export",
  "todos",
  "output",
  "other",
];
const VERSION = 1;

export interface Manifest extends CaptureOrigin {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  /** In the order of their paths, each path once. */
  readonly files: readonly CapturedFile[];
}

/** Names in canonical order, so that writing it sorts nothing. */
export function encodeManifest(manifest: Manifest): Uint8Array {
  const { agent, agentVersion, configDir, cwd, key, sessionId } = manifest;
  const files = manifest.files.map(({ path, ref, role, size, stored }) => ({ path, ref, role, size, stored }));
  return encodeText(canonicalJson({ agent, agentVersion, configDir, cwd, files, key, sessionId, v: VERSION }));
}

/** The manifest may come from an untrusted bundle: every part is checked. */
export function decodeManifest(bytes: Uint8Array, capture: string): Manifest {
  const found = jsonObject.read(bytes);
  const damaged = (why: string) =>
    new HoldfastError("StoreCorrupted", `the list of files of capture ${capture} is damaged: ${why}`, {
      details: { kind: "capture", id: capture },
      hint: "Restore an older copy of the store, or go on from the conversation: `npx holdfast run` does so by itself.",
    });
  if (found === undefined) throw damaged("it is not JSON");
  if (found.v !== VERSION) throw damaged(`its version is ${JSON.stringify(found.v ?? null)}`);
  const { agent, sessionId, cwd, configDir = null, key = null, agentVersion = null, files } = found;
  const isText = (value: Json | undefined) => typeof value === "string";
  const sound =
    AGENTS.includes(agent as CodingAgent) &&
    [sessionId, cwd].every(isText) &&
    [configDir, key, agentVersion].every((value) => value === null || isText(value));
  if (!sound || !Array.isArray(files)) throw damaged("it does not say whose it is");
  if (files.length > LIMITS.captureFiles) throw damaged(`it has ${files.length} files`);
  const read = files.map((one) => fileOf(one as JsonObject, damaged));
  for (const [i, { path }] of read.entries()) {
    if (i > 0 && (read[i - 1]?.path ?? "") >= path) throw damaged("its files are not in order");
  }
  return { agent, sessionId, cwd, configDir, key, agentVersion, files: read } as Manifest;
}

function fileOf(file: JsonObject | null, damaged: (why: string) => HoldfastError): CapturedFile {
  const { path, ref, role, size, stored } = file ?? {};
  const sound =
    typeof path === "string" &&
    typeof ref === "string" &&
    fromRef(ref) !== null &&
    ROLES.includes(role as CaptureRole) &&
    [size, stored].every((value) => Number.isSafeInteger(value) && Number(value) >= 0);
  if (!sound) throw damaged("a file of it has no sound path, ref, role or size");
  checkPath(path);
  return { path, ref, role, size, stored } as CapturedFile;
}
