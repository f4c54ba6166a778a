// Reads OpenCode's exports (1.1 to 1.18): a session with its messages, each in parts that change until they are complete. A part becomes
// a message when it is complete, and messages have the order in which that happened, so a later export only adds messages.
import { createHash } from "node:crypto";
import type { ContentBlockInput } from "../../contracts/messages.ts";
import { isObject } from "../../core/check.ts";
import { addUsd } from "../../core/money.ts";
import { base64, idOf, type LooseObject, limitDepth, opaque, textOf, toolResult, wholeOf } from "./agent-content.ts";
import type { Conversation, ConversationCall, ConversationMessage, Damage, Reading, Subagent } from "./conversation.ts";

type Draft = Omit<ConversationMessage, "parentKey">;

interface ExportContents {
  readonly messages: Draft[];
  readonly calls: ConversationCall[];
  readonly launches: Map<string, string>;
  readonly unknown: Record<string, number>;
  broken: number;
}

/** The export of a session, and those of its sub-sessions in any order: text, bytes, or the result of JSON.parse. */
export function readOpenCode(main: unknown, children: readonly unknown[] = []): Reading {
  const read = [main, ...children].map((one) => readOne(parseInput(one)));
  const [own] = read;
  const conversation = withChildren(own?.conversation ?? readOne(null).conversation, read.slice(1));
  return { conversation, damage: read.map(({ damage }) => damage).reduce(addDamage) };
}

interface ExportReading extends Reading {
  readonly parentId: string | null;
  readonly type: string | null;
}

function addDamage(a: Damage, b: Damage): Damage {
  const unknown = { ...a.unknown };
  for (const [name, n] of Object.entries(b.unknown)) unknown[name] = (unknown[name] ?? 0) + n;
  return { broken: a.broken + b.broken, torn: a.torn || b.torn, orphaned: a.orphaned + b.orphaned, unknown };
}

