// The context of a model call: what is stored at a point, from the last compaction on, repaired, and cut to a budget.
import type { Context, ContextMessage, ContextOptions } from "../contracts/context.ts";
import type { Compaction } from "../contracts/lineage.ts";
import type { MessageAtRow } from "../contracts/lineage-queries.ts";
import type { ContentBlock, Message } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { MessageRow } from "../contracts/queries.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkInt, checkOptionalId, checkRecord, invalid } from "../core/check.ts";
import { rootOf } from "../core/head.ts";
import { lineageAt, type Segment } from "../core/lineage.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { readRows } from "../history/messages.ts";
import { repair, type Unit } from "./context-repair.ts";
import type { Found } from "./find.ts";
import { readAll } from "./view-messages.ts";

const MESSAGE_TOKENS = 4;
const BYTES_PER_TOKEN = 4;
const MEDIA_TOKENS = 1000;

export async function contextAt(
  storage: Storage,
  payloads: Payloads,
  { session, head }: Found,
  options: ContextOptions | undefined,
): Promise<Context> {
  const given = checkRecord(options, "options", ["agent", "budget", "tokenizer"]);
  const agent = checkOptionalId(given.agent, "agent");
  const budget = given.budget === undefined ? null : checkInt(given.budget, "budget", 0, Number.MAX_SAFE_INTEGER);
  const count = checkTokenizer(given.tokenizer);
  const at = head === null ? session : { no: session.no, branch: head.branch, seq: head.seq };
  const lineage = await lineageAt(storage, at);
  const compaction = head === null ? await compactionNow(storage, lineage) : rootOf(head).compaction;
  const rows = (await rowsAfter(storage, lineage, compaction?.upTo)).filter((row) => row.erased_seq === null);
  const isSummary = (row: MessageAtRow) => rowId(row.session, row.seq) === compaction?.summary;
  const others = rows.filter((row) => !isSummary(row) && (agent === undefined || row.agent === agent));
  const [summary] = await read(rows.filter(isSummary), payloads);
  const units = repair(await read(others, payloads));
  return { ...cut(summary, units, budget, count), compaction };
}

async function compactionNow(storage: Storage, lineage: readonly Segment[]): Promise<Compaction | null> {
  for (const { no, branch, upTo } of lineage) {
    const [head] = await storage.query("head.before", no, branch, upTo);
    if (head !== undefined) return rootOf(head).compaction;
  }
  return null;
}

/** Oldest first: what lies behind the message named, or all. It need not be there any more. */
async function rowsAfter(
  storage: Storage,
  lineage: readonly Segment[],
  message: string | undefined,
): Promise<readonly MessageAtRow[]> {
  const from = message === undefined ? null : parseRowId(message, "compaction.upTo");
  // Of the stretches of its session, the oldest that reaches so far holds it.
  const oldest =
    from === null ? -1 : lineage.findLastIndex(({ session, upTo }) => session === from.session && from.seq <= upTo);
  const stretches: (readonly MessageAtRow[])[] = [];
  for (const [i, segment] of lineage.slice(0, oldest === -1 ? undefined : oldest + 1).entries()) {
    stretches.push(await readAll(storage, segment, i === oldest ? from?.seq : 0));
  }
  return stretches.reverse().flat();
}

async function read(rows: readonly MessageAtRow[], payloads: Payloads): Promise<readonly ContextMessage[]> {
  const messages: readonly Message[] = await readRows(rows as readonly MessageRow[], payloads);
  return messages.map(({ id, agent, role, content }) => ({ id, agent, role, content, repaired: false }));
}

type Tokenizer = (message: ContextMessage) => number;

/** The oldest go first, whole units only; the summary stays. */
export function cut(
  summary: ContextMessage | undefined,
  units: readonly Unit[],
  budget: number | null,
  count: Tokenizer,
): Omit<Context, "compaction"> {
  const sum = (messages: readonly ContextMessage[]) => messages.reduce((total, one) => total + count(one), 0);
  const sizes = units.map(sum);
  const first = summary === undefined ? [] : [summary];
  let tokens = sum(first) + sizes.reduce((total, size) => total + size, 0);
  let leftOut = 0;
  let gone = 0;
  while (budget !== null && tokens > budget && gone < units.length) {
    const size = sizes[gone++] ?? 0;
    tokens -= size;
    leftOut += size;
  }
  return {
    messages: [...first, ...units.slice(gone).flat()],
    leftOut: { messages: units.slice(0, gone).flat().length, tokens: leftOut },
    tokens,
  };
}

function checkTokenizer(given: unknown): Tokenizer {
  if (given === undefined) return estimate;
  if (typeof given !== "function") throw invalid("tokenizer", "a function", given);
  return (message) => {
    const tokens: unknown = given(message);
    return checkInt(tokens, "what the tokenizer gives", 0, Number.MAX_SAFE_INTEGER);
  };
}

/** Said in contracts/context.ts, because callers plan with it. */
export function estimate({ content }: ContextMessage): number {
  const { bytes, media } = sizeOf(content);
  return MESSAGE_TOKENS + Math.ceil(bytes / BYTES_PER_TOKEN) + media * MEDIA_TOKENS;
}

function sizeOf(content: readonly ContentBlock[]): { readonly bytes: number; readonly media: number } {
  let bytes = 0;
  let media = 0;
  for (const block of content) {
    if (block.type === "image" || block.type === "audio" || block.type === "document") media += 1;
    else if (block.type === "tool_result" && typeof block.content !== "string") {
      const inner = sizeOf(block.content);
      bytes += inner.bytes + Buffer.byteLength(block.toolUseId);
      media += inner.media;
    } else bytes += Buffer.byteLength(textOf(block));
  }
  return { bytes, media };
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking;
    case "tool_use":
      return `${block.id}${block.name}${JSON.stringify(block.input)}`;
    case "tool_result":
      return `${block.toolUseId}${String(block.content)}`;
    case "opaque":
      return JSON.stringify(block.value);
    default:
      return "";
  }
}
