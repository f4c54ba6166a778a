// The rows that a session's log describes: which events wrote a row, and which position the session must have. Only the
// part of the log that verifies is used.
import type { JsonObject } from "../contracts/json.ts";
import type { CheckedEventRow, CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import { sameBytes } from "../core/bytes.ts";
import { jsonObject, plainObject } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import { RunProjection } from "../core/run-projection.ts";
import { BoardProjection } from "./boards.ts";
import { CaptureProjection } from "./capture-projection.ts";
import { countChars } from "./char-count.ts";
import type { IssueReporter } from "./findings.ts";
import { verifyLog } from "./log.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import { SeqMarks } from "./seq-marks.ts";
import { StateEndings } from "./state-endings.ts";
import type { Survey } from "./survey.ts";

const TABLES = [
  "turns",
  "clears",
  "evals",
  "calls",
  "snapshots",
  "heads",
  "branches",
  "derivations",
  "invocations",
  "annotations",
] as const;

export type EventTable = (typeof TABLES)[number];

/** The table that an event of each type writes one row to. */
const TABLE_OF: Readonly<Record<string, EventTable>> = {
  "turn/begun": "turns",
  "eval/started": "evals",
  "eval/added": "evals",
  "call/started": "calls",
  "call/put": "calls",
  "snapshot/added": "snapshots",
  "head/created": "heads",
  "head/moved": "branches",
  "branch/begun": "branches",
  "derivation/added": "derivations",
  "invocation/started": "invocations",
  "invocation/finished": "invocations",
  annotation: "annotations",
};

const STATE: ReadonlySet<string> = new Set(["state/set", "state/patched", "state/cleared"]);
const OF_RUNS = /^(run|step|iteration|checkpoint)\//;
const BRANCHING: ReadonlySet<string> = new Set(["branch/begun", "head/moved"]);

export function dataOf(body: Uint8Array | null): { readonly body: JsonObject; readonly data: JsonObject } | null {
  const found = jsonObject.read(body);
  return found === undefined ? null : { body: found, data: plainObject.read(found.data) ?? {} };
}

function actors({ run, agent }: JsonObject): { readonly run: string | null; readonly agent: string | null } {
  return { run: typeof run === "string" ? run : null, agent: typeof agent === "string" ? agent : null };
}

/** The values that the session's own rows must have at the end of the log. */
export interface ExpectedSession {
  readonly messages: number;
  readonly stateSeq: number;
  readonly branch: number;
  readonly head: string | null;
  /** The latest value of each field that its creation and every update since set. */
  readonly described: JsonObject;
  readonly columns: Readonly<Record<"agent" | "created_at" | "updated_at" | "version", unknown>>;
  readonly boards: BoardProjection;
  readonly captures: CaptureProjection;
  readonly runs: RunProjection;
  /** When each alias was last set; null: it was removed since. */
  readonly aliases: ReadonlyMap<string, unknown>;
}

/** Where a branch continues from. */
interface BranchCut {
  readonly branch: number;
  readonly seq: number;
}

/** Up to which seq a deleted session keeps each branch. */
export type KeptRanges = ReadonlyMap<number, number>;

interface KeptEvents {
  readonly kept: KeptRanges;
  /** Seqs whose event is stored and verified. */
  readonly covered: ReadonlySet<number>;
}

export class Ledger {
  /** Up to this seq the log is verified, and rows can be compared with it. */
  readonly end: number;
  /** null when the log is damaged. */
  readonly expected: ExpectedSession | null;
  readonly endings: StateEndings;
  /** For each seq whose row was not found yet: the row's table, as its index in TABLES plus 1. */
  readonly #awaited: SeqMarks;
  /** For each seq: how many of its state values were not found yet. */
  readonly #values: SeqMarks | null;
  /** Seqs of aborts whose turn needs an end on the continuing branch and was not found ended there yet. */
  readonly #aborts: Set<number>;
  readonly #heads: ReadonlyMap<number, string | null | undefined>;
  readonly #cuts: ReadonlyMap<number, BranchCut>;
  readonly #kept: KeptEvents | null;
  /** Fields of the session's creation that stay when it is deleted; empty when the creation event is gone. */
  readonly birth: Readonly<Record<string, unknown>>;

  constructor(end: number, expected: ExpectedSession | null, read: LedgerReader, remains: KeptEvents | null = null) {
    this.end = end;
    this.expected = expected;
    this.endings = read.endings;
    this.#awaited = read.awaited;
    this.#values = read.values;
    this.#aborts = read.aborts;
    this.#heads = read.heads;
    this.#cuts = read.cuts;
    this.#kept = remains;
    this.birth = read.birth();
  }

  /** Up to this seq every event was read and verified, with the blob that it names. */
  get wholeUpTo(): number {
    return this.#kept === null ? this.end : 0;
  }

  /** Whether the log proves the row of this seq. */
  covers(seq: number): boolean {
    return this.#kept === null ? seq <= this.end : this.#kept.covered.has(seq);
  }

  /** Whether a row of a deleted session is in a range that other sessions inherit; always true for a living session. */
  keeps(branch: number | null, seq: number): boolean {
    return this.#kept === null || (branch !== null && seq <= (this.#kept.kept.get(branch) ?? 0));
  }

  /** The last known seq of a branch. */
  endOf(branch: number): number {
    return this.#kept === null ? this.end : (this.#kept.kept.get(branch) ?? 0);
  }

  markRowFound(table: EventTable, seq: number): void {
    if (this.#awaited.get(seq) === TABLES.indexOf(table) + 1) this.#awaited.set(seq, 0);
    if (table === "turns") this.#aborts.delete(seq);
  }

  markValueFound(seq: number): void {
    const left = this.#values?.get(seq) ?? 0;
    if (left > 0) this.#values?.set(seq, left - 1);
  }

  /** The session's current head when the invocation event with this seq was written; undefined if unknown. */
  headAt(seq: number): string | null | undefined {
    return this.#heads.get(seq);
  }

  /**
   * The branch that a later version belongs to: the branch of its event, or the first version's branch if the event's
   * does not continue it.
   */
  lineOf(branch: number, begun: { readonly branch: number; readonly seq: number }): number {
    let at: BranchCut | undefined = { branch, seq: this.end };
    // A branch continues one with a lower number, so this ends.
    for (let last = Number.POSITIVE_INFINITY; at !== undefined && at.branch < last; at = this.#cuts.get(at.branch)) {
      if (at.branch === begun.branch && begun.seq <= at.seq) return branch;
      last = at.branch;
    }
    return begun.branch;
  }

  /** The rows that the log describes and that were not found. */
  *missing(): Generator<{ readonly seq: number; readonly table: EventTable | "state" }> {
    for (const [seq, mark] of this.#awaited.nonZero()) {
      const table = TABLES[mark - 1];
      if (table !== undefined) yield { seq, table };
    }
    for (const seq of this.#aborts) yield { seq, table: "turns" };
    for (const [seq] of this.#values?.nonZero() ?? []) yield { seq, table: "state" };
  }
}

/** Reads the events of a log in order, from its beginning or of the ranges that a deleted session keeps. */
export class LedgerReader {
  readonly awaited: SeqMarks;
  values: SeqMarks | null = null;
  readonly aborts = new Set<number>();
  readonly endings = new StateEndings();
  readonly heads = new Map<number, string | null | undefined>();
  readonly cuts = new Map<number, BranchCut>();
  readonly #boards = new BoardProjection();
  readonly #captures = new CaptureProjection();
  readonly #runs = new RunProjection();
  readonly #aliases = new Map<string, unknown>();
  /** For each clear: how many messages it erased, by its event and by the messages' rows. */
  readonly #cleared = new Map<number, { logged: unknown; found: number }>();
  #described: JsonObject = {};
  #columns = { agent: null as unknown, created_at: null as unknown, updated_at: null as unknown, version: 0 };
  #branch = 1;
  /** Whether the session began as a fork: then all of its branches inherit. */
  #isFork = false;
  #messages = 0;
  #stateSeq = 0;
  #head: string | null | undefined = null;
  #headBefore: string | null | undefined = null;
  readonly #isWhole: boolean;

  /** `log`: the whole log from its beginning, or the ranges that a deleted session keeps. */
  constructor(log: "whole" | "remains") {
    this.#isWhole = log === "whole";
    this.awaited = new SeqMarks(this.#isWhole ? 1 : null);
  }

  get branch(): number {
    return this.#branch;
  }

  /** `follows`: the event before it was read as well. */
  apply(event: Pick<CheckedEventRow, "seq" | "type" | "at" | "body">, follows = true): void {
    const { seq, type } = event;
    // A head may have been published on a branch that is gone.
    if (!follows) [this.#headBefore, this.#head] = [undefined, undefined];
    const table = TABLE_OF[type];
    if (table !== undefined) this.awaited.set(seq, TABLES.indexOf(table) + 1);
    if (BRANCHING.has(type)) this.#branch = seq;
    if (BRANCHING.has(type) || STATE.has(type)) this.#stateSeq = seq;
    this.#columns.updated_at = event.at;
    // A message event describes no other row, and there are many of them.
    if (type === "message/added") return;
    const { body, data } = dataOf(event.body) ?? { body: {}, data: {} };
    if (type.startsWith("session/")) this.#describe(type, event.at, body, data);
    else if (type.startsWith("board/") || type.startsWith("task/")) this.#boards.apply(type, event.at, data);
    else if (type.startsWith("capture/")) this.#captures.apply(event, body, data);
    else if (type.startsWith("alias/")) this.#aliases.set(String(data.name), type === "alias/set" ? event.at : null);
    else if (OF_RUNS.test(type))
      this.#runs.apply({ seq, branch: this.#branch, type, at: event.at, ...actors(body), data });
    else if (type.startsWith("invocation/")) this.heads.set(seq, this.#head);
    else if (type === "messages/cleared") this.#clear(seq, data.count);
    else if (STATE.has(type)) {
      this.values ??= new SeqMarks(this.#isWhole ? 2 : null);
      const inherits = this.#isFork || this.#branch > 1;
      this.values.set(seq, this.endings.apply({ seq, type, branch: this.#branch }, data, inherits));
    }
    this.#move(type, seq, data);
    if (!this.#isWhole && !this.#isKept(type, data)) this.awaited.set(seq, 0);
  }

  /** A deleted session keeps no notes and no derivations, and no last versions of rows that began on another branch. */
  #isKept(type: string, data: JsonObject): boolean {
    if (type === "annotation" || type === "derivation/added") return false;
    const first = data.call ?? data.eval ?? data.invocation;
    const ends = type === "call/put" || type === "eval/added" || type === "invocation/finished";
    return !ends || typeof first !== "number" || this.#isOnLine(first);
  }

  /**
   * Whether the seq is in the history of the current branch: a branch is one range of the log that starts at its own
   * number.
   */
  #isOnLine(first: number): boolean {
    let at: BranchCut | undefined = { branch: this.#branch, seq: Number.POSITIVE_INFINITY };
    for (let last = Number.POSITIVE_INFINITY; at !== undefined && at.branch < last; at = this.cuts.get(at.branch)) {
      if (at.branch <= first && first <= at.seq) return true;
      last = at.branch;
    }
    return false;
  }

  #describe(type: string, at: number, body: JsonObject, data: JsonObject): void {
    this.#columns.version++;
    if (type === "session/created") {
      this.#isFork = data.from !== undefined;
      this.#columns = { ...this.#columns, agent: body.agent ?? null, created_at: at };
      // A session that its first use created has no columns in the log.
      this.#described = body.data === undefined ? { request: null } : data;
    } else this.#described = { ...this.#described, ...data };
  }

  #clear(seq: number, count: unknown): void {
    const known = this.#cleared.get(seq);
    this.#cleared.set(seq, { logged: count, found: known?.found ?? 0 });
    // A fork cannot erase inherited messages, so a row of `clears` hides them.
    if (this.#isFork) this.awaited.set(seq, TABLES.indexOf("clears") + 1);
  }

  #move(type: string, seq: number, data: JsonObject): void {
    if (BRANCHING.has(type)) {
      const { branch, seq: cut } = plainObject.read(data.from) ?? {};
      this.cuts.set(seq, { branch: Number(branch), seq: Number(cut) });
      if (data.turn !== undefined) this.aborts.add(seq);
    }
    if (type.startsWith("head/")) {
      // After a rewind to before the first head, the session has no head.
      [this.#headBefore, this.#head] = [this.#head, typeof data.head === "string" ? data.head : null];
    }
    // An aborted head was never the current one.
    else if (data.verb === "abort" && data.head === this.#head) this.#head = this.#headBefore;
  }

  /** Counts a message, or the event that erased it. */
  message(erasedBy: number | null): void {
    if (erasedBy === null) this.#messages++;
    else {
      const known = this.#cleared.get(erasedBy) ?? { logged: null, found: 0 };
      this.#cleared.set(erasedBy, { ...known, found: known.found + 1 });
    }
  }

  *miscounted(): Generator<{ readonly seq: number; readonly logged: unknown; readonly found: number }> {
    for (const [seq, { logged, found }] of this.#cleared) if (logged !== found) yield { seq, logged, found };
  }

  birth(): Readonly<Record<string, unknown>> {
    const { created_at } = this.#columns;
    return created_at === null ? {} : { created_at, kind: this.#described.kind ?? "entry" };
  }

  expected(): ExpectedSession {
    return {
      messages: this.#messages,
      stateSeq: this.#stateSeq,
      branch: this.#branch,
      head: this.#head ?? null,
      described: this.#described,
      columns: this.#columns,
      boards: this.#boards,
      captures: this.#captures,
      runs: this.#runs,
      aliases: this.#aliases,
    };
  }
}

/** Reads the log once: each event is compared and counted as soon as it is verified. */
export async function readLedger(survey: Survey, reporter: IssueReporter, session: CheckedSessionRow): Promise<Ledger> {
  const { storage, count } = survey;
  const reader = new LedgerReader("whole");
  const { ok, end } = await verifyLog(storage, reporter, session, (event) => {
    if (event.seq > session.seq) return;
    count("events");
    reader.apply(event);
    if (event.role === null) return;
    count("messages");
    const isSame = event.content === null || survey.contents.add(event.content, event.chars);
    if (!isSame || (event.words !== null && event.chars !== countChars(event.words))) {
      reporter.report("row-mismatch", [rowId(session.id, event.seq)], { table: "events", column: "chars" });
    }
    reader.message(event.erased_seq !== null && event.erased_seq > session.seq ? null : event.erased_seq);
  });
  if (survey.checkBlobOnce !== undefined) await readContents(survey, reporter, session, end);
  if (ok) {
    for (const { seq, found } of reader.miscounted()) {
      reporter.report("row-mismatch", [rowId(session.id, seq)], { table: "events", column: "erased_seq", found });
    }
  }
  return new Ledger(end, ok ? reader.expected() : null, reader);
}

/** Checks the blobs that the events of a session name, when the session is checked alone. */
async function readContents(
  survey: Survey,
  reporter: IssueReporter,
  session: CheckedSessionRow,
  end: number,
): Promise<void> {
  for await (const event of rowsOf<CheckedEventRow>((last) =>
    survey.storage.query("check.events", { session: session.no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
  )) {
    if (event.seq > end) break;
    if (event.content !== null) {
      await survey.checkBlobOnce?.(
        reporter,
        rowId(session.id, event.seq),
        event.content,
        event.message === 1 ? "content" : null,
      );
    }
  }
}

/** For content that is a blob, the event's row contains the hash twice, and the chain commits to one of them. */
export function checkContent(reporter: IssueReporter, session: CheckedSessionRow, event: CheckedEventRow): void {
  const { content, sha256, erased_seq, seq } = event;
  if (erased_seq !== null || content === null || (sha256 !== null && sameBytes(content, sha256))) return;
  reporter.report("commitment-mismatch", [rowId(session.id, seq)], { table: "events", payload: "content" });
}
