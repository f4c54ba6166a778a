// Reads which part of a conversation a session has already: the keys of the messages on its current branch, and the heads and turns
// between them. It reads the log, which names messages without their content, so it is cheap however long the conversation is.
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { LogEvent } from "../../contracts/log.ts";
import { isObject } from "../../core/check.ts";

export interface ImportedBranch {
  readonly items: readonly BranchMessage[];
  readonly heads: readonly BranchHead[];
  /** The seq of the turn that has not ended; null: every turn has. */
  readonly openTurn: number | null;
  /**
   * The branch ends inside a turn that was ended on another branch, after the user rewound the agent into it. A turn ends once, so it
   * can neither be continued nor ended here.
   */
  readonly isInEndedTurn: boolean;
  /** There are events after the last head. */
  readonly isAhead: boolean;
  /** The session has abandoned branches. */
  readonly isBranched: boolean;
}

interface BranchHead {
  readonly seq: number;
  /** How many messages come before it. */
  readonly before: number;
  /** As for the branch: the session cannot continue from here. */
  readonly isInEndedTurn: boolean;
}

interface BranchMessage {
  /** null: a summary, which heads.compact() wrote. */
  readonly key: string | null;
  readonly seq: number;
}

const TYPES = [
  "session/created",
  "message/added",
  "call/started",
  "call/put",
  "turn/begun",
  "head/created",
  "head/moved",
  "branch/begun",
  "invocation/started",
  "invocation/finished",
];

export async function readImportedBranch(
  hf: Pick<Holdfast, "log" | "heads">,
  session: string,
): Promise<ImportedBranch> {
  const events: LogEvent[] = [];
  for (;;) {
    const after = events.at(-1)?.seq ?? 0;
    const page = await hf.log.read({ session }, { after, limit: LIMITS.eventsPage, types: TYPES });
    events.push(...page);
    if (page.length < LIMITS.eventsPage) break;
  }
  const [first] = events;
  if (first?.type === "session/created" && first.data.from !== undefined) throw forkError(session);
  const line = currentBranchEvents(events);
  return summarizeBranch(line, events, await summariesIn(hf, line));
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

/** The turns that were ended on any branch. */
function endedTurns(events: readonly LogEvent[]): ReadonlySet<unknown> {
  const ending = events.filter((event) => event.type === "head/created" || startsBranch(event));
  return new Set(ending.flatMap(({ data }) => data.turn ?? []));
}

function startsBranch({ type }: LogEvent): boolean {
  return type === "head/moved" || type === "branch/begun";
}

/** A branch is numbered by the event that begins it, and continues another branch from a position. */
function currentBranchEvents(events: readonly LogEvent[]): readonly LogEvent[] {
  let line: LogEvent[] = [];
  const branches = new Map<number, readonly LogEvent[]>();
  let branch = 1;
  for (const event of events) {
    const from = startsBranch(event) ? forkPoint(event) : null;
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

function forkPoint({ data: { from } }: LogEvent): { readonly branch: number; readonly seq: number } | null {
  if (!isObject(from)) return null;
  const { branch, seq } = from;
  return typeof branch === "number" && typeof seq === "number" ? { branch, seq } : null;
}

function summarizeBranch(
  events: readonly LogEvent[],
  all: readonly LogEvent[],
  summaries: ReadonlySet<number>,
): ImportedBranch {
  const ended = endedTurns(all);
  const items: BranchMessage[] = [];
  const heads: BranchHead[] = [];
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
    if (type === "session/created" || startsBranch(event)) continue;
    isAhead = true;
    if (type === "turn/begun") openTurn = seq;
    if (type !== "message/added") continue;
    // A message without a key was not imported, and is not part of the conversation.
    if (typeof data.key === "string") items.push({ key: data.key, seq });
    else if (summaries.has(seq)) items.push({ key: null, seq });
  }
  const isInEndedTurn = ended.has(openTurn);
  const isBranched = all.some(startsBranch);
  return { items, heads, openTurn: isInEndedTurn ? null : openTurn, isInEndedTurn, isAhead, isBranched };
}

function forkError(session: string): HoldfastError {
  return new HoldfastError(
    "InvalidArgument",
    `session ${JSON.stringify(session)} is a fork, and a conversation is never imported into a fork`,
    {
      details: { session },
      hint: "Import into the session that the agent's conversation was first imported into, or into a new one.",
    },
  );
}

/** The session's rules refused a step. Any other error would occur again. */
export function isRefusal(error: unknown): boolean {
  return isHoldfastError(error) && ["InvalidTransition", "Conflict", "NotFound"].includes(error.code);
}

export function noSharedHead(session: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the conversation was rewound to before the first head of session ${JSON.stringify(session)}: there is no head to continue from`,
    { details: { session }, hint: "Import the conversation into a new session." },
  );
}
