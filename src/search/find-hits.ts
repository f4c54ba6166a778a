// From ranked messages to hits: reads each message, and keeps those that fulfil what the index could not decide.
import { HoldfastError } from "../contracts/errors.ts";
import type { Message } from "../contracts/messages.ts";
import type { SearchHit, SearchSignal } from "../contracts/search.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow, SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { decodeRow, optional, utf8 } from "../core/decode.ts";
import { messageTimeOf } from "../core/message-time.ts";
import { runInSlices, type TimeSlice } from "../core/time-slice.ts";
import { messageOf, readContent } from "../history/messages.ts";
import type { MessageFactors } from "./factors.ts";
import type { MessageFilter } from "./filters.ts";
import type { HybridItem, MessageRanking } from "./hybrid-ranking.ts";
import { messageText } from "./index/message-item.ts";
import { readMessagesAround } from "./neighbours.ts";
import { hasMatch, matchesText } from "./ranking/match-text.ts";
import type { RankedItem } from "./ranking/rank-items.ts";
import { readPassage } from "./ranking/snippet.ts";
import { ONE, WEIGHTS } from "./ranking/weights.ts";
import { BestHits } from "./select-hits.ts";
import type { Showing, ShownMessages } from "./shown-messages.ts";
import type { IndexQuery } from "./text/query.ts";
import type { TextLanguage } from "./text/stem.ts";

export interface HitSearch {
  readonly storage: Storage;
  readonly payloads: Pick<Payloads, "read">;
  readonly query: IndexQuery;
  readonly language: TextLanguage;
  readonly ranking: MessageRanking;
  readonly factors: MessageFactors;
  readonly filter: MessageFilter;
  readonly shown: ShownMessages;
  readonly slice: TimeSlice;
}

export interface FoundHit {
  readonly hit: SearchHit;
  readonly showing: Showing;
}

/** Messages that are read at once, at most. */
const BATCH = 16;

/** Messages that are read after there are enough hits, at most, because hits have lower scores than they were ranked by. */
const READ_ON = 200;

/** The best hits, at most `limit`, and at most `perSession` of one session. */
export async function findHits(
  search: HitSearch,
  limit: number,
  perSession = Number.POSITIVE_INFINITY,
): Promise<readonly FoundHit[]> {
  const best = new BestHits<FoundHit>(limit, perSession);
  let readOn = 0;
  // Most messages that the index finds are hits. If not, more are ranked; the first ones are the same then.
  const read = new Set<string>();
  for (let wanted = limit + BATCH; ; wanted *= 4) {
    const ranked = await search.ranking.best(wanted);
    // Vectors may bring others before them.
    const left = ranked.filter((item) => !read.has(nameOf(item)));
    for (let at = 0; at < left.length; ) {
      const count = best.wanted > 0 ? Math.min(BATCH, best.wanted) : Math.min(BATCH, READ_ON - readOn);
      // No message's score is higher than what it is ranked by.
      const batch = left.slice(at, at + count).filter(({ share }) => share > best.worstScore);
      if (batch.length === 0) return best.hits;
      if (best.wanted === 0) readOn += batch.length;
      at += batch.length;
      for (const item of batch) read.add(nameOf(item));
      const rows = await readRows(search.storage, batch);
      const found = await Promise.all(batch.map((item) => readHit(search, item, rows)));
      best.add(found.filter((one) => one !== null));
    }
    const isAll = ranked.length < wanted || (ranked.at(-1)?.share ?? 0) <= best.worstScore;
    if (isAll || readOn === READ_ON) return best.hits;
  }
}

function nameOf({ groupNumber, item }: Pick<RankedItem, "groupNumber" | "item">): string {
  return `${groupNumber}/${item}`;
}

type ReadMessageRow = MessageRow & { readonly branch: number };

/** What is stored of ranked messages: read at once, so that a search waits for the database once for them. */
interface HitRows {
  message(item: RankedItem): ReadMessageRow | undefined;
  session(item: RankedItem): SessionRow | undefined;
}

async function readRows(storage: Storage, items: readonly RankedItem[]): Promise<HitRows> {
  const pairs = items.map(({ groupNumber, item }) => [groupNumber, item]);
  const numbers = [...new Set(items.map(({ groupNumber }) => groupNumber))];
  const [messages, sessions] = await Promise.all([
    storage.query("history.messages", { messages: JSON.stringify(pairs) }),
    storage.query("sessions.byNumbers", { numbers: JSON.stringify(numbers) }),
  ]);
  const byName = new Map(messages.map((row) => [nameOf({ groupNumber: row.session_no, item: row.seq }), row]));
  const byNumber = new Map(sessions.map((row) => [row.no, row]));
  return {
    message: (item) => byName.get(nameOf(item)),
    session: ({ groupNumber }) => byNumber.get(groupNumber),
  };
}

