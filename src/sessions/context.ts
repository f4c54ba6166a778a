// The context of a model call: the stored messages at a position, from the last compaction on, repaired, and cut to a
// budget.
import type { Context, ContextMessage, ContextOptions, ContextSystem } from "../contracts/context.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { CONTEXT_OPTIONS } from "../contracts/verbs/sessions.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { checkArgument } from "../core/arguments.ts";
import { checkInt } from "../core/check.ts";
import { rootOf } from "../core/head.ts";
import { type LineageStretch, lineageAt } from "../core/lineage.ts";
import type { LocatedSession } from "../core/session-lookup.ts";
import type { LoadSystemSource, SystemOptions } from "../core/system-source.ts";
import { runInSlices, TimeSlice } from "../core/time-slice.ts";
import { erasedMessage, readRows } from "../history/messages.ts";
import { type CutContext, cutInSteps, sumInSteps, type Tokenizer } from "./context-cut.ts";
import { allRows, type ContextRange, contextRangeOf, countRows, pagesBack, summaryRow } from "./context-read.ts";
import { repairInSteps } from "./context-repair.ts";
import { estimate } from "./token-estimate.ts";

export async function contextAt(
  storage: Storage,
  payloads: Payloads,
  { session, head }: LocatedSession,
  options: ContextValues,
  source: LoadSystemSource,
): Promise<Context> {
  const checked = readContextOptions(options, null);
  const built = checked.system === null ? null : await (await source()).build(checked.system);
  const at = head === null ? session : { no: session.no, branch: head.branch, seq: head.seq };
  const lineage = await lineageAt(storage, at);
  const compaction = head === null ? await compactionNow(storage, lineage) : rootOf(head).compaction;
  const slice = new TimeSlice(storage.environment);
  const read = (rows: readonly MessageAtRow[]) => readMessages(rows, payloads, slice);
  const from = { lineage, compaction, keepsErased: false };
  if (built === null) return contextOf(storage, read, from, checked, slice);
  return withSystem(await contextOf(storage, read, from, afterSystem(checked, built.system), slice), built.system);
}

/** The options for the messages, which get what the system text leaves of the budget. */
export function afterSystem(options: CheckedContextOptions, { tokens }: ContextSystem): CheckedContextOptions {
  return options.budget === null ? options : { ...options, budget: Math.max(0, options.budget - tokens) };
}

export function withSystem(context: Context, system: ContextSystem): Context {
  return { ...context, tokens: context.tokens + system.tokens, system };
}

/**
 * The context as it was at the end of the lineage. Messages that were erased later are replaced by a placeholder text,
 * and `erased` gets their rows, whether they are shown or not.
 */
export async function contextThen(
  storage: Storage,
  payloads: Payloads,
  lineage: readonly LineageStretch[],
  options: CheckedContextOptions,
  erased: MessageAtRow[],
): Promise<Context> {
  const compaction = await compactionNow(storage, lineage);
  const slice = new TimeSlice(storage.environment);
  const read = async (rows: readonly MessageAtRow[]) => {
    const gone = rows.filter((row) => row.erased_seq !== null);
    for (const row of gone) erased.push(row);
    return gone.length === 0 ? readMessages(rows, payloads, slice) : readWithPlaceholders(rows, payloads, slice);
  };
  return contextOf(storage, read, { lineage, compaction, keepsErased: true }, options, slice);
}

export interface CheckedContextOptions {
  readonly agent: string | undefined;
  readonly budget: number | null;
  readonly count: Tokenizer;
  /** null: the context has no blocks and no memories. */
  readonly system: SystemOptions | null;
}

type ContextValues = ValueOf<typeof CONTEXT_OPTIONS>;

/** `own`: the agent of the run that reads; null outside of runs. */
export function checkContextOptions(options: ContextOptions = {}, own: string | null = null): CheckedContextOptions {
  return readContextOptions(checkArgument(CONTEXT_OPTIONS, options, "options"), own);
}

function readContextOptions(options: ContextValues, own: string | null): CheckedContextOptions {
  const { agent, budget, tokenizer, ...asked } = options;
  const count = checkTokenizer(tokenizer);
  const isPlain = asked.blocks === undefined && asked.memory === undefined;
  const system = isPlain ? null : { ...asked, own: agent ?? own, budget, count: countText(count) };
  return { agent, budget, count, system };
}

/** The tokens of a text are those of a system message with it. */
function countText(count: Tokenizer): (text: string) => number {
  return (text) => {
    if (text === "") return 0;
    return count({ id: null, agent: null, role: "system", content: [{ type: "text", text }], repaired: false });
  };
}

type ReadMessages = (rows: readonly MessageAtRow[]) => Promise<readonly ContextMessage[]>;

