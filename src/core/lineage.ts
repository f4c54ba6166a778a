// Where a session's rows are: in its own log, and in the logs that its branch inherits from. A lineage is a list of
// stretches of logs, newest first. A read goes through it in one of the two directions.
import type { LineageStretchRow } from "../contracts/storage/lineage-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { invalid } from "./check.ts";
import { parseRowId } from "./row-id.ts";

export interface LineageStretch {
  readonly session: string;
  readonly no: number;
  readonly branch: number;
  /** The last seq that belongs to the stretch; NOW if the session is still on this branch. */
  readonly upTo: number;
  /**
   * The seq up to which this lineage knows the session's log: content erased by then is not part of the view, content
   * erased later was.
   */
  readonly horizon: number;
  /** Clears in the younger sessions of the lineage, which inherited this session's messages and hide them. */
  readonly hides: readonly Clear[];
}

export interface Clear {
  readonly agent: string;
  /** The run whose messages are hidden; null: all messages of the agent. */
  readonly run: string | null;
}

export const NOW = Number.MAX_SAFE_INTEGER;

export interface LinePosition {
  readonly no: number;
  readonly branch: number;
  readonly seq: number;
}

/** How many stretches the first read takes; later reads take more, for readers that go far back. */
const FIRST_PAGE = 16;
const PAGE_GROWTH = 4;

type ReadDown = (deepest: number) => Promise<readonly LineageStretchRow[]>;

/** Reads a lineage from the newest stretch on, only as far as the reader needs. */
export class LineageReader {
  readonly #storage: Storage;
  readonly #horizons = new Map<number, number>();
  #youngerClears: readonly (Clear & { readonly by: number })[] = [];
  /** null after the oldest stretch was read. */
  #readDown: ReadDown | null;
  #page = FIRST_PAGE;
  #read: LineageStretch[] = [];

  constructor(storage: Storage, readDown: ReadDown) {
    this.#storage = storage;
    this.#readDown = readDown;
  }

  /** The next `count` stretches; fewer only at the end. */
  async take(count: number): Promise<readonly LineageStretch[]> {
    while (this.#read.length < count && this.#readDown !== null) {
      await this.#readPage(this.#readDown, Math.max(this.#page, count - this.#read.length));
      this.#page *= PAGE_GROWTH;
    }
    return this.#read.splice(0, count);
  }

  async #readPage(readDown: ReadDown, size: number): Promise<void> {
    const rows = await readDown(size);
    // The row after the page is the start of the next page.
    const below = rows.length > size ? rows[size] : undefined;
    this.#readDown =
      below === undefined
        ? null
        : (deepest) =>
            this.#storage.query("lineage.at", {
              session: below.session_no,
              branch: below.branch,
              upTo: below.upto,
              deepest,
            });
    for (const row of rows.slice(0, size)) await this.#add(row);
  }

  async #add({ session, session_no: no, branch, upto, clears }: LineageStretchRow): Promise<void> {
    if (session === null) return;
    const horizon = this.#horizons.get(no) ?? upto;
    this.#horizons.set(no, horizon);
    // A clear erases messages of its own session, and only hides messages of others.
    const hides = this.#youngerClears.filter(({ by }) => by !== no);
    this.#read.push({ session, no, branch, upTo: upto, horizon, hides });
    if (clears === 0) return;
    const found = await this.#storage.query("lineage.clears", { session: no, branch, upTo: upto });
    this.#youngerClears = [...this.#youngerClears, ...found.map((clear) => ({ ...clear, by: no }))];
  }
}

/** The maximum number of stretches in one read. */
const WIDEST = 256;

/** How many stretches to read next, if `wanted` rows are wanted and `stretches` stretches held `found` rows. */
export function nextWidth(wanted: number, found: number, stretches: number, width: number): number {
  if (stretches === 0) return 1;
  const likely = found === 0 ? 0 : Math.ceil(((wanted - found) * stretches) / found);
  return Math.min(WIDEST, Math.max(likely, width * 2));
}

/** Yields nothing when there is no such session. */
export function readCurrentLineage(storage: Storage, session: string): LineageReader {
  return new LineageReader(storage, (deepest) => storage.query("lineage.current", { session, deepest }));
}

export function readLineageAt(storage: Storage, { no, branch, seq }: LinePosition): LineageReader {
  return new LineageReader(storage, (deepest) =>
    storage.query("lineage.at", { session: no, branch, upTo: seq, deepest }),
  );
}

/** Empty when there is no such session. */
export function currentLineage(storage: Storage, session: string): Promise<readonly LineageStretch[]> {
  return readCurrentLineage(storage, session).take(NOW);
}

export function lineageAt(storage: Storage, at: LinePosition): Promise<readonly LineageStretch[]> {
  return readLineageAt(storage, at).take(NOW);
}

/** A stretch, and the seq after which its rows are read. */
export interface StretchRead {
  readonly stretch: LineageStretch;
  readonly after: number;
}

/**
 * What comes after a position. A number is a seq of the session's own log, which comes after all that it inherits; an
 * id may be that of any message.
 */
export function stretchesAfter(
  lineage: readonly LineageStretch[],
  session: string,
  after: number | string,
): readonly StretchRead[] {
  if (after === 0) return lineage.map((stretch) => ({ stretch, after: 0 }));
  const point = typeof after === "number" ? { session, seq: after } : parseRowId(after, "after");
  const first = lineage.findIndex((stretch) => stretch.session === point.session);
  if (first === -1 && typeof after === "string" && lineage.length > 0) {
    throw invalid("after", "the id of a message that the session shows", after);
  }
  return lineage.flatMap((stretch, i) => {
    if (stretch.session === point.session) return [{ stretch, after: point.seq }];
    return i < first ? [{ stretch, after: 0 }] : [];
  });
}

/** Whether an event of a session's own log is on the line that leads to this position. */
export async function lineTo(
  storage: Storage,
  at: LinePosition,
): Promise<(event: { readonly branch: number; readonly seq: number }) => boolean> {
  const own = (await lineageAt(storage, at)).filter(({ no }) => no === at.no);
  return ({ branch, seq }) => own.some((one) => one.branch === branch && seq <= one.upTo);
}

/** Whether the stretch's messages of that agent and run are hidden. */
export function isHidden({ hides }: LineageStretch, { agent, run }: { agent: string; run: string | null }): boolean {
  return hides.some((clear) => clear.agent === agent && (clear.run === null || clear.run === run));
}

/**
 * The branch that a change of the row belongs to: the session's current branch if the row is on its line, otherwise the
 * row's own branch.
 */
export async function lineOf(
  storage: Storage,
  session: { readonly id: string; readonly no: number; readonly branch: number },
  row: { readonly branch: number; readonly seq: number },
): Promise<number> {
  const lineage = await currentLineage(storage, session.id);
  const isHere = lineage.some(({ no, branch, upTo }) => no === session.no && branch === row.branch && row.seq <= upTo);
  return isHere ? session.branch : row.branch;
}
