// Decodes stored captures and their lists of files.
import type { Capture, CapturedFile, CaptureOrigin, CaptureRole, CodingAgent } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { AGENTS, checkPath } from "../core/agent-sessions.ts";
import { encodeText, fromRef } from "../core/bytes.ts";
import { damagedRow, decodeRow, jsonObject, oneOf, optional, text, utf8, whole } from "../core/decode.ts";
import { canonicalJson } from "../core/hashing.ts";
import type { StoredCapture } from "../core/stored-capture.ts";

const SHAPE = {
  id: text,
  session: text,
  request: text,
  agent: oneOf(AGENTS),
  agent_session: text,
  generation: whole,
  diverged: whole,
  cwd: utf8,
  config_dir: optional(utf8),
  project_key: optional(utf8),
  agent_version: optional(utf8),
  files: whole,
  size: whole,
  stored: whole,
  created_at: whole,
  saved_at: whole,
  expires_at: optional(whole),
};

export function captureOf(row: CaptureRow): Capture {
  const found = decodeRow({ kind: "capture", id: row.id }, row, SHAPE);
  return {
    id: found.id,
    request: found.request,
    agent: found.agent as CodingAgent,
    sessionId: found.agent_session,
    session: found.session,
    generation: found.generation,
    diverged: found.diverged === 1,
    cwd: found.cwd,
    configDir: found.config_dir,
    key: found.project_key,
    agentVersion: found.agent_version,
    fileCount: found.files,
    size: found.size,
    stored: found.stored,
    createdAt: found.created_at,
    savedAt: found.saved_at,
    expiresAt: found.expires_at,
  };
}

/** Reads the list of files, and checks it against the row. */
export async function manifestOf(payloads: Payloads, row: CaptureRow): Promise<Manifest> {
  if (row.manifest === null)
    throw damagedRow({ kind: "capture", id: row.id }, "its list of files is missing", "manifest");
  const pieces: Uint8Array[] = [];
  for await (const piece of payloads.stream(row.manifest)) pieces.push(piece);
  const manifest = decodeManifest(Buffer.concat(pieces), row.id);
  if (manifest.agent !== row.agent || manifest.sessionId !== row.agent_session || manifest.files.length !== row.files) {
    throw damagedRow({ kind: "capture", id: row.id }, "its list of files belongs to another capture", "manifest");
  }
  return manifest;
}

/**
 * Runs a read of the capture again if another save has replaced what it read meanwhile: the blobs of the former generation are gone
 * with it. `read` gets the capture as it is now.
 */
export async function readUnreplaced<T>(
  storage: Storage,
  id: string,
  read: (row: CaptureRow) => Promise<T>,
): Promise<T> {
  for (;;) {
    const row = await liveCapture(storage, id);
    try {
      return await read(row);
    } catch (error) {
      if (!(await isReplaced(storage, row, error))) throw error;
    }
  }
}

/** Whether the error says that bytes are gone which the capture no longer names. */
async function isReplaced(storage: Storage, { id, generation }: CaptureRow, error: unknown): Promise<boolean> {
  if (!(error instanceof HoldfastError) || error.code !== "BlobNotFound") return false;
  const now = await liveCapture(storage, id);
  return now.generation !== generation;
}

/** The capture with the files of this generation, also if it has expired. */
export async function storedCapture(payloads: Payloads, row: CaptureRow): Promise<StoredCapture> {
  const { files } = await manifestOf(payloads, row);
  return { ...captureOf(row), files, read: (path) => readFile(payloads, row.id, files, path) };
}

export async function* readFile(
  payloads: Payloads,
  capture: string,
  files: readonly CapturedFile[],
  path: string,
): AsyncGenerator<Uint8Array> {
  const file = files.find((one) => one.path === path);
  const digest = file === undefined ? null : fromRef(file.ref);
  if (digest === null) {
    throw new HoldfastError("NotFound", `the capture ${capture} has no file ${JSON.stringify(path)}`, {
      details: { kind: "file", capture, path },
      hint: "captures.files(id) lists its files.",
    });
  }
  yield* payloads.stream(digest);
}

export async function existingCapture(storage: Storage, id: string): Promise<CaptureRow> {
  const [row] = await storage.query("capture.get", { id });
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no capture ${JSON.stringify(id)}`, {
    details: { kind: "capture", id },
    hint: "List the captures with captures.list(), or `npx holdfast captures ls`. An expired capture may have been swept.",
  });
}

/** A capture that has not expired. */
export async function liveCapture(storage: Storage, id: string): Promise<CaptureRow> {
  const row = await existingCapture(storage, id);
  if (!isExpired(row, storage.environment.now())) return row;
  throw new HoldfastError("CaptureExpired", `the capture ${id} has expired`, {
    details: { kind: "capture", id, expiresAt: row.expires_at },
    hint: "Until it is swept, captures.expire(id, null) keeps it. The conversation is in its session.",
  });
}

export function isExpired({ expires_at }: Pick<CaptureRow, "expires_at">, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

export function sortByPath(files: readonly CapturedFile[]): readonly CapturedFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

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
  /** Sorted by path. Each path occurs once. */
  readonly files: readonly CapturedFile[];
}

/** The fields are in canonical order already, so encoding need not sort them. */
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
      hint: "Restore a backup of the store, or continue from the conversation: `npx holdfast run` does so by itself.",
    });
  if (found === undefined) throw damaged("it is not JSON");
  if (found.v !== VERSION) throw damaged(`its version is ${JSON.stringify(found.v ?? null)}`);
  const { agent, sessionId, cwd, configDir = null, key = null, agentVersion = null, files } = found;
  const isText = (value: Json | undefined) => typeof value === "string";
  const sound =
    AGENTS.includes(agent as CodingAgent) &&
    [sessionId, cwd].every(isText) &&
    [configDir, key, agentVersion].every((value) => value === null || isText(value));
  if (!sound || !Array.isArray(files)) throw damaged("it does not name its agent, session and directory");
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
  if (!sound) throw damaged("a file has no valid path, ref, role or size");
  checkPath(path);
  return { path, ref, role, size, stored } as CapturedFile;
}