interface ContextSource extends Pick<ContextRange, "keepsErased"> {
  readonly lineage: readonly LineageStretch[];
  /** The compaction that is valid at the end of the lineage. */
  readonly compaction: NonNullable<Context["compaction"]> | null;
}

async function contextOf(
  storage: Storage,
  read: ReadMessages,
  { lineage, compaction: made, keepsErased }: ContextSource,
  { agent, budget, count }: CheckedContextOptions,
  slice: TimeSlice,
): Promise<Context> {
  const row = await summaryRow(storage, contextRangeOf(lineage, made, agent, keepsErased));
  // An erased summary covers nothing: the messages that it covered are shown again, if they still exist.
  const compaction = row === undefined ? null : made;
  const asked = contextRangeOf(lineage, compaction, agent, keepsErased);
  const [summary] = await read(row === undefined ? [] : [row]);
  const shown =
    budget === null
      ? await whole({ storage, read, slice }, asked)
      : await tail({ storage, read, slice }, asked, budget - tokensOf(summary, count), count);
  const messages = summary === undefined ? shown.messages : [summary, ...shown.messages];
  const tokens = await runInSlices(sumInSteps(messages, count), slice);
  return { messages, leftOut: { messages: shown.leftOut }, tokens, compaction };
}

export async function compactionNow(
  storage: Storage,
  lineage: readonly LineageStretch[],
): Promise<NonNullable<Context["compaction"]> | null> {
  const [end] = lineage;
  if (end === undefined) return null;
  const [head] = await storage.query("lineage.newestHead", { session: end.no, branch: end.branch, upTo: end.upTo });
  return head === undefined ? null : rootOf(head).compaction;
}

async function readMessages(
  rows: readonly MessageAtRow[],
  payloads: Payloads,
  slice: TimeSlice,
): Promise<readonly ContextMessage[]> {
  const messages: ContextMessage[] = [];
  for (const { id, agent, role, content } of await readRows(rows as readonly MessageRow[], payloads, slice)) {
    if (slice.isSpent) await slice.pause();
    messages.push({ id, agent, role, content, repaired: false });
  }
  return messages;
}

async function readWithPlaceholders(
  rows: readonly MessageAtRow[],
  payloads: Payloads,
  slice: TimeSlice,
): Promise<readonly ContextMessage[]> {
  const messages: ContextMessage[] = [];
  for (const row of rows) {
    if (row.erased_seq === null) messages.push(...(await readMessages([row], payloads, slice)));
    else {
      const { id, agent, role, content } = erasedMessage(row);
      messages.push({ id, agent, role, content, repaired: true });
    }
  }
  return messages;
}

function tokensOf(summary: ContextMessage | undefined, count: Tokenizer): number {
  return summary === undefined ? 0 : count(summary);
}

interface ContextReader {
  readonly storage: Storage;
  readonly read: ReadMessages;
  readonly slice: TimeSlice;
}

async function whole({ storage, read, slice }: ContextReader, asked: ContextRange): Promise<CutContext> {
  const messages = await read(await allRows(storage, asked));
  const { units } = await runInSlices(repairInSteps(messages, 0), slice);
  return { messages: units.flat(), leftOut: 0 };
}

/**
 * Reads from the newest message back until another unit does not fit. Each cut processes everything read so far. So the
 * first cut waits until the budget is full, and each further one until twice as much was read; otherwise a long past
 * would be processed again with every page.
 */
async function tail(
  { storage, read, slice }: ContextReader,
  asked: ContextRange,
  room: number,
  count: Tokenizer,
): Promise<CutContext> {
  const pages: (readonly ContextMessage[])[] = [];
  let [size, tokens, enough] = [0, 0, 1];
  for await (const rows of pagesBack(storage, asked)) {
    const page = await read(rows);
    pages.push(page);
    size += page.length;
    tokens += await runInSlices(sumInSteps(page, count), slice);
    if (tokens <= room || size < enough) continue;
    const made = await runInSlices(cutInSteps(pages.toReversed().flat(), room, count), slice);
    enough = 2 * size;
    if (!made.isSettled) continue;
    const before = (await countRows(storage, asked)) - size;
    return { messages: made.messages, leftOut: Math.max(0, before) + made.leftOut };
  }
  return runInSlices(cutInSteps(pages.toReversed().flat(), room, count), slice);
}

function checkTokenizer(given: Tokenizer | undefined): Tokenizer {
  if (given === undefined) return estimate;
  return (message) => {
    const tokens: unknown = given(message);
    return checkInt(tokens, "the tokenizer's result", 0, Number.MAX_SAFE_INTEGER);
  };
}
