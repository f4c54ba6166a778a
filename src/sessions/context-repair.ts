// Repairs transcripts. Every provider requires that a tool's result directly follows the message with its call, that
// each call has exactly one result, and that each result has a call. Interrupted work leaves transcripts that break
// these rules; valid ones are not changed. This is a pure function from messages to messages. A transcript may be long,
// so the work can be interrupted after every message.
import type { ContextMessage } from "../contracts/context.ts";
import type { ContentBlock } from "../contracts/messages.ts";
import { type InterruptibleWork, runAtOnce } from "../core/time-slice.ts";

type ToolUse = Extract<ContentBlock, { type: "tool_use" }>;
type ToolResult = Extract<ContentBlock, { type: "tool_result" }>;

export const INTERRUPTED = "interrupted, no result";
export const EARLIER = "[result of an earlier tool call]";

/** Messages that belong together: a call and its results, or a single message. */
export type Unit = readonly ContextMessage[];

/** A call with a unique id. */
interface Use {
  readonly message: number;
  readonly block: ToolUse;
  readonly id: string;
  result: ToolResult | null;
}

/** The calls with one id in the newest message that has such calls; the first ones have their results already. */
interface Waiting {
  readonly message: number;
  readonly uses: Use[];
  answered: number;
}

interface Pairs {
  readonly uses: ReadonlyMap<ContentBlock, Use>;
  /** Results that belong to an earlier call; all others are strays. */
  readonly results: ReadonlyMap<ContentBlock, Use>;
  readonly unseen: readonly number[];
}

export interface RepairedContext {
  readonly units: readonly Unit[];
  /** The index of the message that each unit begins with. */
  readonly starts: readonly number[];
  /** Indexes of messages with a result whose call is not among the messages: the call may be in an earlier message. */
  readonly unseen: readonly number[];
}

export function repair(messages: readonly ContextMessage[]): readonly Unit[] {
  return repairFrom(messages, 0).units;
}

/** Replaces repeated ids only from this message on, because earlier messages will not be shown. */
export function repairFrom(messages: readonly ContextMessage[], from: number): RepairedContext {
  return runAtOnce(repairInSteps(messages, from));
}

export function* repairInSteps(messages: readonly ContextMessage[], from: number): InterruptibleWork<RepairedContext> {
  const pairs = yield* pairUp(messages, from);
  const units: Unit[] = [];
  const starts: number[] = [];
  for (let i = 0; i < messages.length; ) {
    yield;
    const message = messages[i] as ContextMessage;
    const uses = message.content.flatMap((block) => pairs.uses.get(block) ?? []);
    const shown = withoutResults(message, pairs);
    if (uses.length === 0) {
      if (shown !== null) {
        units.push([shown]);
        starts.push(i);
      }
      i += 1;
      continue;
    }
    const answers = answersOf(messages, i, pairs);
    const answered = new Set(answers.flatMap(({ content }) => content.flatMap((b) => pairs.results.get(b) ?? [])));
    const missing = uses.filter((use) => !answered.has(use)).map(answer);
    const filled: readonly ContextMessage[] =
      missing.length === 0 ? [] : [{ id: null, agent: null, role: "tool", content: missing, repaired: true }];
    starts.push(i);
    units.push([...(shown === null ? [] : [shown]), ...filled, ...answers.map((one) => resultsFirst(one, pairs))]);
    i += 1 + answers.length;
  }
  return { units, starts, unseen: pairs.unseen };
}

