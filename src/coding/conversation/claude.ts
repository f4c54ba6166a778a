// Reads Claude Code's transcripts. A file has all branches of a conversation; the branch that ends in the newest entry is the current
// one. A file only grows, so the next reading continues where the last one ended.
import { isObject } from "../../core/check.ts";
import { parseObject } from "../../core/json-line.ts";
import { type LooseObject, textOf } from "./agent-content.ts";
import { type Answer, type Entry, type EntryMessage, entryOf, isKnownType, launchOf } from "./claude-entries.ts";
import type {
  Conversation,
  ConversationCall,
  ConversationCompaction,
  ConversationMessage,
  Damage,
  Reading,
  Subagent,
} from "./conversation.ts";

/** The state of a reading. To continue, pass it with the bytes from `offset` on. */
export interface ClaudeReading extends Reading {
  /** How many bytes were read, without an incomplete last line. */
  readonly offset: number;
  readonly seen: TranscriptContents;
}

interface TranscriptEntry extends Entry {
  readonly isSide: boolean;
}

/** All that the lines contained. */
interface TranscriptContents {
  readonly entries: readonly TranscriptEntry[];
  readonly facts: TranscriptHeader;
  readonly damage: Damage;
}

interface TranscriptHeader {
  readonly sessionId: string | null;
  readonly cwd: string | null;
  readonly version: string | null;
  readonly title: string | null;
  readonly cost: number | null;
  readonly launches: ReadonlyMap<string, string>;
}

const EMPTY: TranscriptContents = {
  entries: [],
  facts: { sessionId: null, cwd: null, version: null, title: null, cost: null, launches: new Map() },
  damage: { broken: 0, torn: false, orphaned: 0, unknown: {} },
};

/** `bytes` are the whole file, or, after a reading `before`, those from its offset on. */
export function readClaude(bytes: Uint8Array | string, before?: ClaudeReading): ClaudeReading {
  const input =
    typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const end = input.lastIndexOf(10) + 1;
  const lines = input.toString("utf8", 0, end).split("\n");
  const rest = input.toString("utf8", end).trim();
  // The beginning of an object is never an object. So a last line that parses is complete and lacks only its line end.
  const isWhole = rest !== "" && parseObject(rest) !== null;
  const seen = addLines(before?.seen ?? EMPTY, isWhole ? [...lines, rest] : lines, rest !== "" && !isWhole);
  const offset = (before?.offset ?? 0) + (rest !== "" && !isWhole ? end : input.length);
  const { conversation, orphaned } = conversationOf(seen);
  return { conversation, damage: { ...seen.damage, orphaned }, offset, seen };
}

/** Copies of requests are about a third of a file and contain nothing new. */
const REQUEST = '{"type":"api-request';

function addLines(seen: TranscriptContents, lines: readonly string[], torn: boolean): TranscriptContents {
  const entries = [...seen.entries];
  const keys = new Set(entries.map(({ key }) => key));
  const launches = new Map(seen.facts.launches);
  const unknown: Record<string, number> = { ...seen.damage.unknown };
  let { facts } = seen;
  let broken = seen.damage.broken;
  for (const raw of lines) {
    const text = raw.startsWith("\ufeff") ? raw.slice(1) : raw;
    if (text.startsWith(REQUEST) || text.trim() === "") continue;
    const line = parseObject(text);
    if (line === null) {
      broken++;
      continue;
    }
    facts = updateHeader(facts, line);
    const entry = entryOf(line);
    if (entry === null || entry.kind === "other") countUnknown(unknown, line);
    if (entry === null || keys.has(entry.key)) continue;
    keys.add(entry.key);
    entries.push({ ...entry, isSide: line.isSidechain === true });
    const launch = launchOf(line);
    if (launch !== null) launches.set(...launch);
  }
  return { entries, facts: { ...facts, launches }, damage: { broken, torn, orphaned: 0, unknown } };
}

const HEADER_TYPES = ["cost-state", "summary", "custom-title", "ai-title"];
/** How many unknown types are counted by name, so that a file of unknown types does not fill the memory. */
const MOST_UNKNOWN = 32;

