// A session's conversation is imported some time after its capture, and a process that is killed in between leaves the session behind.
// The capture is the truth: before a conversation is read or a capture is removed, the missing part is imported from it.
import type { Capture, CodingAgent } from "../contracts/captures.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/session.ts";
import { isObject } from "../core/check.ts";
import { STORED, type StoredCapture, type StoredCaptures } from "../core/stored-capture.ts";
import { sourceOfCapture } from "./capture-source.ts";
import type { FencedStores } from "./conversation/exclusive-import.ts";
import { type Imported, type ImportOptions, importConversation } from "./conversation/import.ts";
import { readConversation } from "./conversation/read-conversation.ts";

/** The parts of a store that an import of its captures needs. */
export type ImportStores = FencedStores & Pick<Holdfast, "captures">;

/** Imports from the capture, so that secrets that were masked there are masked here. null: the capture has no transcript. */
export async function importCaptured(
  hf: ImportStores,
  { id }: Pick<Capture, "id">,
  options: Pick<ImportOptions, "follows"> = {},
): Promise<Imported | null> {
  return importStored(hf, await storedIn(hf, id), options);
}

async function importStored(
  hf: ImportStores,
  capture: StoredCapture,
  options: Pick<ImportOptions, "follows"> = {},
): Promise<Imported | null> {
  const { session, request } = capture;
  const conversation = (await sharesSessionWithNewest(hf, capture)) ? null : await readConversation(capture);
  if (conversation === null) return null;
  const imported = await importConversation(hf, conversation, { session, request, ...options });
  await markImported(hf, capture);
  return imported;
}

/** Imports a capture unless its session has it already. */
export async function catchUpCapture(hf: ImportStores, capture: StoredCapture): Promise<void> {
  const found = await hf.sessions.get(capture.session);
  if (found !== null && !isImported(found, capture)) await importStored(hf, capture);
}

async function storedIn(hf: ImportStores & Partial<StoredCaptures>, id: string): Promise<StoredCapture> {
  return (await hf[STORED]?.(id)) ?? sourceOfCapture(hf.captures, id);
}

/** The key of a session's metadata that names the capture and generation of the last import. */
const MARK = "imported";

function isImported({ metadata }: Session, { id, generation }: Capture): boolean {
  const mark = metadata[MARK];
  return isObject(mark) && mark.capture === id && mark.generation === generation;
}

async function markImported({ sessions }: Pick<ImportStores, "sessions">, { session, id, generation }: Capture) {
  const found = await sessions.get(session);
  if (found === null) return;
  await sessions.update(session, { metadata: { ...found.metadata, [MARK]: { capture: id, generation } } });
}

/** Whether the capture diverged and uses the session of the newest one: importing both would rewind that session again and again. */
async function sharesSessionWithNewest({ captures }: ImportStores, capture: Capture): Promise<boolean> {
  if (!capture.diverged) return false;
  const { request, agent, sessionId } = capture;
  const [newest] = (await captures.list({ request, agent, sessionId, limit: 1 })).items;
  return newest !== undefined && newest.id !== capture.id && newest.session === capture.session;
}

/** Why a session lacks a part of its capture; null: it has all of it. */
export type CatchUpProblem = string | null;

/** Imports the session's own captures, also those that have expired and were not removed yet. */
export async function catchUp(hf: ImportStores, session: string): Promise<CatchUpProblem> {
  let behind: CatchUpProblem = null;
  for (const id of await capturesOf(hf, session)) {
    const capture = await hf.captures.get(id);
    if (capture?.session === session) behind = (await tryImport(hf, capture)) ?? behind;
  }
  return behind;
}

/** The same for all sessions of a request in which that agent worked. */
export async function catchUpRequest(hf: ImportStores, request: string, agent?: CodingAgent): Promise<void> {
  const isOfIt = (one: Capture | null) => one?.request === request && (agent === undefined || one.agent === agent);
  const { removed } = await hf.captures.deleteExpired({ dryRun: true });
  for (const { id } of removed.filter((one) => one.request === request)) {
    const capture = await hf.captures.get(id);
    if (capture !== null && isOfIt(capture)) await tryImport(hf, capture);
  }
  for (let cursor: string | undefined; ; ) {
    const page = await hf.captures.list({ request, diverged: true, ...(cursor === undefined ? {} : { cursor }) });
    for (const capture of page.items) if (isOfIt(capture)) await tryImport(hf, capture);
    if (page.next === null) return;
    cursor = page.next;
  }
}

/** A capture that cannot be read does not stop the caller from reading what the store has. */
async function tryImport(hf: ImportStores, capture: Capture): Promise<CatchUpProblem> {
  try {
    const found = await hf.sessions.get(capture.session);
    if (found !== null && !isImported(found, capture)) await importCaptured(hf, capture);
    return null;
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return error.message;
  }
}

/** The log names the captures that were saved in the session. */
async function capturesOf({ log }: Pick<Holdfast, "log">, session: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let after = 0; ; ) {
    const page = await log.read({ session }, { after, limit: LIMITS.eventsPage, types: ["capture/saved"] });
    for (const { data } of page) if (typeof data.capture === "string") ids.add(data.capture);
    const last = page.at(-1);
    if (last === undefined || page.length < LIMITS.eventsPage) return ids;
    after = last.seq;
  }
}