function parseInput(given: unknown): unknown {
  const text = given instanceof Uint8Array ? Buffer.from(given).toString("utf8") : given;
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readOne(given: unknown): ExportReading {
  const exported = isObject(given) ? given : {};
  const info = isObject(exported.info) ? exported.info : {};
  const found: ExportContents = { messages: [], calls: [], launches: new Map(), unknown: {}, broken: 0 };
  if (!isObject(exported.info) || !Array.isArray(exported.messages)) found.broken++;
  const until = isObject(info.revert) ? textOf(info.revert.messageID) : null;
  for (const message of Array.isArray(exported.messages) ? exported.messages : []) {
    if (!isObject(message) || !isObject(message.info)) found.broken++;
    else if (until !== null && message.info.id === until) break;
    else addMessage(found, message.info, Array.isArray(message.parts) ? message.parts : []);
  }
  const { broken, unknown } = found;
  return {
    conversation: conversationOf(info, found),
    damage: { broken, torn: false, orphaned: 0, unknown },
    parentId: textOf(info.parentID),
    type: textOf(info.agent),
  };
}

function conversationOf(info: LooseObject, { messages: drafts, calls, launches }: ExportContents): Conversation {
  const keys = new Set<string>();
  const messages: ConversationMessage[] = [];
  for (const draft of drafts) {
    if (keys.has(draft.key)) continue;
    keys.add(draft.key);
    messages.push({ ...draft, parentKey: messages.at(-1)?.key ?? null });
  }
  const time = isObject(info.time) ? info.time : {};
  return {
    agent: "opencode",
    sessionId: textOf(info.id),
    cwd: textOf(info.directory),
    version: textOf(info.version),
    startedAt: wholeOf(time.created),
    title: chosenTitle(info.title),
    messages,
    calls,
    subagents: [],
    launches,
    compactions: messages.flatMap(({ key, isSummary, parentKey }) => (isSummary ? [{ key, upTo: parentKey }] : [])),
    reportedCostUsd: costOf(info.cost),
  };
}

/** OpenCode reports 0 also for a model with unknown prices. */
function costOf(cost: unknown): number | null {
  return typeof cost === "number" && Number.isFinite(cost) && cost > 0 ? cost : null;
}

function keyOf(...names: readonly unknown[]): string {
  const [first] = names;
  const id = names.length === 1 ? idOf(first) : null;
  return id ?? `part-${createHash("sha256").update(JSON.stringify(names)).digest("hex").slice(0, 32)}`;
}

function addMessage(found: ExportContents, info: LooseObject, parts: readonly unknown[]): void {
  const time = isObject(info.time) ? info.time : {};
  const created = wholeOf(time.created);
  if (info.role === "assistant") addAnswer(found, info, parts, created, wholeOf(time.completed) !== null);
  else if (info.role === "user") addPrompt(found, info, parts, created);
  else found.broken++;
}

function addPrompt(found: ExportContents, info: LooseObject, parts: readonly unknown[], created: number | null): void {
  let isPrompted = false;
  const common = { role: "user" as const, at: created, model: null, call: null, isSummary: false };
  for (const [i, part] of parts.entries()) {
    const block = isObject(part) ? userBlock(part) : null;
    if (!isObject(part) || block === null) {
      count(found, part);
      continue;
    }
    const isMeta = part.synthetic === true || part.ignored === true;
    const key = keyOf(...(idOf(part.id) === null ? [info.id, i] : [part.id]));
    // All parts of a prompt begin one turn.
    found.messages.push({ key, ...common, content: [block], isMeta, isPrompt: !isMeta && !isPrompted });
    isPrompted ||= !isMeta;
  }
}

function userBlock(part: LooseObject): ContentBlockInput | null {
  if (part.type === "text" && typeof part.text === "string") return { type: "text", text: part.text };
  if (part.type === "file" && typeof part.url === "string") return fileBlock(part, part.url);
  return part.type === "agent" || part.type === "subtask" ? opaque(part) : null;
}

function fileBlock(part: LooseObject, url: string): ContentBlockInput {
  const mediaType = idOf(part.mime) ?? "application/octet-stream";
  const [, encoded] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? [];
  const data = encoded === undefined ? null : base64(encoded);
  const source = data === null ? { url, mediaType } : { data, mediaType };
  const title = textOf(part.filename);
  if (mediaType.startsWith("image/")) return { type: "image", source, ...(title === null ? {} : { alt: title }) };
  return { type: "document", source, ...(title === null ? {} : { title }) };
}

const SILENT = ["step-start", "step-finish", "patch", "snapshot", "retry", "compaction"];

function count(found: ExportContents, part: unknown): void {
  if (!isObject(part) || typeof part.type !== "string") found.broken++;
  else if (!SILENT.includes(part.type)) {
    const name = part.type.slice(0, 40);
    found.unknown[name] = (Object.hasOwn(found.unknown, name) ? (found.unknown[name] ?? 0) : 0) + 1;
  }
}

/** A complete part as a message, and its time. */
interface Step {
  readonly at: number | null;
  readonly key: string;
  readonly role: "assistant" | "tool";
  readonly block: ContentBlockInput;
}

function addAnswer(
  found: ExportContents,
  info: LooseObject,
  parts: readonly unknown[],
  created: number | null,
  isOver: boolean,
): void {
  const call = keyOf(info.id);
  const steps: Step[] = [];
  for (const [i, part] of parts.entries()) {
    const at = steps.at(-1)?.at ?? created;
    const more = isObject(part)
      ? stepsOf(found, part, keyOf(...(idOf(part.id) === null ? [info.id, i] : [part.id])), at, isOver)
      : null;
    if (more === null) count(found, part);
    else steps.push(...more);
  }
  const failure = isObject(info.error) ? errorText(info.error) : null;
  if (failure !== null) {
    const block: ContentBlockInput = { type: "text", text: `(the request failed: ${failure})` };
    steps.push({ at: Number.MAX_SAFE_INTEGER, key: keyOf(info.id, "error"), role: "assistant", block });
  }
  if (steps.length === 0) return;
  const model = idOf(info.modelID);
  const common = { model, call, isPrompt: false, isMeta: false, isSummary: info.summary === true };
  // The sort is stable: steps of the same time keep their order.
  for (const { key, role, at, block } of steps.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))) {
    const time = at === Number.MAX_SAFE_INTEGER ? created : at;
    const isSummary = common.isSummary && block.type === "text";
    found.messages.push({
      key,
      ...common,
      role,
      at: time,
      content: [block],
      isSummary,
      call: role === "tool" ? null : call,
    });
  }
  found.calls.push(callOf(info, parts, { key: call, model, at: created, isOver, isFailed: failure !== null }));
}

function errorText(error: LooseObject): string {
  const data = isObject(error.data) ? error.data : {};
  return textOf(data.message) ?? textOf(error.message) ?? textOf(error.name) ?? "unknown";
}

