// Captures: see contracts/captures.ts for what they promise.
import type { Blobs } from "../contracts/blobs.ts";
import type { Capture, Captures, CapturesRemoved } from "../contracts/captures.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Page } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { SessionBasics } from "../contracts/sessions.ts";
import type { CaptureRow } from "../contracts/storage/capture-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { PlacedEventRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { CAPTURE_VERBS } from "../contracts/verbs/captures.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { checkRecord } from "../core/check.ts";
import { type ListOrder, listStart, readPage } from "../core/cursor.ts";
import { decodeRow, jsonObject, plainObject } from "../core/decode.ts";
import type { StoredCapture } from "../core/stored-capture.ts";
import { bindVerbs } from "../core/verbs.ts";
import { createBundle, filesToSave, readCaptureBundle } from "./bundle.ts";
import { changeExpiry, prefer } from "./change.ts";
import { type CheckedCapture, checkCapture } from "./checked-input.ts";
import { claimRequest } from "./claim.ts";
import { sweepClaims } from "./claim-sweep.ts";
import type { OpenClaims } from "./open-claims.ts";
import { removeCaptures } from "./remove.ts";
import { captureOf, existingCapture, manifestOf, readFile, readUnreplaced, storedCapture } from "./rows.ts";
import { type Basis, type CaptureContext, saveCapture } from "./save.ts";

const FOREVER = Number.MAX_SAFE_INTEGER;
const PAGE = 100;

/** Imports the conversation of a capture into its session, if that is behind. */
export type ImportConversation = (capture: StoredCapture) => Promise<unknown>;

export interface CapturesOptions {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly blobs: Blobs;
  readonly sessions: SessionBasics;
  readonly claims: OpenClaims;
  readonly importConversation: ImportConversation;
}

export function createCaptures(options: CapturesOptions): Captures {
  const { storage, payloads, blobs, sessions } = options;
  const context: CaptureContext = {
    storage,
    payloads,
    blobs,
    sessionFor: (given, basis) => sessionFor(storage, sessions, given, basis),
  };
  const importFirst = (row: CaptureRow) => importRow(options, row);
  const newest = async (filter: Filter): Promise<Capture | null> => {
    // If the newest capture was removed, the newest of the diverged ones takes its place.
    const [first] = await find(storage, filter, "newest", FOREVER, 1);
    const row = first ?? (await find(storage, { ...filter, diverged: true }, "newest", FOREVER, 1))[0];
    return row === undefined ? null : captureOf(row);
  };
  return bindVerbs(CAPTURE_VERBS, null, {
    save: async (capture) => saveCapture(context, checkCapture(capture)),
    prefer: async (id) => {
      const row = await existingCapture(storage, id);
      const [newest] = await storage.query("capture.newest", {
        request: row.request,
        agent: row.agent,
        agentSession: row.agent_session,
      });
      for (const one of newest === undefined ? [row] : [newest, row]) await importFirst(one);
      return prefer(storage, row.id);
    },
    latest: (request, agent) => newest({ ...NO_FILTER, request, agent }),
    bySession: (sessionId, agent) => newest({ ...NO_FILTER, sessionId, agent }),
    get: async (id) => {
      const [row] = await storage.query("capture.get", { id });
      return row === undefined ? null : captureOf(row);
    },
    list: (filter) => list(storage, filter),
    files: async (id) => (await readUnreplaced(storage, id, (row) => manifestOf(payloads, row))).files,
    read: (id, path) => read(context, id, path),
    getBundle: (id) =>
      readUnreplaced(storage, id, async (row) => createBundle(payloads, await manifestOf(payloads, row))),
    putBundle: async (bundle, capture) => {
      const input = checkRecord(capture, "capture", ["request", "basis", "onConflict", "ttlMs", "session"]);
      const found = await readCaptureBundle(bundle);
      const { agent, sessionId, cwd, configDir, key, agentVersion } = found;
      const { files, left } = filesToSave(found);
      const given = checkCapture({ ...input, agent, sessionId, cwd, configDir, key, agentVersion, files });
      return { ...(await saveCapture(context, given)), left };
    },
    expire: (id, expiresAt) => changeExpiry(storage, id, expiresAt),
    delete: async (id) => removeCaptures(context, [await existingCapture(storage, id)], "asked"),
    deleteForRequest: (request) => removeRequest(context, request),
    deleteExpired: async ({ dryRun }) => {
      const removed = await sweep(context, dryRun, importFirst);
      if (!dryRun) await sweepClaims(storage);
      return removed;
    },
    claim: (request, agent, claimOptions) => claimRequest(storage, options.claims, { request, agent }, claimOptions),
  });
}

