// What a search reads of the store's text index at one moment.
import type { Payloads } from "../../contracts/storage/payloads.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { TimeSlice } from "../../core/time-slice.ts";
import type { TextLanguage } from "../text/stem.ts";
import { readMessages } from "./message-rows.ts";
import { joinParts } from "./parts.ts";
import { type PendingUnit, pendingPart, unitsOf } from "./pending.ts";
import type { IndexSnapshot } from "./reader.ts";

export interface SnapshotOptions {
  readonly payloads: Payloads;
  readonly language: TextLanguage;
}

/** All live messages of all sessions, whatever branch they are on: what a session shows is decided by the search. */
export async function openIndexSnapshot(
  storage: Storage,
  kind: "messages",
  { payloads, language }: SnapshotOptions,
): Promise<IndexSnapshot> {
  const slice = new TimeSlice(storage.environment);
  const units: PendingUnit[] = [];
  for await (const { item } of readMessages({ storage, payloads, language }, 0, Number.MAX_SAFE_INTEGER)) {
    if (item === null) continue;
    for (const unit of await unitsOf(item, language, slice)) units.push(unit);
    if (slice.isSpent) await slice.pause();
  }
  return joinParts(kind, [pendingPart(units)]);
}
