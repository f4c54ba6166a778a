// What a session has of a conversation already: the keys of the messages on the line it stands on, and where heads and
// turns lie between them. The log tells, which names messages and never repeats them; so it costs little, however much
// was said.

import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { LogEvent } from "../../contracts/log.ts";
import { isObject } from "../../core/object.ts";

export interface Line {
  readonly items: readonly LineItem[];
  readonly heads: readonly LineHead[];
  /** The turn that nothing has ended. */
  readonly openTurn: number | null;
  /**
   * The line stands inside a turn that was ended on another line, after the agent went back into it. A turn ends once, so
   * it can neither be continued nor ended here.
   */
  readonly isInEndedTurn: boolean;
  /** Something came behind the last head. */
  readonly isAhead: boolean;
  /** There are lines that the session has left. */
  readonly isBranched: boolean;
}

export interface LineHead {
  readonly seq: number;
  /** How many messages stand before it. */
  readonly before: number;
  /** As `isInEndedTurn`: the session cannot continue from here. */
  readonly isInEndedTurn: boolean;
}

export interface LineItem {
  /** null: a summary, which heads.compact() wrote. */
  readonly key: string | null;
  readonly seq: number;
}

const TYPES = [
  ...["session/created", "message/added", "call/started", "call/put", "turn/begun"],
  ...["head/created", "head/moved", "branch/begun", "invocation/started", "invocation/finished"],
];

export async function readLine(hf: Pick<Holdfast, "log" | "heads">, session: string): Promise<Line> {
  const events: LogEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await hf.log.read({ session }, { after, limit: LIMITS.eventsPage, types: TYPES });
    events.push(...page);
    if (page.length < LIMITS.eventsPage) break;
  }
  const [first] = events;
  if (first?.type === "session/created" && first.data.from !== undefined) throw isFork(session);
  const line = onLine(events);
  return lineOf(line, events, await summariesIn(hf, line));
}

/** Seqs of messages that heads.compact() wrote: they have no key, and their own head follows at once. */
async function summariesIn(
  { heads }: Pick<Holdfast, "heads">,
  line: readonly LogEvent[],
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (const [i, { type, seq, data }] of line.entries()) {
    const next = line[i + 1];
    const isFollowed = next?.type === "head/created" && next.seq === seq + 1;
    if (type !== "message/added" || data.key !== undefined || !isFollowed) continue;
    const head = typeof next.data.head === "string" ? await heads.get(next.data.head) : null;
    if (head?.compaction != null) found.add(seq);
  }
  return found;
}

/** On whichever line. */
function endedTurns(events: readonly LogEvent[]): ReadonlySet<unknown> {
  const ending = events.filter((event) => event.type === "head/created" || begins(event));
  return new Set(ending.flatMap(({ data }) => data.turn ?? []));
}

function begins({ type }: LogEvent): boolean {
  return type === "head/moved" || type === "branch/begun";
}

/** A branch is numbered by the event that begins it, and goes on from a place in another. */
function onLine(events: readonly LogEvent[]): readonly LogEvent[] {
  let line: LogEvent[] = [];
  const branches = new Map<number, readonly LogEvent[]>();
  let branch = 1;
  for (const event of events) {
    const from = begins(event) ? placeOf(event) : null;
    if (from !== null) {
      branches.set(branch, line);
      const source = from.branch === branch ? line : (branches.get(from.branch) ?? []);
      line = source.filter(({ seq }) => seq <= from.seq);
      branch = event.seq;
    }
    line.push(event);
  }
  return line;
}

function placeOf({ data: { from } }: LogEvent): { readonly branch: number; readonly seq: number } | null {
  if (!isObject(from)) return null;
  const { branch, seq } = from;
  return typeof branch === "number" && typeof seq === "number" ? { branch, seq } : null;
}

function lineOf(events: readonly LogEvent[], all: readonly LogEvent[], summaries: ReadonlySet<number>): Line {
  const ended = endedTurns(all);
  const items: LineItem[] = [];
  const heads: LineHead[] = [];
  let openTurn: number | null = null;
  let isAhead = false;
  for (const event of events) {
    const { type, seq, data } = event;
    if (type === "head/created") {
      if (data.turn !== undefined && data.turn === openTurn) openTurn = null;
      heads.push({ seq, before: items.length, isInEndedTurn: ended.has(openTurn) });
      isAhead = false;
      continue;
    }
    if (type === "session/created" || begins(event)) continue;
    isAhead = true;
    if (type === "turn/begun") openTurn = seq;
    if (type !== "message/added") continue;
    // What somebody else appended without a key is no part of the conversation.
    if (typeof data.key === "string") items.push({ key: data.key, seq });
    else if (summaries.has(seq)) items.push({ key: null, seq });
  }
  const isInEndedTurn = ended.has(openTurn);
  const isBranched = all.some(begins);
  return { items, heads, openTurn: isInEndedTurn ? null : openTurn, isInEndedTurn, isAhead, isBranched };
}

function isFork(session: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${JSON.stringify(session)} is a fork, and goes its own way`, {
    details: { session },
    hint: "Import into the session that the agent's conversation was first imported into, or into a new one.",
  });
}