interface Filter {
  readonly request: string | null;
  readonly sessionId: string | null;
  readonly agent: string | null;
  readonly diverged: boolean;
}

const NO_FILTER: Filter = { request: null, sessionId: null, agent: null, diverged: false };

function find(
  storage: Storage,
  filter: Filter,
  order: ListOrder,
  last: number,
  limit: number,
): Promise<readonly CaptureRow[]> {
  const suffix = order === "oldest" ? ".oldest" : "";
  const { request, sessionId: agentSession, agent, diverged } = filter;
  const params = { last, now: storage.environment.now(), agent, diverged: diverged ? 1 : 0, limit };
  if (request !== null && agentSession !== null) {
    return storage.query(`captures.byBoth${suffix}`, { ...params, request, agentSession });
  }
  if (request !== null) return storage.query(`captures.byRequest${suffix}`, { ...params, request });
  if (agentSession !== null) return storage.query(`captures.bySession${suffix}`, { ...params, agentSession });
  return storage.query(`captures.list${suffix}`, params);
}

async function list(storage: Storage, input: ValuesOf<typeof CAPTURE_VERBS.list>[0]): Promise<Page<Capture>> {
  const { limit, cursor, order, ...filter } = input;
  return readPage({
    list: "captures.list",
    order,
    filter: [filter.request, filter.agent, filter.sessionId, filter.diverged],
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) => find(storage, filter, order, last, most),
    item: captureOf,
    position: ({ no }) => [no],
  });
}

/** All of one generation: once a piece is out, a save that replaces the file makes the read fail. */
async function* read({ storage, payloads }: CaptureContext, id: string, path: string): AsyncGenerator<Uint8Array> {
  const first = await readUnreplaced(storage, id, async (row) => {
    const { files } = await manifestOf(payloads, row);
    const pieces = readFile(payloads, id, files, path);
    return { pieces, ...(await pieces.next()) };
  });
  if (first.done === true) return;
  try {
    yield first.value;
    yield* first.pieces;
  } finally {
    await first.pieces.return(undefined);
  }
}

/** The session of the basis; without a basis, one that is named after the agent's session, with a number if that name is not free. */
async function sessionFor(
  storage: Storage,
  sessions: SessionBasics,
  given: CheckedCapture,
  { before, newest }: Basis,
): Promise<string> {
  const { agent, sessionId, request } = given;
  const first = before?.session ?? given.session ?? `${agent}/${sessionId}`;
  const isNamedHere = before === null && given.session === undefined;
  // A diverged capture has a conversation of its own.
  const isDiverged = isNamedHere && newest !== null;
  for (let n = 1; ; n++) {
    const id = n === 1 ? first : `${first}~${n}`;
    const known = await sessions.get(id);
    // A request must not read or erase the conversation of another.
    const isForeign = isNamedHere && known !== null && known.request !== request;
    const belongsToOthers =
      known !== null && (isDiverged || (isForeign && (await isCapturedByOthers(storage, id, request))));
    if (known !== null && !belongsToOthers) {
      // A session that was only imported so far belongs to the request of its first capture.
      if (isForeign) await sessions.update(id, { request });
      return id;
    }
    if (belongsToOthers) continue;
    try {
      return (await sessions.create({ id, agent, request })).id;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      // A concurrent save was first: its session is looked up again.
      if (error.code === "AlreadyExists") n -= 1;
      else if (error.code !== "SessionDeleted" || given.session !== undefined) throw error;
    }
  }
}