/** A result belongs to the newest call of that id before it; of several in one message, to the first without one. */
function* pairUp(messages: readonly ContextMessage[], from: number): InterruptibleWork<Pairs> {
  const uses = new Map<ContentBlock, Use>();
  const results = new Map<ContentBlock, Use>();
  const open = new Map<string, Waiting>();
  const taken = new Map<string, number>();
  const unseen: number[] = [];
  for (const [message, { content }] of messages.entries()) {
    yield;
    for (const block of content) {
      if (block.type === "tool_use") {
        const use: Use = { message, block, id: message < from ? block.id : unused(block.id, taken), result: null };
        uses.set(block, use);
        const last = open.get(block.id);
        if (last?.message === message) last.uses.push(use);
        else open.set(block.id, { message, uses: [use], answered: 0 });
      } else if (block.type === "tool_result") {
        const waiting = open.get(block.toolUseId);
        if (waiting === undefined) unseen.push(message);
        const use = waiting?.uses[waiting.answered];
        if (waiting === undefined || use === undefined) continue;
        waiting.answered += 1;
        use.result = block;
        results.set(block, use);
      }
    }
  }
  return { uses, results, unseen };
}

/** `taken` has the ids that are in use, each with the last suffix that was tried. */
function unused(id: string, taken: Map<string, number>): string {
  let free = id;
  let n = taken.get(id) ?? 1;
  while (taken.has(free)) free = `${id}-${++n}`;
  taken.set(id, n);
  if (free !== id) taken.set(free, 1);
  return free;
}

/** The messages directly after a call that contain only its results; the last of them may contain more. */
function answersOf(messages: readonly ContextMessage[], caller: number, pairs: Pairs): readonly ContextMessage[] {
  const found: ContextMessage[] = [];
  for (let i = caller + 1; i < messages.length; i++) {
    const message = messages[i] as ContextMessage;
    const { role, content } = message;
    const owners = content.flatMap((block) => pairs.results.get(block) ?? []);
    const ours = owners.length > 0 && owners.every((use) => use.message === caller);
    if (!ours || (role !== "tool" && role !== "user") || content.some((block) => pairs.uses.has(block))) break;
    found.push(message);
    if (owners.length < content.length) break;
  }
  return found;
}

function answer({ id, result }: Use): ContentBlock {
  if (result !== null) return { ...result, toolUseId: id };
  return { type: "tool_result", toolUseId: id, content: INTERRUPTED, isError: true };
}

/** The message without the results that were moved to their calls; strays become text. null if nothing is left. */
function withoutResults(message: ContextMessage, pairs: Pairs): ContextMessage | null {
  const content = message.content.flatMap((block) => (pairs.results.has(block) ? [] : plain(block, pairs)));
  if (content.length === 0 && message.content.length > 0) return null;
  return changed(message, content);
}

function resultsFirst(message: ContextMessage, pairs: Pairs): ContextMessage {
  const results: ContentBlock[] = [];
  const others: ContentBlock[] = [];
  for (const block of message.content) {
    const use = pairs.results.get(block);
    if (use === undefined) others.push(...plain(block, pairs));
    else results.push(block.type === "tool_result" && block.toolUseId === use.id ? block : answer(use));
  }
  return changed(message, [...results, ...others]);
}

function plain(block: ContentBlock, pairs: Pairs): readonly ContentBlock[] {
  if (block.type === "tool_result") return strayed(block);
  const use = pairs.uses.get(block);
  if (use === undefined || block.type !== "tool_use" || use.id === block.id) return [block];
  return [{ ...block, id: use.id }];
}

/** A stray result as text: its texts are kept, and content that only a result may have is dropped. */
function strayed({ content }: ToolResult): readonly ContentBlock[] {
  if (typeof content === "string") return [{ type: "text", text: `${EARLIER}\n${content}` }];
  const shown = content.filter(({ type }) => ["text", "image", "audio", "document"].includes(type));
  return [{ type: "text", text: EARLIER }, ...shown];
}

/** A message of the role "tool" holds results; without any it is an ordinary message. */
function changed(message: ContextMessage, content: readonly ContentBlock[]): ContextMessage {
  const same = content.length === message.content.length && content.every((block, i) => block === message.content[i]);
  if (same) return message;
  const toolless = message.role === "tool" && content.every(({ type }) => type !== "tool_result");
  return { ...message, role: toolless ? "user" : message.role, content, repaired: true };
}