function countUnknown(unknown: Record<string, number>, { type }: LooseObject): void {
  if (typeof type === "string" && (isKnownType(type) || HEADER_TYPES.includes(type))) return;
  const name = typeof type === "string" ? JSON.stringify(type.slice(0, 40)).slice(1, -1) : "(none)";
  const known = Object.hasOwn(unknown, name) || Object.keys(unknown).length < MOST_UNKNOWN ? name : "(others)";
  unknown[known] = (Object.hasOwn(unknown, known) ? (unknown[known] ?? 0) : 0) + 1;
}

function updateHeader(facts: TranscriptHeader, line: LooseObject): TranscriptHeader {
  const { sessionId, cwd, version, type } = line;
  const cost = type === "cost-state" ? line.totalCostUSD : null;
  const isPriced = typeof cost === "number" && cost > 0 && line.hasUnknownModelCost !== true;
  const title = type === "custom-title" ? line.customTitle : type === "ai-title" ? line.aiTitle : null;
  return {
    ...facts,
    // A fork begins with lines of its source: only the last line is sure to have the fork's own id.
    sessionId: textOf(sessionId) ?? facts.sessionId,
    cwd: textOf(cwd) ?? facts.cwd,
    version: textOf(version) ?? facts.version,
    title: textOf(title) ?? (type === "summary" ? textOf(line.summary) : null) ?? facts.title,
    cost: isPriced ? cost : facts.cost,
  };
}

function conversationOf({ entries, facts }: TranscriptContents): { conversation: Conversation; orphaned: number } {
  // All lines of a sub-agent's transcript are a sidechain. In a main transcript, a sidechain is a sub-agent without a file of its own.
  const isSub = entries.every(({ isSide }) => isSide);
  const own = isSub ? entries : entries.filter(({ isSide }) => !isSide);
  const { line, orphaned } = currentBranch(own);
  const messages: ConversationMessage[] = [];
  for (const entry of line) {
    if (entry.message === null) continue;
    const { role, content, answer, isPrompt, isMeta, isSummary } = entry.message;
    messages.push({
      key: entry.key,
      role,
      at: entry.at,
      content,
      parentKey: messages.at(-1)?.key ?? null,
      model: answer?.model ?? null,
      call: answer?.call ?? null,
      isPrompt,
      isMeta,
      isSummary,
    });
  }
  const conversation: Conversation = {
    agent: "claude-code",
    sessionId: facts.sessionId,
    cwd: facts.cwd,
    version: facts.version,
    title: facts.title,
    startedAt: line.find(({ at }) => at !== null)?.at ?? null,
    messages,
    calls: callsOf(line),
    subagents: [],
    compactions: compactionsOf(line),
    launches: facts.launches,
    reportedCostUsd: facts.cost,
  };
  return { conversation, orphaned };
}

/** The chain that ends in the last message, and other entries of its answers that are not in the chain. */
function currentBranch(entries: readonly TranscriptEntry[]): { line: readonly TranscriptEntry[]; orphaned: number } {
  const indexes = new Map(entries.map(({ key }, i) => [key, i]));
  const chain = new Set<number>();
  let orphaned = 0;
  let at = entries.findLastIndex(({ kind }) => kind !== "other");
  while (at >= 0 && !chain.has(at)) {
    chain.add(at);
    const entry: TranscriptEntry | undefined = entries[at];
    const parent = entry?.parent ?? null;
    const index = parent === null ? undefined : indexes.get(parent);
    if (parent !== null && index === undefined && at > 0) orphaned++;
    // If a line is lost, the chain continues at the line before it.
    if (index === undefined) at = parent !== null || entry?.kind === "boundary" ? at - 1 : -1;
    else at = index;
  }
  return { line: withAnswers(entries, chain), orphaned };
}

/** If an answer calls several tools, each result follows its own line of the answer, so the chain has only one of them. */
function withAnswers(entries: readonly TranscriptEntry[], chain: ReadonlySet<number>): readonly TranscriptEntry[] {
  const calls = new Set<string>();
  for (const i of chain) calls.add(entries[i]?.message?.answer?.call ?? "");
  const isAnswer = ({ message }: TranscriptEntry) => message?.answer != null && calls.has(message.answer.call);
  const requested = new Set<string>();
  const answered = new Set<string>();
  entries.forEach((entry, i) => {
    if (!chain.has(i) && !isAnswer(entry)) return;
    for (const id of toolUses(entry.message)) requested.add(id);
    for (const id of toolResults(entry.message)) answered.add(id);
  });
  return entries.filter((entry, i) => {
    if (chain.has(i) || isAnswer(entry)) return true;
    const results = toolResults(entry.message);
    const isMissing = results.length > 0 && results.every((id) => requested.has(id) && !answered.has(id));
    if (isMissing) for (const id of results) answered.add(id);
    return isMissing;
  });
}

