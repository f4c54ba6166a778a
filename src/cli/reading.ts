// Messages up to the first one that is damaged: one bad message must not hide those before it, and the way past it is
// told.
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { HistoryRange } from "../contracts/history.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { MessageAt, ViewRange } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Message } from "../contracts/messages.ts";
import type { Session } from "../contracts/session.ts";
import type { Range } from "./range.ts";
import { quoted } from "./terminal.ts";

export interface Reading<M extends MessageAt = Message> {
  readonly messages: readonly M[];
  /** Why there are no more. */
  readonly damage?: HoldfastError;
  /** All that there are to show: on the session's line as it stands or at the head, inherited ones too. */
  readonly total: number;
}

/** What messages are read from. */
interface Source<M> {
  read(part: ViewRange): Promise<readonly M[]>;
  count(): Promise<number>;
  readonly hint: (error: HoldfastError) => string;
}

export function readUpToDamage(
  holdfast: Holdfast,
  { id: session }: Session,
  agent: string | undefined,
  range: Range<number | string>,
): Promise<Reading> {
  const read = (part: HistoryRange) =>
    agent === undefined ? holdfast.history.session(session, part) : holdfast.history.get({ session, agent }, part);
  const countAll = async () => countBy(read, (await (await holdfast.sessions.at({ session })).counts()).messages);
  const count = () => (agent === undefined ? countAll() : holdfast.history.count({ session, agent }));
  return readFrom({ read, count, hint: hintFor({ session }, agent) }, range);
}

/** The same of what was there at a head, where what was erased since has its place. */
export async function readAtUpToDamage(
  holdfast: Holdfast,
  at: Locator,
  agent: string | undefined,
  range: Range<number | string>,
): Promise<Reading<MessageAt>> {
  const view = await holdfast.sessions.at(at);
  const read = (part: ViewRange) => view.messages({ ...part, ...(agent === undefined ? {} : { agent }) });
  const most = async () => (await view.counts()).messages;
  const count = async () => (agent === undefined ? most() : countBy(read, await most()));
  return readFrom({ read, count, hint: hintFor(at, agent) }, range);
}

async function readFrom<M extends MessageAt>(source: Source<M>, range: Range<number | string>): Promise<Reading<M>> {
  try {
    const messages = await source.read(range);
    const isAll = messages.length < (range.last ?? range.limit ?? Number.POSITIVE_INFINITY) && !range.after;
    return { messages, total: isAll ? messages.length : await source.count() };
  } catch (error) {
    if (damagedSeq(error) === undefined) throw error;
  }
  const total = await source.count();
  const { last = total, after = 0, limit = last } = range;
  return { ...(await pages(source, after, Math.max(0, total - last), limit)), total };
}

/** A lineage counts what was cleared too, so `most` only says where to look for the last one that is still there. */
async function countBy(read: Source<unknown>["read"], most: number): Promise<number> {
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

/** In pages that grow smaller where one cannot be read, until the bad message stands alone. */
async function pages<M extends MessageAt>(
  { read, hint }: Source<M>,
  from: number | string,
  skipped: number,
  most: number,
): Promise<Omit<Reading<M>, "total">> {
  const messages: M[] = [];
  let size: number = LIMITS.page;
  while (messages.length < most) {
    const limit = Math.min(size, most - messages.length);
    const last = messages.at(-1);
    // By id: what is inherited has the numbers of another log.
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

function hintFor({ session, head }: Locator, agent: string | undefined): (error: HoldfastError) => string {
  const only = agent === undefined ? "" : ` --agent ${quoted(agent)}`;
  const named = quoted(head === undefined ? session : `${session}@${head.slice(0, 11)}`);
  return ({ details }) => {
    const after = quoted(`${details.session ?? session}#${details.seq}`);
    return `only a backup has its text; \`holdfast messages ${named}${only} --after ${after}\` reads what follows it`;
  };
}

function withHint(error: HoldfastError, hint: string): HoldfastError {
  return new HoldfastError(error.code, error.message, { hint, details: error.details, cause: error });
}
