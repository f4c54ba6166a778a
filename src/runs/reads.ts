// Recorded reads of an iteration (rule RU14): the journal stores the position in the log, and a replay reads at this
// position again. The run's next commit writes the event, because nothing relies on it before.
import type { Context, ContextOptions } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Message } from "../contracts/messages.ts";
import type { SessionSteps } from "../contracts/session-steps.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { MessageRow } from "../contracts/storage/rows.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkId } from "../core/check.ts";
import type { LineageStretch } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import {
  type BuiltSystem,
  decodeSystem,
  encodeSystem,
  type RecordedSystem,
  type SystemOptions,
} from "../core/system-source.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { historyRowsAt } from "../history/at.ts";
import { erasedMessage, readRows } from "../history/messages.ts";
import { checkHistoryRange } from "../history/read.ts";
import { afterSystem, checkContextOptions, contextThen, withSystem } from "../sessions/context.ts";
import { type ErasedValue, readStateAt } from "../state/at.ts";
import { contentErased, systemErased } from "./errors.ts";
import type { IterationHost } from "./iteration-host.ts";
import type { StepRecord } from "./journal.ts";
import { decodePosition, encodePosition, locateAgain, locateNow } from "./position.ts";
import { isMistakeOfCaller } from "./refusals.ts";
import type { StepIdentity, StepRequest } from "./steps.ts";

/** An erased message or value. */
type ErasedItem = { readonly session: string; readonly seq: number } | ErasedValue;

interface Reading<T> {
  readonly value: T;
  /** The ids or keys of what the read returns. Equal ids mean equal content, because content never changes. */
  readonly ids: readonly (string | null)[];
  /** Content that existed at the position and was erased since; a placeholder replaces it. */
  readonly erased: readonly ErasedItem[];
  /** The erased items for which the value contains a placeholder. */
  readonly shown: readonly ErasedItem[];
  /** The blocks and memories of a context. */
  readonly built?: BuiltSystem | null;
}

interface RecordedRead {
  /** The digest of what the read returned. */
  readonly digest: string;
  readonly system: RecordedSystem | undefined;
}

/** `recorded`: undefined for a new read. */
type Read<T> = (lineage: readonly LineageStretch[], clock: number, recorded?: RecordedRead) => Promise<Reading<T>>;

/** How often a new read is repeated because of concurrent erasures, which are rare. */
const MOST_TRIES = 16;

/** The error of the caller's tokenizer, thrown in the iteration like its other mistakes. */
class TokenizerFailed extends Error {}

export function readContext(
  host: IterationHost,
  request: StepRequest,
  options: ContextOptions | undefined,
): Promise<Context> {
  const { storage, payloads } = host;
  const checked = checkContextOptions(options, host.writer.row.agent);
  const count = guardTokenizer(checked.count);
  const system = checked.system === null ? null : { ...checked.system, count: guardTokenizer(checked.system.count) };
  return readRecorded(host, request, async (lineage, _, recorded) => {
    const erased: MessageAtRow[] = [];
    const built = await readSystem(host, system, recorded);
    const asked = { ...(built === null ? checked : afterSystem(checked, built.system)), count };
    const messages = await contextThen(storage, payloads, lineage, asked, erased);
    const value = built === null ? messages : withSystem(messages, built.system);
    const ids = value.messages.map(({ id }) => id);
    const known = new Set(ids);
    const isShown = ({ session, seq }: MessageAtRow) => known.has(rowId(session, seq));
    return { value, ids, erased: erased.map(nameOf), shown: erased.filter(isShown).map(nameOf), built };
  });
}

function guardTokenizer<T>(count: (counted: T) => number): (counted: T) => number {
  return (counted) => {
    try {
      return count(counted);
    } catch (cause) {
      throw new TokenizerFailed("the tokenizer failed", { cause });
    }
  };
}

async function readSystem(
  { systemSource }: IterationHost,
  options: SystemOptions | null,
  recorded: RecordedRead | undefined,
): Promise<BuiltSystem | null> {
  if (options === null) return null;
  const source = await systemSource();
  return recorded?.system === undefined ? source.build(options) : source.rebuild(options, recorded.system);
}

