// Recorded reads of an iteration (rule RU14): journalled as a position in the log, and read again there when the iteration is
// replayed. The event is not committed by itself: it goes with the next thing the run writes, because nothing relies on it
// before.
import type { Context, ContextOptions } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { MessageAtRow } from "../contracts/lineage-queries.ts";
import type { Message } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { MessageRow } from "../contracts/queries.ts";
import type { ErasedContent, RecordedHistoryRange } from "../contracts/session-steps.ts";
import { sha256Hex } from "../core/bytes.ts";
import { checkId } from "../core/check.ts";
import type { Segment } from "../core/lineage.ts";
import { rowId } from "../core/row-id.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { historyRowsAt } from "../history/at.ts";
import { erasedMessage, readRows } from "../history/messages.ts";
import { checkHistoryRange } from "../history/read.ts";
import { checkContextOptions, contextThen } from "../sessions/context.ts";
import { type ErasedValue, readStateAt } from "../state/at.ts";
import { contentErased } from "./errors.ts";
import type { StepRecord } from "./journal.ts";
import { decodePosition, encodePosition, type Located, locateAgain, locateNow } from "./position.ts";
import { isMistakeOfCaller } from "./refusals.ts";
import type { Asked, Identity, Steps } from "./steps.ts";
import type { Suspension } from "./suspension.ts";
import type { Writer } from "./writer.ts";

/** Content that is not there any more. */
type Erased = { readonly session: string; readonly seq: number } | ErasedValue;

interface Reading<T> {
  readonly value: T;
  /** Of what it gives: the same ones mean the same content, for content never changes. */
  readonly ids: readonly (string | null)[];
  /** Content that was there at the position and is not now; a placeholder stands in its place. */
  readonly erased: readonly Erased[];
  /** Those of them that the value shows. */
  readonly shown: readonly Erased[];
}

/** `expected`: the digest of what the recorded read gave; undefined: it is made now. */
type Read<T> = (lineage: readonly Segment[], clock: number, expected?: string) => Promise<Reading<T>>;

interface Reader {
  readonly writer: Writer;
  readonly payloads: Payloads;
  readonly steps: Steps;
  readonly suspension: Suspension;
  readonly leave: (error?: unknown) => Promise<never>;
  readonly erased: ErasedContent;
}

/** Erasures beside a read that is made now send it back; there are never many. */
const MOST_TRIES = 16;

/** What a caller's own function threw: thrown at the iteration, like anything else it does wrong. */
class TokenizerFailed extends Error {}

export class RecordedReads {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  context(asked: Asked, options: ContextOptions | undefined): Promise<Context> {
    const { writer, payloads } = this.#reader;
    const checked = checkContextOptions(options);
    const count: typeof checked.count = (message) => {
      try {
        return checked.count(message);
      } catch (cause) {
        throw new TokenizerFailed("the tokenizer failed", { cause });
      }
    };
    return this.#read(asked, async (lineage) => {
      const erased: MessageAtRow[] = [];
      const value = await contextThen(writer.storage, payloads, lineage, { ...checked, count }, erased);
      const ids = value.messages.map(({ id }) => id);
      const known = new Set(ids);
      const isShown = ({ session, seq }: MessageAtRow) => known.has(rowId(session, seq));
      return { value, ids, erased: erased.map(nameOf), shown: erased.filter(isShown).map(nameOf) };
    });
  }

  history(asked: Asked, given: RecordedHistoryRange | undefined): Promise<readonly Message[]> {
    const { writer, payloads } = this.#reader;
    const { session, agent: own } = writer.row;
    const { agent: named = own, ...rest } = given ?? {};
    const agent = named === null ? undefined : checkId(named, "range.agent");
    const range = checkHistoryRange(rest);
    return this.#read(asked, async (lineage) => {
      const rows = await historyRowsAt(writer.storage, lineage, { session, agent, range });
      const erased = rows.filter((row) => row.erased_seq !== null);
      const slice = new TimeSlice(writer.storage.environment);
      const value =
        erased.length === 0
          ? await readRows(rows as readonly MessageRow[], payloads, slice)
          : await mixed(rows, payloads, slice);
      return { value, ids: value.map(({ id }) => id), erased: erased.map(nameOf), shown: erased.map(nameOf) };
    });
  }

  state(asked: Asked): Promise<JsonObject> {
    const { writer, payloads } = this.#reader;
    return this.#read(asked, async (lineage, clock, expected) => {
      const isAsThen = (keys: readonly string[]) => expected === undefined || digestOf(keys) === expected;
      const { value, erased } = await readStateAt(writer.storage, payloads, lineage, clock, isAsThen);
      return { value, ids: Object.keys(value).sort(), erased, shown: erased };
    });
  }

  #read<T>(asked: Asked, read: Read<T>): Promise<T> {
    const { steps, suspension, leave } = this.#reader;
    const identity = steps.identify(asked);
    return suspension.during(async () => {
      try {
        const found = await steps.recorded(identity);
        return await steps.whileReading(() =>
          found === undefined ? this.#first(identity, read) : this.#again(found, read),
        );
      } catch (error) {
        if (error instanceof TokenizerFailed) throw error.cause;
        if (isMistakeOfCaller(error)) throw error;
        return leave(error);
      }
    });
  }

  async #first<T>(identity: Identity, read: Read<T>): Promise<T> {
    const { writer, steps } = this.#reader;
    const { storage, row } = writer;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const { position, lineage } = await locateNow(storage, row.session, tries > 0);
      const clock = storage.environment.now();
      const { value, ids, erased } = await read(lineage, clock);
      // Erased between the two: the position is older than what was read.
      if (erased.length > 0) continue;
      const recorded = encodePosition({ position, count: ids.length, digest: digestOf(ids) });
      writer.hold({ ...steps.draft("step/done", { ...steps.said(identity, 1), position: recorded }), at: clock });
      return value;
    }
    throw new HoldfastError("StoreBusy", `what ${JSON.stringify(row.session)} shows is erased faster than it is read`, {
      retryable: true,
      details: { session: row.session, run: row.id },
    });
  }

  async #again<T>(found: StepRecord, read: Read<T>): Promise<T> {
    const { writer, steps, erased: rule } = this.#reader;
    const { storage, row } = writer;
    const { position, digest } = decodePosition(row.session, found.seq, found.data);
    const { lineage }: Located = await locateAgain(storage, row.session_no, position);
    const { value, ids, erased, shown } = await read(lineage, found.startedAt, digest);
    const isSame = digestOf(ids) === digest;
    if (isSame && shown.length === 0) return value;
    const [first = shown[0]] = erased;
    if (first === undefined) return steps.differs(found, "gives something else");
    if (rule === "fail") throw contentErased(row, `${found.iteration}/${found.path}`, shown[0] ?? first);
    steps.acceptOtherArguments();
    return value;
  }
}

async function mixed(rows: readonly MessageAtRow[], payloads: Payloads, slice: TimeSlice): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for (const row of rows) {
    if (row.erased_seq === null) messages.push(...(await readRows([row as MessageRow], payloads, slice)));
    else messages.push(erasedMessage(row));
  }
  return messages;
}

function nameOf({ session, seq }: MessageAtRow): Erased {
  return { session, seq };
}

/** Of texts and null, which JSON.stringify writes as canonical JSON does. */
function digestOf(ids: readonly (string | null)[]): string {
  return sha256Hex(JSON.stringify(ids)).slice(0, 16);
}
