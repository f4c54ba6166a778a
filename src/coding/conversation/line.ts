// What a session has of a conversation already: the keys of the messages on the line it stands on, and where heads and
// turns lie between them. The log tells, which names messages and never repeats them; so it costs little, however much
// was said.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { LogEvent } from "../../contracts/log.ts";

export interface Line {
  readonly items: readonly LineItem[];
  /** Seqs of heads on the line, with how many messages stand before each. */
  readonly heads: readonly { readonly seq: number; readonly before: number }[];
  /** The turn that nothing has ended. */
  readonly openTurn: number | null;
  /** Something came behind the last head. */
  readonly isAhead: boolean;
  /** There are lines that the session has left. */
  readonly isBranched: boolean;
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

export async function readLine(hf: Pick<Holdfast, "log">, session: string): Promise<Line> {
  const events: LogEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await hf.log.read({ session }, { after, limit: LIMITS.eventsPage, types: TYPES });
    events.push(...page);
    if (page.length < LIMITS.eventsPage) break;
  }
  const [first] = events;
  if (first?.type === "session/created" && first.data.from !== undefined) throw isFork(session);
  return lineOf(onLine(events), events.some(begins));
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
  if (typeof from !== "object" || from === null || Array.isArray(from)) return null;
  const { branch, seq } = from as { readonly [name: string]: unknown };
  return typeof branch === "number" && typeof seq === "number" ? { branch, seq } : null;
}

function lineOf(events: readonly LogEvent[], isBranched: boolean): Line {
  const items: LineItem[] = [];
  const heads: { seq: number; before: number }[] = [];
  let openTurn: number | null = null;
  let isAhead = false;
  events.forEach((event, i) => {
    const { type, seq, data } = event;
    if (type === "head/created") {
      heads.push({ seq, before: items.length });
      if (data.turn !== undefined && data.turn === openTurn) openTurn = null;
      isAhead = false;
      return;
    }
    if (type === "session/created" || begins(event)) return;
    isAhead = true;
    if (type === "turn/begun") openTurn = seq;
    if (type !== "message/added") return;
    const isSummary =
      data.key === undefined && events[i + 1]?.type === "head/created" && events[i + 1]?.seq === seq + 1;
    // What somebody else appended without a key is no part of the conversation.
    if (typeof data.key === "string") items.push({ key: data.key, seq });
    else if (isSummary) items.push({ key: null, seq });
  });
  return { items, heads, openTurn, isAhead, isBranched };
}

function isFork(session: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `${JSON.stringify(session)} is a fork, and goes its own way`, {
    details: { session },
    hint: "Import into the session that the agent's conversation was first imported into, or into a new one.",
  });
}
