// Cuts messages and memories into passages, which wait for their embeddings from then on. What is not cut yet is derived: messages behind
// a number in the store, memories without a mark. The epoch of their index guards each commit: an erasure counts it, so that nothing
// is cut of what is gone.
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import { decide } from "../core/decide.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { readMessages } from "../search/index/message-rows.ts";
import { textIndexOf } from "../search/index/snapshot.ts";
import { readState } from "../search/index/structure.ts";
import { type CollectionState, collectionGuards, emptyCollection, readCollection } from "../vectors/collections.ts";
import { MESSAGES_COLLECTION, memoriesCollection, type PassageKind } from "../vectors/reserved.ts";
import { stateWrites } from "../vectors/write.ts";
import { memoryTextOf, type PassageTexts, passagesOf } from "./passage-texts.ts";

/** A commit has about so many passages, and is of so many memories at most. */
const PASSAGES_AT_ONCE = 500;
const MEMORIES_AT_ONCE = 200;
/** Events without messages are stepped over when they are so many: reading them again costs less than a commit. */
const EVENTS_WITHOUT_MESSAGES = 2000;
const EVENTS_AT_ONCE = 10_000;

/** Where a passage is: in which session or scope, in which message or memory, and which one of it. */
interface PassagePlace {
  readonly group: number;
  readonly number: number;
  readonly part: number;
}

export interface MessageCutting {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly language: TextLanguage;
  readonly texts: PassageTexts;
}

export async function cutMessages(cutting: MessageCutting): Promise<"done" | "idle"> {
  const { storage, payloads, texts } = cutting;
  const slice = new TimeSlice(storage.environment);
  return decide<"done" | "idle">(storage, async () => {
    const [state] = await storage.query("messages.cut", {});
    if (state === undefined || state.cut >= state.newest) return { answer: "idle" };
    const upTo = await readableUpTo(cutting, state.cut, state.newest);
    if (upTo <= state.cut) return { answer: "idle" };
    const language = await texts.readLanguage();
    const places: PassagePlace[] = [];
    let last = upTo;
    for await (const { no, item } of readMessages({ storage, payloads }, { after: state.cut, upTo }, language)) {
      if (item === null) continue;
      const { group, item: number, text } = item;
      for (const { part } of await runInSlices(passagesOf(text, language), slice)) places.push({ group, number, part });
      if (places.length < PASSAGES_AT_ONCE) continue;
      last = no;
      break;
    }
    if (places.length === 0 && last - state.cut < EVENTS_WITHOUT_MESSAGES) {
      // Messages without a text would be counted as waiting.
      const [uncut] = await storage.query("messages.countUncut", {});
      if (uncut?.n === 0) return { answer: "idle" };
    }
    const cut: Write = { op: "run", statement: "index.cutTo", params: { no: last } };
    const commit = await cutCommit(storage, "messages", state.epoch, MESSAGES_COLLECTION, places, [cut]);
    return { commit, answer: () => "done" };
  });
}

/**
 * On PostgreSQL an event may become visible after one with a higher number. Without a gap in the numbers there is none to wait for;
 * otherwise the index waits for the writers.
 */
async function readableUpTo(
  { storage, payloads, language }: MessageCutting,
  after: number,
  newest: number,
): Promise<number> {
  const upTo = Math.min(newest, after + EVENTS_AT_ONCE);
  if (storage.engine === "sqlite") return upTo;
  const [events] = await storage.query("events.count", { after, upTo });
  if (events?.n === upTo - after) return upTo;
  const { source } = textIndexOf(storage, "messages", { payloads, language });
  const settled = await source.settle(await readState(storage, "messages"));
  return Math.min(upTo, settled?.settled ?? 0);
}

export async function cutMemories(storage: Storage, texts: PassageTexts): Promise<"done" | "idle"> {
  const slice = new TimeSlice(storage.environment);
  return decide<"done" | "idle">(storage, async () => {
    const [state] = await storage.query("memories.epoch", {});
    const rows = await storage.query("memories.uncut", { group: -1, after: -1, limit: MEMORIES_AT_ONCE });
    const [first] = rows;
    if (state === undefined || first === undefined) return { answer: "idle" };
    const group = first.group_no;
    const numbers = rows.filter(({ group_no }) => group_no === group).map(({ item }) => item);
    const language = await texts.readLanguage();
    const items = JSON.stringify(numbers);
    const places: PassagePlace[] = [];
    for (const row of await storage.query("memories.texts", { scope: group, items })) {
      const passages = await runInSlices(passagesOf(memoryTextOf(row), language), slice);
      for (const { part } of passages) places.push({ group, number: row.no, part });
    }
    const cut: Write = { op: "run", statement: "memories.cut", params: { group, items } };
    const commit = await cutCommit(storage, "memories", state.epoch, memoriesCollection(group), places, [cut]);
    return { commit, answer: () => "done" };
  });
}

/** A repair of the index forgets what is cut, and then some passages are known. */
async function withoutKnown(
  storage: Storage,
  collection: number,
  places: readonly PassagePlace[],
): Promise<readonly PassagePlace[]> {
  const nameOf = ({ group, number, part }: PassagePlace) => `${group}/${number}/${part}`;
  const known = new Set<string>();
  for (const [group, of] of Map.groupBy(places, (place) => place.group)) {
    const numbers = JSON.stringify([...new Set(of.map(({ number }) => number))]);
    for (const { number, part } of await storage.query("passages.known", { collection, group, numbers })) {
      known.add(nameOf({ group, number, part }));
    }
  }
  return places.filter((place) => !known.has(nameOf(place)));
}

/** The passages get the next numbers of the collection, which their first passage creates. */
async function cutCommit(
  storage: Storage,
  kind: PassageKind,
  epoch: number,
  collection: string,
  wanted: readonly PassagePlace[],
  writes: readonly Write[],
): Promise<Commit> {
  const epochGuard = { check: "index.epoch", key: [kind], expect: epoch } as const;
  const found = await readCollection(storage, collection);
  const state = found ?? emptyCollection(storage, collection);
  const places = found === null ? wanted : await withoutKnown(storage, found.no, wanted);
  if (places.length === 0) return { solo: true, guards: [epochGuard], writes };
  const { no: collection_no, lastItem } = state;
  const next: CollectionState = {
    ...state,
    change: state.change + 1,
    lastItem: lastItem + places.length,
    documents: state.documents + places.length,
  };
  return {
    solo: true,
    guards: [epochGuard, ...collectionGuards(state, found === null)],
    writes: [
      ...writes,
      ...places.map(({ group, number, part }, i): Write => {
        const row = { collection_no, item: lastItem + 1 + i, pending: 1, group_no: group, number, part };
        return { op: "insert", table: "passages", row };
      }),
      ...stateWrites(next),
    ],
  };
}