export function readHistory(
  host: IterationHost,
  request: StepRequest,
  given: NonNullable<Parameters<SessionSteps["history"]>[0]> | undefined,
): Promise<readonly Message[]> {
  const { storage, payloads, writer } = host;
  const { session, agent: own } = writer.row;
  const { agent: named = own, ...rest } = given ?? {};
  const agent = named === null ? undefined : checkId(named, "range.agent");
  const range = checkHistoryRange(rest);
  return readRecorded(host, request, async (lineage) => {
    const rows = await historyRowsAt(storage, lineage, { session, agent, range });
    const erased = rows.filter((row) => row.erased_seq !== null);
    const slice = new TimeSlice(storage.environment);
    const value =
      erased.length === 0
        ? await readRows(rows as readonly MessageRow[], payloads, slice)
        : await mixed(rows, payloads, slice);
    return { value, ids: value.map(({ id }) => id), erased: erased.map(nameOf), shown: erased.map(nameOf) };
  });
}

export function readState(host: IterationHost, request: StepRequest): Promise<JsonObject> {
  const { storage, payloads } = host;
  return readRecorded(host, request, async (lineage, clock, recorded) => {
    const isAsRecorded = (keys: readonly string[]) => recorded === undefined || digestOf(keys) === recorded.digest;
    const { value, erased } = await readStateAt(storage, payloads, lineage, clock, isAsRecorded);
    return { value, ids: Object.keys(value).sort(), erased, shown: erased };
  });
}

function readRecorded<T>(host: IterationHost, request: StepRequest, read: Read<T>): Promise<T> {
  const { steps, life } = host;
  const identity = steps.identify(request);
  return life.during(async () => {
    try {
      const { action, record } = await steps.decide(identity);
      return await steps.whileReading(() =>
        action === "intend" ? readNow(host, identity, read) : readAgain(host, record, read),
      );
    } catch (error) {
      if (error instanceof TokenizerFailed) throw error.cause;
      if (isMistakeOfCaller(error)) throw error;
      throw life.leave(error);
    }
  });
}

async function readNow<T>({ storage, writer, steps }: IterationHost, identity: StepIdentity, read: Read<T>) {
  const { row } = writer;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const { position, lineage } = await locateNow(storage, row.session, tries > 0);
    const clock = storage.environment.now();
    const { value, ids, erased, built = null } = await read(lineage, clock);
    // Content was erased between the two reads, so the position is older than what was read.
    if (erased.length > 0) continue;
    const recorded = encodePosition({ position, count: ids.length, digest: digestOf(ids) });
    const system = built === null ? {} : { system: encodeSystem(built.recorded) };
    const draft = steps.draft("step/done", { ...steps.describe(identity, 1), position: recorded, ...system });
    writer.addLater({ ...draft, at: clock });
    return value;
  }
  throw new HoldfastError(
    "StoreBusy",
    `content of the session ${JSON.stringify(row.session)} is erased faster than it can be read`,
    {
      retryable: true,
      details: { session: row.session, run: row.id },
    },
  );
}

async function readAgain<T>(host: IterationHost, record: StepRecord, read: Read<T>): Promise<T> {
  const { storage, writer, steps } = host;
  const { row } = writer;
  const { position, digest } = decodePosition(row.session, record.seq, record.data);
  const { lineage } = await locateAgain(storage, row.session_no, position);
  const system = decodeSystem(record.data.system);
  const { value, ids, erased, shown, built = null } = await read(lineage, record.startedAt, { digest, system });
  const place = `${record.iteration}/${record.path}`;
  const [erasedText] = built?.erased ?? [];
  if (erasedText !== undefined && host.erased === "fail") throw systemErased(row, place, erasedText);
  // The agent's system prompt, or what describes its blocks, may have changed since: such texts have no versions.
  if (built !== null && built.recorded.digest !== system?.digest) steps.acceptOtherArguments();
  const isSame = digestOf(ids) === digest;
  if (isSame && shown.length === 0) return value;
  const [first = shown[0]] = erased;
  if (first === undefined) throw steps.differs(record, "returns something else");
  if (host.erased === "fail") throw contentErased(row, place, shown[0] ?? first);
  steps.acceptOtherArguments();
  return value;
}

async function mixed(rows: readonly MessageAtRow[], payloads: Payloads, slice: TimeSlice): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const row of rows) {
    if (row.erased_seq === null) messages.push(...(await readRows([row as MessageRow], payloads, slice)));
    else messages.push(erasedMessage(row));
  }
  return messages;
}

function nameOf({ session, seq }: MessageAtRow): ErasedItem {
  return { session, seq };
}

/** The digest of texts and null, for which JSON.stringify writes canonical JSON. */
function digestOf(ids: readonly (string | null)[]): string {
  return sha256Hex(JSON.stringify(ids)).slice(0, 16);
}
