// Captures as they come back from storage.

import type { Capture, CapturedFile, CodingAgent } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { AGENTS } from "../core/agent-sessions.ts";
import { fromRef } from "../core/bytes.ts";
import { damagedRow, decodeRow, oneOf, optional, text, utf8, whole } from "../core/decode.ts";
import type { StoredCapture } from "../core/stored-capture.ts";
import { decodeManifest, type Manifest } from "./manifest.ts";

const SHAPE = {
  ...{ id: text, session: text, request: text, agent: oneOf(AGENTS), agent_session: text, generation: whole },
  ...{
    diverged: whole,
    cwd: utf8,
    config_dir: optional(utf8),
    project_key: optional(utf8),
    agent_version: optional(utf8),
  },
  ...{ files: whole, size: whole, stored: whole, created_at: whole, saved_at: whole, expires_at: optional(whole) },
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
    ...{ cwd: found.cwd, configDir: found.config_dir, key: found.project_key, agentVersion: found.agent_version },
    ...{ fileCount: found.files, size: found.size, stored: found.stored },
    ...{ createdAt: found.created_at, savedAt: found.saved_at, expiresAt: found.expires_at },
  };
}

/** Its list of files, which its row agrees with. */
export async function manifestOf(payloads: Payloads, row: CaptureRow): Promise<Manifest> {
  if (row.manifest === null)
    throw damagedRow({ kind: "capture", id: row.id }, "its list of files is missing", "manifest");
  const pieces: Uint8Array[] = [];
  for await (const piece of payloads.stream(row.manifest)) pieces.push(piece);
  const manifest = decodeManifest(Buffer.concat(pieces), row.id);
  if (manifest.agent !== row.agent || manifest.sessionId !== row.agent_session || manifest.files.length !== row.files) {
    throw damagedRow({ kind: "capture", id: row.id }, "its list of files is another's", "manifest");
  }
  return manifest;
}

/** With its files as they were in this generation, also after its time. */
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
      hint: "captures.files(id) lists them.",
    });
  }
  yield* payloads.stream(digest);
}

export async function existingCapture(storage: Storage, id: string): Promise<CaptureRow> {
  const [row] = await storage.query("capture.get", { id });
  if (row !== undefined) return row;
  throw new HoldfastError("NotFound", `there is no capture ${JSON.stringify(id)}`, {
    details: { kind: "capture", id },
    hint: "List what there is with captures.list(), or `npx holdfast captures ls`. What has expired may have been swept.",
  });
}

/** One whose time is not over. */
export async function liveCapture(storage: Storage, id: string): Promise<CaptureRow> {
  const row = await existingCapture(storage, id);
  if (!isOver(row, storage.environment.now())) return row;
  throw new HoldfastError("CaptureExpired", `the capture ${id} has expired`, {
    details: { kind: "capture", id, expiresAt: row.expires_at },
    hint: "As long as it was not swept, captures.expire(id, null) keeps it. The conversation is in its session.",
  });
}

export function isOver({ expires_at }: Pick<CaptureRow, "expires_at">, now: number): boolean {
  return expires_at !== null && expires_at <= now;
}

export function inOrder(files: readonly CapturedFile[]): readonly CapturedFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