async function readHit(search: HitSearch, item: HybridItem, rows: HitRows): Promise<FoundHit | null> {
  const { filter, query, language, shown, slice } = search;
  const row = rows.message(item);
  // It was erased since the snapshot was taken.
  if (row === undefined) return null;
  const message = await readMessage(search, row);
  if (message === null || !filter.isAllowed(message)) return null;
  const text = messageText(message.content);
  if (!(await runInSlices(matchesText(text, query, language), slice))) return null;
  const writer = rows.session(item);
  const showing = await shown.find({ ...row, no: item.groupNumber }, writer);
  if (showing === null) return null;
  const hasOwnWord = await runInSlices(hasMatch(text, query, language), slice);
  const isByWords = hasOwnWord || (item.text > 0 && (await hasMatchBeside(search, showing, item.item)));
  if (!isByWords && item.hybrid === undefined) return null;
  const { text: passage, snippet } = await runInSlices(readPassage(text, item.part, query, language), slice);
  const { id, session, seq, agent, role } = message;
  const at = messageTimeOf(message);
  const { title, request } = describe(writer);
  const shownIn = showing.session;
  const signals = signalsOf(item, search, isByWords);
  const score = isByWords || item.hybrid === undefined ? item.share : item.hybrid.vector * item.hybrid.vectorWeight;
  const hit = { id, session, title, request, shownIn, seq, agent, role, at, score, signals, passage, snippet };
  return { hit, showing };
}

/** How far the words of other messages count for a message. */
const REACH = 2;

/**
 * Whether a message beside this one has a word of the query, in what the session shows and of an agent that the filter allows. The
 * index counts words of all messages around it, also of rewound ones and of other agents.
 */
async function hasMatchBeside(search: HitSearch, showing: Showing, seq: number): Promise<boolean> {
  const { filter, query, language, slice } = search;
  for (const message of await readMessagesAround(search, await showing.readLine(), seq, REACH)) {
    if (!filter.isAllowedBeside(message)) continue;
    if (await runInSlices(hasMatch(messageText(message.content), query, language), slice)) return true;
  }
  return false;
}

/** null: it cannot be read. The checker reports the damage; the search goes on without the message, as the index does. */
async function readMessage(
  { storage, payloads }: HitSearch,
  row: Parameters<typeof messageOf>[0],
): Promise<Message | null> {
  try {
    return messageOf(row, await readContent(row, payloads));
  } catch (error) {
    if (!(error instanceof HoldfastError) || !DAMAGE.includes(error.code)) throw error;
    const { session, seq } = row;
    storage.environment.log("warn", "search.unreadable", { session, seq, error: String(error) });
    return null;
  }
}

const DAMAGE = ["BlobCorrupted", "BlobNotFound", "StoreCorrupted"];

function describe(session: SessionRow | undefined): Pick<SearchHit, "title" | "request"> {
  if (session === undefined) return { title: null, request: null };
  const { title } = decodeRow({ kind: "session", id: session.id }, session, { title: optional(utf8) });
  return { title, request: session.request };
}

/** Words that only hidden messages have are no signal. */
function signalsOf(item: HybridItem, { factors }: HitSearch, isByWords: boolean): readonly SearchSignal[] {
  const { hybrid } = item;
  const { group } = WEIGHTS.messages;
  const weight = hybrid?.textWeight ?? 1;
  const vector: readonly SearchSignal[] =
    hybrid === undefined || hybrid.vector === 0
      ? []
      : [{ name: "vector", value: hybrid.vector, weight: hybrid.vectorWeight }];
  if (!isByWords) return vector;
  const role = factors.ofRole(item.unit);
  const speaker = factors.ofSpeaker(item.unit);
  return [
    ...(item.textShare === 0
      ? []
      : [{ name: "text" as const, value: item.textShare, weight: (weight * ONE) / (ONE + group) }]),
    ...(item.groupShare === 0
      ? []
      : [{ name: "session" as const, value: item.groupShare, weight: (weight * group) / (ONE + group) }]),
    ...vector,
    ...(role === 1 ? [] : [{ name: "role" as const, value: 1, weight: role }]),
    ...(speaker === 1 ? [] : [{ name: "speaker" as const, value: 1, weight: speaker }]),
  ];
}