/**
 * A session that was only imported, such as by import-local, belongs to no request yet. The requests of removed
 * captures are in its log.
 */
async function isCapturedByOthers(storage: Storage, session: string, request: string): Promise<boolean> {
  for (let after = 0; ; ) {
    const events = await storage.query("events.read", { session, after, limit: LIMITS.page });
    const saves = events.filter(({ type }) => type === "capture/saved");
    if (saves.some((event) => requestIn(session, event) !== request)) return true;
    const last = events.at(-1);
    if (last === undefined || events.length < LIMITS.page) return false;
    after = last.seq;
  }
}

function requestIn(session: string, { seq, body }: Pick<PlacedEventRow, "seq" | "body">): unknown {
  const { envelope } = decodeRow({ kind: "event", session, seq }, { envelope: body }, { envelope: jsonObject });
  return plainObject.read(envelope.data)?.request;
}

async function removeRequest(context: CaptureContext, request: string): Promise<CapturesRemoved> {
  const rows = await context.storage.query("captures.ofRequest", { request, limit: LIMITS.page });
  const removed = await removeCaptures(context, rows, "request");
  return rows.length < LIMITS.page ? removed : mergeRemovals(removed, await removeRequest(context, request));
}

type ImportFirst = (row: CaptureRow) => Promise<string | null>;

/**
 * Why the conversation could not be imported; null: it was imported. An error of the store itself is thrown, and then nothing is removed
 * or changed.
 */
async function importRow({ payloads, importConversation }: CapturesOptions, row: CaptureRow): Promise<string | null> {
  try {
    await importConversation(await storedCapture(payloads, row));
    return null;
  } catch (error) {
    const isTrouble = error instanceof HoldfastError && (error.retryable || TROUBLE.includes(error.code));
    if (isTrouble || !(error instanceof HoldfastError)) throw error;
    return error.message;
  }
}

/** Codes that mean that the store cannot be used now, and say nothing about the capture. */
const TROUBLE: readonly string[] = [
  "SchemaTooNew",
  "PermissionDenied",
  "StoreBusy",
  "StoreUnreachable",
  "StoreFull",
  "QueryTimeout",
  "Closed",
  "Aborted",
  "Internal",
];

async function sweep(context: CaptureContext, dryRun: boolean, importFirst: ImportFirst): Promise<CapturesRemoved> {
  const { storage } = context;
  const now = storage.environment.now();
  let all: CapturesRemoved = { removed: [], bytes: 0 };
  for (let last = { after: 0, afterNo: 0 }; ; ) {
    const rows = await storage.query("captures.expired", { now, ...last, limit: PAGE });
    all = mergeRemovals(all, dryRun ? forecastRemovals(rows) : await removeExpired(context, rows, importFirst));
    const end = rows.at(-1);
    if (end === undefined || rows.length < PAGE) return all;
    last = { after: end.expires_at ?? 0, afterNo: end.no };
  }
}

/** The conversation outlives its capture, so a capture that was never imported is imported first. */
async function removeExpired(
  context: CaptureContext,
  rows: readonly CaptureRow[],
  importFirst: ImportFirst,
): Promise<CapturesRemoved> {
  const lost = new Map<string, string>();
  for (const row of rows) {
    const why = await importFirst(row);
    if (why !== null) lost.set(row.id, why);
  }
  const { removed, bytes } = await removeCaptures(context, rows, "expired");
  const withReasons = removed.map((one) => ({
    ...one,
    ...(lost.has(one.id) ? { notImported: lost.get(one.id) ?? "" } : {}),
  }));
  return { removed: withReasons, bytes };
}

function forecastRemovals(rows: readonly CaptureRow[]): CapturesRemoved {
  return {
    removed: rows.map(({ id, request, agent_session }) => ({ id, request, sessionId: agent_session })),
    bytes: rows.reduce((sum, row) => sum + row.stored, 0),
  };
}

function mergeRemovals(a: CapturesRemoved, b: CapturesRemoved): CapturesRemoved {
  return { removed: [...a.removed, ...b.removed], bytes: a.bytes + b.bytes };
}
