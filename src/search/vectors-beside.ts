// Whose vectors count for the messages beside them: of no agent that the filter leaves out, and of no message that is not on the line
// that shows the message beside it. Otherwise what a search must not find would decide the order of what it finds.
import type { MessagePositionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { runInSlices, type TimeSlice } from "../core/time-slice.ts";
import { FIRST_BRANCH } from "../log/verify.ts";
import type { MessageFilter } from "./filters.ts";
import { fieldTerm, type IndexSnapshot, type UnitTable } from "./index/reader.ts";
import { allowUnits } from "./ranking/allowed-units.ts";
import { findStretch, type ShownMessages } from "./shown-messages.ts";

/** Whether the vector of a unit counts for the unit beside it. */
export type BesideCheck = (unit: number, beside: number) => boolean;

export interface VectorsBeside {
  /** As far as the index knows: 1 for each unit that counts beside others; null: all of them. */
  readonly marks: Uint8Array | null;
  /** Exact, for the neighbours of these units. */
  readCheck(units: readonly number[]): Promise<BesideCheck>;
}

export interface BesideSearch {
  readonly storage: Storage;
  readonly filter: MessageFilter;
  readonly shown: ShownMessages;
  readonly slice: TimeSlice;
}

export async function openVectorsBeside(snapshot: IndexSnapshot, search: BesideSearch): Promise<VectorsBeside> {
  return {
    marks: await markAgents(snapshot, search),
    readCheck: (units) => readCheck(snapshot.units, search, units),
  };
}

async function markAgents(snapshot: IndexSnapshot, { filter, slice }: BesideSearch): Promise<Uint8Array | null> {
  if (filter.agents.length === 0) return null;
  const lists = await Promise.all(
    filter.agents.map(async ({ field, values, isExcluded }) => ({
      isExcluded,
      postings: await snapshot.readPostings(values.map((value) => fieldTerm(field, value))),
    })),
  );
  const required = lists.filter(({ isExcluded }) => !isExcluded).map(({ postings }) => postings);
  const excludedUnits = lists.filter(({ isExcluded }) => isExcluded).flatMap(({ postings }) => postings);
  const all = { required, excludedUnits, phrases: [], excludedItems: [] };
  return runInSlices(allowUnits(snapshot, {}, all), slice);
}

/** Messages whose positions are read at once. */
const MESSAGES_AT_ONCE = 1000;

async function readCheck(units: UnitTable, search: BesideSearch, wanted: readonly number[]): Promise<BesideCheck> {
  const checked = await readCheckedGroups(units, search, wanted);
  const itemsOf = new Map<string, readonly [group: number, item: number]>();
  const pairs: (readonly [unit: number, beside: number])[] = [];
  for (const unit of wanted) {
    if (!checked.has(units.group[unit] ?? 0)) continue;
    for (const beside of [units.previous[unit] ?? -1, units.next[unit] ?? -1]) {
      if (beside === -1 || units.item[beside] === units.item[unit]) continue;
      pairs.push([unit, beside]);
      for (const one of [unit, beside]) itemsOf.set(nameOf(units, one), messageOf(units, one));
    }
  }
  const positions = await readPositions(search.storage, [...itemsOf.values()]);
  const refused = new Set<string>();
  for (const [unit, beside] of pairs) {
    const [message, other] = [positions.get(nameOf(units, unit)), positions.get(nameOf(units, beside))];
    if (!(await counts(search, message, other))) refused.add(`${unit} ${beside}`);
    if (search.slice.isSpent) await search.slice.pause();
  }
  return (unit, beside) => !refused.has(`${unit} ${beside}`);
}

/** A session that was never branched, and no filter of agents: what is in its log counts, and nothing needs to be read of it. */
async function readCheckedGroups(
  { group, groupNumbers }: UnitTable,
  { storage, filter, shown }: BesideSearch,
  wanted: readonly number[],
): Promise<ReadonlySet<number>> {
  const groups = new Set(wanted.map((unit) => group[unit] ?? 0));
  if (filter.agents.length > 0 || shown.logs !== null) return groups;
  const numbers = JSON.stringify([...groups].map((index) => groupNumbers[index] ?? 0));
  const plain = new Set<number>();
  for (const { no, branch, deleted_at } of await storage.query("sessions.byNumbers", { numbers })) {
    if (branch === FIRST_BRANCH && deleted_at === null) plain.add(no);
  }
  return new Set([...groups].filter((index) => !plain.has(groupNumbers[index] ?? 0)));
}

function messageOf({ group, groupNumbers, item }: UnitTable, unit: number): readonly [group: number, item: number] {
  return [groupNumbers[group[unit] ?? 0] ?? 0, item[unit] ?? 0];
}

function nameOf(units: UnitTable, unit: number): string {
  return messageOf(units, unit).join("/");
}

async function readPositions(
  storage: Storage,
  messages: readonly (readonly [group: number, item: number])[],
): Promise<ReadonlyMap<string, MessagePositionRow>> {
  const found = new Map<string, MessagePositionRow>();
  for (let start = 0; start < messages.length; start += MESSAGES_AT_ONCE) {
    const part = JSON.stringify(messages.slice(start, start + MESSAGES_AT_ONCE));
    for (const row of await storage.query("history.positions", { messages: part })) {
      found.set(`${row.session_no}/${row.seq}`, row);
    }
  }
  return found;
}

/** One that was erased meanwhile does not count. */
async function counts(
  { filter, shown }: BesideSearch,
  message: MessagePositionRow | undefined,
  beside: MessagePositionRow | undefined,
): Promise<boolean> {
  if (message === undefined || beside === undefined || !filter.isAllowedBeside(beside)) return false;
  const showing = await shown.find({ ...message, no: message.session_no }, undefined);
  if (showing === null) return false;
  const { lineage } = await showing.readLine();
  return findStretch(lineage, { ...beside, no: beside.session_no }) !== -1;
}
