// A session's conversation follows its captures at a distance, and whoever is killed in between leaves it behind. The capture is
// the truth: what reads a conversation, or removes a capture, first imports what is missing from it.
import type { Capture, CodingAgent } from "../contracts/captures.ts";
import { isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Session } from "../contracts/session.ts";
import { STORED, type StoredCapture, type StoredCaptures } from "../core/stored-capture.ts";
import type { Stores } from "./conversation/alone.ts";
import { isObject } from "./conversation/content.ts";
import { type Imported, type ImportOptions, importConversation } from "./conversation/import.ts";
import { conversationIn } from "./conversation-in.ts";
import { sourceOfCapture } from "./sources.ts";

/** What is needed of a store to import the captures it has. */
export type ImportStores = Stores & Pick<Holdfast, "captures">;

/** From what was saved, so that what was masked there is masked here. null: there is no transcript in it. */
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
  const conversation = (await isOfAnother(hf, capture)) ? null : await conversationIn(capture);
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

/** What a session's metadata says of the last import: which generation of which capture it was. */
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

/** Kept beside the newest, in the session that has the newest's conversation: two lines would take turns there. */
async function isOfAnother({ captures }: ImportStores, capture: Capture): Promise<boolean> {
  if (!capture.diverged) return false;
  const { request, agent, sessionId } = capture;
  const [newest] = (await captures.list({ request, agent, sessionId, limit: 1 })).items;
  return newest !== undefined && newest.id !== capture.id && newest.session === capture.session;
}

/** Why a session is still behind its capture; null: it has all that was captured. */
export type CatchUpProblem = string | null;

/** What the session's own captures hold, also those that have expired and were not removed yet. */
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

/** What cannot be read keeps nobody from what is there. */
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

/** The log says which were saved there. */
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