/** null: the part is not part of the conversation. Empty when the part is still being written. */
function stepsOf(
  found: ExportContents,
  part: LooseObject,
  key: string,
  before: number | null,
  isOver: boolean,
): readonly Step[] | null {
  const { type } = part;
  const time = isObject(part.time) ? part.time : {};
  if ((type === "text" || type === "reasoning") && typeof part.text === "string") {
    const end = wholeOf(time.end);
    if (end === null && !isOver) return [];
    const block: ContentBlockInput =
      type === "text" ? { type: "text", text: part.text } : { type: "thinking", thinking: part.text };
    return [{ at: end ?? before, key, role: "assistant", block }];
  }
  if (type === "file" && typeof part.url === "string") {
    return [{ at: before, key, role: "assistant", block: fileBlock(part, part.url) }];
  }
  return type === "tool" && isObject(part.state) ? toolSteps(found, part, part.state, key, before) : null;
}

function toolSteps(
  found: ExportContents,
  part: LooseObject,
  state: LooseObject,
  key: string,
  before: number | null,
): readonly Step[] | null {
  const [id, name, status] = [textOf(part.callID), textOf(part.tool), state.status];
  if (id === null || name === null) return null;
  // Before the tool runs, its input may be incomplete.
  if (status === "pending") return [];
  const time = isObject(state.time) ? state.time : {};
  const metadata = isObject(state.metadata) ? state.metadata : {};
  if (typeof metadata.sessionId === "string") found.launches.set(metadata.sessionId, id);
  const start = wholeOf(time.start) ?? before;
  const use: ContentBlockInput = { type: "tool_use", id, name, input: limitDepth(state.input ?? {}) };
  const useStep: Step = { at: start, key, role: "assistant", block: use };
  if (status !== "completed" && status !== "error") return [useStep];
  const output = status === "error" ? (textOf(state.error) ?? "failed") : (textOf(state.output) ?? "");
  const block = toolResult(id, output, status === "error");
  return [useStep, { at: wholeOf(time.end) ?? start, key: keyOf(key, "result"), role: "tool", block }];
}

function callOf(
  info: LooseObject,
  parts: readonly unknown[],
  known: { key: string; model: string | null; at: number | null; isOver: boolean; isFailed: boolean },
): ConversationCall {
  const finished = parts.filter((part): part is LooseObject => isObject(part) && part.type === "step-finish");
  const spent = finished.length > 0 ? finished : known.isOver ? [info] : [];
  const costs = spent.map(({ cost }) => costOf(cost));
  const finish = textOf(info.finish) ?? textOf(finished.at(-1)?.reason);
  return {
    key: known.key,
    model: known.model,
    provider: idOf(info.providerID),
    at: known.at,
    inputTokens: sum(spent, (t, cache) => [t.input, cache.read, cache.write]),
    outputTokens: sum(spent, (t) => [t.output, t.reasoning]),
    cachedTokens: sum(spent, (_, cache) => [cache.read]),
    costUsd: costs.length === 0 || costs.includes(null) ? null : costs.reduce<number>((a, b) => addUsd(a, b ?? 0), 0),
    status: known.isFailed ? "failed" : known.isOver || finish !== null ? "done" : "started",
    isEnd: known.isFailed || (finish !== null && finish !== "tool-calls" && finish !== "unknown"),
  };
}

function sum(
  spent: readonly LooseObject[],
  pick: (tokens: LooseObject, cache: LooseObject) => readonly unknown[],
): number | null {
  let total = 0;
  for (const { tokens } of spent) {
    if (!isObject(tokens)) return null;
    for (const n of pick(tokens, isObject(tokens.cache) ? tokens.cache : {})) total += wholeOf(n) ?? 0;
  }
  return spent.length === 0 || !Number.isSafeInteger(total) ? null : total;
}

function withChildren(
  main: Conversation,
  children: readonly ExportReading[],
  above: readonly string[] = [],
): Conversation {
  const subagents = children.flatMap(({ conversation, parentId, type }): readonly Subagent[] => {
    const id = conversation.sessionId;
    if (id === null || parentId !== main.sessionId || above.includes(id)) return [];
    return [
      {
        id,
        toolUseId: main.launches.get(id) ?? null,
        type,
        description: conversation.title,
        conversation: withChildren(conversation, children, [...above, id]),
      },
    ];
  });
  return { ...main, subagents };
}

/** OpenCode's title of a session until a model chooses one. It counts as no title, because the first prompt says more. */
const DEFAULT_TITLE = /^(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z$/;

function chosenTitle(title: unknown): string | null {
  const text = textOf(title);
  return text === null || DEFAULT_TITLE.test(text) ? null : text;
}
