// Reads messages up to the first damaged one, so that damage does not hide the messages before it. The error says how
// to read those after the damage.
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { HistoryRange } from "../contracts/history.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { MessageAt, View } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Message } from "../contracts/messages.ts";
import type { Session } from "../contracts/session.ts";
import type { Range } from "./range.ts";
import { quoted } from "./terminal.ts";

export interface ReadableMessages<M extends MessageAt = Message> {
  readonly messages: readonly M[];
  /** The damage that ends the list. */
  readonly damage?: HoldfastError;
  /** How many messages the session shows now or at the head, with inherited ones. */
  readonly total: number;
}

/** Where messages are read from: a session now, or at a head. */
interface MessageSource<M> {
  read(part: NonNullable<Parameters<View["messages"]>[0]>): Promise<readonly M[]>;
  count(): Promise<number>;
  readonly hint: (error: HoldfastError) => string;
}

export function readUpToDamage(
  holdfast: Holdfast,
  { id: session }: Session,
  agent: string | undefined,
  range: Range<number | string>,
): Promise<ReadableMessages> {
  const read = (part: HistoryRange) =>
    agent === undefined ? holdfast.history.session(session, part) : holdfast.history.get({ session, agent }, part);
  const countAll = async () => countBySearch(read, (await (await holdfast.sessions.at({ session })).counts()).messages);
  const count = () => (agent === undefined ? countAll() : holdfast.history.count({ session, agent }));
  return readSource({ read, count, hint: makeHint({ session }, agent) }, range);
}

/** Reads the messages at a head; messages that were erased since are marked. */
export async function readAtUpToDamage(
  holdfast: Holdfast,
  at: Locator,
  agent: string | undefined,
  range: Range<number | string>,
): Promise<ReadableMessages<MessageAt>> {
  const view = await holdfast.sessions.at(at);
  const read = (part: NonNullable<Parameters<View["messages"]>[0]>) =>
    view.messages({ ...part, ...(agent === undefined ? {} : { agent }) });
  const most = async () => (await view.counts()).messages;
  const count = async () => (agent === undefined ? most() : countBySearch(read, await most()));
  return readSource({ read, count, hint: makeHint(at, agent) }, range);
}

async function readSource<M extends MessageAt>(
  source: MessageSource<M>,
  range: Range<number | string>,
): Promise<ReadableMessages<M>> {
  // A read of the store gives at least one message.
  if (range.last === 0) return { messages: [], total: await source.count() };
  try {
    const messages = await source.read(range);
    const isAll = messages.length < (range.last ?? range.limit ?? Number.POSITIVE_INFINITY) && !range.after;
    return { messages, total: isAll ? messages.length : await source.count() };
  } catch (error) {
    if (damagedSeq(error) === undefined) throw error;
  }
  const total = await source.count();
  const { last = total, after = 0, limit = last } = range;
  return { ...(await readPages(source, after, Math.max(0, total - last), limit)), total };
}

/** A lineage also counts cleared messages, so `most` is an upper bound: a binary search finds the last message. */
async function countBySearch(read: MessageSource<unknown>["read"], most: number): Promise<number> {
  const isThere = async (offset: number) => {
    try {
      return (await read({ offset, limit: 1 })).length === 1;
    } catch (error) {
      if (damagedSeq(error) === undefined) throw error;
      return true;
    }
  };
  let [low, high] = [0, most];
  for (let next = most; low < high; next = Math.ceil((low + high) / 2)) {
    if (await isThere(next - 1)) low = next;
    else high = next - 1;
  }
  return low;
}

/** Reads in pages. A page that cannot be read is halved until the damaged message is alone. */
async function readPages<M extends MessageAt>(
  { read, hint }: MessageSource<M>,
  from: number | string,
  skipped: number,
  most: number,
): Promise<Omit<ReadableMessages<M>, "total">> {
  const messages: M[] = [];
  let size: number = LIMITS.page;
  while (messages.length < most) {
    const limit = Math.min(size, most - messages.length);
    const last = messages.at(-1);
    // Positions are ids, because inherited messages have seqs of another log.
    const start = last === undefined ? { after: from, offset: skipped } : { after: last.id };
    try {
      const page = await read({ ...start, limit });
      messages.push(...page);
      if (page.length < limit) break;
    } catch (error) {
      if (damagedSeq(error) === undefined || !isHoldfastError(error)) throw error;
      if (limit === 1) return { messages, damage: withHint(error, hint(error)) };
      size = Math.ceil(limit / 2);
    }
  }
  return { messages };
}

function damagedSeq(error: unknown): number | undefined {
  if (!isHoldfastError(error) || (error.code !== "BlobCorrupted" && error.code !== "StoreCorrupted")) return undefined;
  const { seq } = error.details;
  return typeof seq === "number" ? seq : undefined;
}

function makeHint({ session, head }: Locator, agent: string | undefined): (error: HoldfastError) => string {
  const only = agent === undefined ? "" : ` --agent ${quoted(agent)}`;
  const named = quoted(head === undefined ? session : `${session}@${head.slice(0, 11)}`);
  return ({ details }) => {
    const after = quoted(`${details.session ?? session}#${details.seq}`);
    return `only a backup has this message's text; \`holdfast messages ${named}${only} --after ${after}\` prints the messages after it`;
  };
}

function withHint(error: HoldfastError, hint: string): HoldfastError {
  return new HoldfastError(error.code, error.message, { hint, details: error.details, cause: error });
}
