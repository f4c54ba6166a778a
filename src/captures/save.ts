// Saves a capture. The files are stored first, each as a blob; of a transcript only the new part is added. Then one commit makes them the
// newest generation. If another machine has saved meanwhile, the result is a conflict or a diverged capture.
import type { Blobs } from "../contracts/blobs.ts";
import type { CapturedFile, CaptureWithFiles, NewCapturedFile } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import type { EventDraft, Guard, Write } from "../contracts/storage/commit.ts";
import type { Payloads, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { encodeText, fromRef, toHex } from "../core/bytes.ts";
import { type Decision, decide } from "../core/decide.ts";
import { forgetWrites, releaseWrites, type Tally, tally } from "../core/erasure.ts";
import { newId } from "../core/new-id.ts";
import { STORE_LOCK } from "../core/session-guards.ts";
import type { CheckedCapture } from "./checked-input.ts";
import { captureOf, encodeManifest, isExpired, type Manifest, manifestOf, sortByPath } from "./rows.ts";

/** How long a stored file is kept before a row refers to it. */
const PENDING_TTL_MS = 3_600_000;
const WEEK_MS = 7 * 24 * 3_600_000;
const NO_BYTES = new Uint8Array(0);

export interface CaptureContext {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly blobs: Blobs;
  /** The id of the session in which the capture is logged. The session is created if it is missing. */
  readonly sessionFor: (given: CheckedCapture, basis: Basis) => Promise<string>;
}

export interface Basis {
  /** The row that is replaced; null: a new row is inserted. */
  readonly before: CaptureRow | null;
  /** The newest capture of the session that is not diverged. */
  readonly newest: CaptureRow | null;
}

export async function saveCapture(context: CaptureContext, given: CheckedCapture): Promise<CaptureWithFiles> {
  const { storage, payloads } = context;
  const basis = await resolveBasis(storage, given);
  const { before } = basis;
  const session = await context.sessionFor(given, basis);
  const known = before === null ? null : await manifestOf(payloads, before).catch(() => null);
  const files = sortByPath(await storeFiles(context, given.files, known));
  const { agent, sessionId, cwd, configDir, key, agentVersion } = given;
  const bytes = encodeManifest({ agent, sessionId, cwd, configDir, key, agentVersion, files });
  const children = distinct(files.map(({ ref }) => fromRef(ref) as Uint8Array));
  return payloads.preparing(async (prepare) => {
    const manifest = await prepare(bytes, { media: "application/json", utf8: true, owned: true, children });
    const saved = await decide(storage, async () => {
      const basis = await resolveBasis(storage, given);
      // A capture that another process has created meanwhile keeps its session, whatever session the caller named.
      const isElsewhere = basis.before !== null && basis.before.session !== session;
      const isShared = basis.before === null && basis.newest?.session === session && given.session === undefined;
      const where = isElsewhere || isShared ? await context.sessionFor(given, basis) : session;
      return decisionOf(context, { given, session: where, files, manifest, children }, basis);
    });
    // Blobs that only the replaced generation used.
    const kept = new Set(children.map(toHex));
    await payloads.discard(saved.later.filter(({ sha256 }) => !kept.has(toHex(sha256))));
    return saved.capture;
  });
}

/** Conflict when the stored generation is not the caller's basis. */
async function resolveBasis(storage: Storage, given: CheckedCapture): Promise<Basis> {
  const { request, agent, sessionId, basis } = given;
  const newest = (await storage.query("capture.newest", { request, agent, agentSession: sessionId }))[0] ?? null;
  if (basis === undefined) return { before: newest, newest };
  const row = basis === null ? undefined : (await storage.query("capture.get", { id: basis.id }))[0];
  const isSame = row?.agent === agent && row.agent_session === sessionId && row.request === request;
  if (isSame && row.generation === basis?.generation) return { before: row, newest };
  // The newest capture has expired, so this save replaces it.
  if (newest !== null && isExpired(newest, storage.environment.now())) return { before: newest, newest };
  // There is no other generation to diverge from: it was removed, or never existed.
  if (newest === null || given.keepsBoth) return { before: null, newest };
  throw conflict(given, newest);
}

function conflict({ request, sessionId }: CheckedCapture, newest: CaptureRow): HoldfastError {
  const { id, generation } = newest;
  return new HoldfastError(
    "Conflict",
    `another machine has saved session ${JSON.stringify(sessionId)} meanwhile: generation ${generation} is the newest`,
    {
      details: { kind: "capture", request, sessionId, id, generation },
      hint: 'Save it as a diverged capture with onConflict: "keep", and choose later with captures.prefer(id).',
    },
  );
}

async function storeFiles(
  { storage, blobs }: CaptureContext,
  files: readonly NewCapturedFile[],
  known: Manifest | null,
): Promise<readonly CapturedFile[]> {
  const before = new Map(known?.files.map((file) => [file.path, file]));
  const stored: CapturedFile[] = [];
  for (const { role, path, content, grows, owned } of files) {
    const had = before.get(path);
    const ref =
      content instanceof Uint8Array
        ? await storeFile(blobs, content, { grows: grows === true, owned: owned === true }, had)
        : content.ref;
    const same = had?.ref === ref ? had : await readStoredSize(storage, ref);
    if (same === undefined) throw missing(path, ref);
    stored.push({ role, path, ref, size: same.size, stored: same.stored });
  }
  return stored;
}

async function readStoredSize(
  storage: Storage,
  ref: string,
): Promise<Pick<CapturedFile, "size" | "stored"> | undefined> {
  const [row] = await storage.query("capture.stored", { sha256: fromRef(ref) as Uint8Array });
  return row;
}

/** A growing file is stored in segments from the first save on, so that later saves store only the new part. */
async function storeFile(
  blobs: Blobs,
  content: Uint8Array,
  { grows, owned }: { readonly grows: boolean; readonly owned: boolean },
  had: CapturedFile | undefined,
): Promise<string> {
  const options = { ttlMs: PENDING_TTL_MS, owned };
  if (!grows) return blobs.store(content, options);
  const growsFrom = had?.ref ?? (await blobs.store(NO_BYTES, options));
  return blobs.store(content, { ...options, growsFrom });
}

function missing(path: string, ref: string): HoldfastError {
  return new HoldfastError("BlobNotFound", `there is no blob ${ref} for ${JSON.stringify(path)}`, {
    details: { path, ref },
    hint: "Pass the bytes instead of the ref.",
  });
}

interface PendingSave {
  readonly given: CheckedCapture;
  readonly session: string;
  readonly files: readonly CapturedFile[];
  readonly manifest: PreparedPayload;
  readonly children: readonly Uint8Array[];
}

interface SaveOutcome {
  readonly capture: CaptureWithFiles;
  readonly later: Tally["later"];
}

function decisionOf(
  { storage }: CaptureContext,
  saving: PendingSave,
  { before, newest }: Basis,
): Decision<SaveOutcome> {
  const { given, session, files, manifest, children } = saving;
  const at = storage.environment.now();
  const row = rowOf(storage, saving, { before, newest }, at);
  const { id, generation, diverged, request, agent, agent_session, size, stored, created_at, expires_at } = row;
  const replaced: Write[] =
    before === null
      ? []
      : [...releaseWrites(["capture"], at, { id: before.id }), ...forgetWrites(["capture"], { id: before.id })];
  const event: EventDraft = {
    session,
    type: "capture/saved",
    at,
    payloads: { manifest },
    data: {
      agent,
      agent_session,
      blobs: children.length,
      capture: id,
      created_at,
      diverged,
      expires_at,
      files: files.length,
      generation,
      request,
      size,
      stored,
    },
    writes: [...replaced, { op: "insert", table: "captures", row }],
  };
  return {
    commit: {
      ...(before === null ? {} : { solo: true }),
      sessions: [{ id: session, mode: "existing", at }],
      guards: guardsOf(given, session, { before, newest }),
      events: [event],
      blobs: manifest.blobs,
      writes: manifest.writes,
      uses: [...manifest.uses, ...children.map((digest) => [digest, 0] as const)],
    },
    answer: ({ found = {} }) => ({
      capture: { ...captureOf({ ...row, session } as unknown as CaptureRow), files },
      later: before === null ? [] : tally(found, ["capture"], at).later,
    }),
  };
}

function rowOf(storage: Storage, { given, files, manifest }: PendingSave, { before, newest }: Basis, at: number) {
  return {
    id: before?.id ?? newId(storage.environment, "cap"),
    request: given.request,
    agent: given.agent,
    agent_session: given.sessionId,
    generation: (before?.generation ?? 0) + 1,
    // A diverged capture becomes the newest when the newest was removed.
    diverged: newest === null ? 0 : (before?.diverged ?? 1),
    cwd: encodeText(given.cwd),
    config_dir: bytesOf(given.configDir),
    project_key: bytesOf(given.key),
    agent_version: bytesOf(given.agentVersion),
    manifest: manifest.sha256,
    salt: manifest.salt,
    files: files.length,
    size: sum(files, "size"),
    stored: sum(files, "stored"),
    created_at: before?.created_at ?? at,
    saved_at: at,
    expires_at: expiryOf(given, before, at),
  };
}

/** If the caller gives no time, the capture is kept as long after this save as it was to be kept after the last one. */
function expiryOf({ ttlMs }: CheckedCapture, before: CaptureRow | null, at: number): number | null {
  if (ttlMs === null) return null;
  if (ttlMs !== undefined) return at + ttlMs;
  if (before === null) return at + WEEK_MS;
  if (before.expires_at === null) return null;
  const kept = before.expires_at - before.saved_at;
  return kept > 0 ? Math.max(before.expires_at, at + kept) : at + WEEK_MS;
}

/** Saves that insert a new capture wait for each other with the store's lock: they may use different sessions and share no row. */
function guardsOf(
  { request, agent, sessionId }: CheckedCapture,
  session: string,
  { before, newest }: Basis,
): readonly Guard[] {
  const same = before === null ? [] : [unchangedGuard(before, session)];
  if (before !== null && newest !== null) return same;
  const key = [request, agent, sessionId, session];
  return [...same, STORE_LOCK, { check: "capture.newest", key, expect: newest?.id ?? null }];
}

/** Requires that the capture did not change, nor its expiry. `session` is any session that the commit uses. */
export function unchangedGuard({ id, session_no, seq }: CaptureRow, session: string): Guard {
  return { check: "capture.seq", key: [id, session], expect: `${session_no} ${seq}` };
}

function sum(files: readonly CapturedFile[], of: "size" | "stored"): number {
  return files.reduce((all, file) => all + file[of], 0);
}

function bytesOf(value: string | null): Uint8Array | null {
  return value === null ? null : encodeText(value);
}

function distinct(digests: readonly Uint8Array[]): readonly Uint8Array[] {
  return [...new Map(digests.map((digest) => [toHex(digest), digest])).values()];
}