function toolUses(message: EntryMessage | null): readonly string[] {
  return message?.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])) ?? [];
}

function toolResults(message: EntryMessage | null): readonly string[] {
  return message?.content.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : [])) ?? [];
}

function callsOf(line: readonly TranscriptEntry[]): readonly ConversationCall[] {
  const answers = new Map<string, { readonly at: number | null; readonly answer: Answer; readonly last: number }>();
  const messages = line.filter(({ message }) => message !== null);
  messages.forEach(({ at, message }, i) => {
    const answer = message?.answer;
    if (answer == null) return;
    // The last line of an answer has the final counts.
    answers.set(answer.call, { at: answers.get(answer.call)?.at ?? at, answer, last: i });
  });
  return [...answers].map(([key, { at, answer, last }]) => {
    const isOver = answer.stop !== null || last < messages.length - 1;
    return {
      key,
      model: answer.model,
      provider: "anthropic",
      at,
      costUsd: answer.costUsd,
      inputTokens: answer.usage?.inputTokens ?? null,
      outputTokens: answer.usage?.outputTokens ?? null,
      cachedTokens: answer.usage?.cachedTokens ?? null,
      status: answer.isFailed ? "failed" : isOver ? "done" : "started",
      isEnd: answer.isFailed || (answer.stop !== null && answer.stop !== "tool_use" && answer.stop !== "pause_turn"),
    };
  });
}

function compactionsOf(line: readonly TranscriptEntry[]): readonly ConversationCompaction[] {
  let preserved: readonly string[] = [];
  let before: string | null = null;
  let last: string | null = null;
  const found: ConversationCompaction[] = [];
  for (const { key, kind, message, preserved: kept } of line) {
    if (kind === "boundary") {
      preserved = kept;
      const first = line.findIndex((entry) => preserved.includes(entry.key));
      const upTo = first < 0 ? undefined : line.slice(0, first).findLast((entry) => entry.message !== null);
      before = upTo?.key ?? last;
    }
    if (message?.isSummary === true) found.push({ key, upTo: before ?? last });
    if (message !== null) last = key;
  }
  return found;
}

/** A sub-agent's own transcript, and the content of its `.meta.json` if there is one. */
export interface ClaudeSubagent {
  readonly id: string;
  readonly meta?: unknown;
  readonly conversation: Conversation;
}

/** Adds each sub-agent to the conversation with the tool call that launched it: the main one, or that of another sub-agent. */
export function withSubagents(main: Conversation, given: readonly ClaudeSubagent[]): Conversation {
  const known = given.map(({ id, meta, conversation }): Subagent & { readonly id: string } => {
    const facts = isObject(meta) ? meta : {};
    const conversations = [main, ...given.map((one) => one.conversation)];
    const launched = conversations.map(({ launches }) => launches.get(id.replace(/^agent-/, ""))).find((one) => one);
    return {
      id,
      toolUseId: textOf(facts.toolUseId) ?? launched ?? null,
      type: textOf(facts.agentType),
      description: textOf(facts.description),
      conversation,
    };
  });
  const requested = known.map(
    ({ conversation }) => new Set(conversation.messages.flatMap(({ content }) => usesOf(content))),
  );
  /** Its parent: another sub-agent, or the main conversation if none is named. */
  const parents = known.map(({ toolUseId }) =>
    toolUseId === null ? -1 : requested.findIndex((ids) => ids.has(toolUseId)),
  );
  const childrenOf = (parent: number, above: readonly number[]): readonly Subagent[] =>
    known.flatMap((one, i) =>
      parents[i] !== parent || above.includes(i)
        ? []
        : [{ ...one, conversation: { ...one.conversation, subagents: childrenOf(i, [...above, i]) } }],
    );
  return { ...main, subagents: childrenOf(-1, []) };
}

function usesOf(content: ConversationMessage["content"]): readonly string[] {
  return content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
}
