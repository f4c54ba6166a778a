// Compaction: a message that summarises what came before, and a head from which on contexts begin with it. The author
// of the summary had read up to a message and no further, so the first read fixes what the summary covers: a retry adds
// nothing that came later.
import type { Context } from "../contracts/context.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { MessageAtRow } from "../contracts/storage/lineage-queries.ts";
import type { Prepare } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { HEAD_VERBS } from "../contracts/verbs/lineage.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { invalid } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { rootOf } from "../core/head.ts";
import { isHidden, lineageAt, type Segment } from "../core/lineage.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { onHead } from "../core/session-guards.ts";
import { existingSession } from "../core/session-lookup.ts";
import { appendCommit, prepareMessage, type ReadyMessage, readyMessage } from "../history/append.ts";
import { lastMessageRows } from "../history/at.ts";
import { compactionNow } from "./context.ts";
import { decideHead, prepareHead } from "./publish.ts";

type MessageId = ReturnType<typeof parseRowId>;

/** The last message that the summary covers. */
interface Boundary {
  readonly no: number;
  readonly branch: number;
  readonly id: MessageId;
}

interface CheckedCompaction {
  readonly keep: number;
  readonly upTo: MessageId | null;
}

type CompactValues = ValuesOf<typeof HEAD_VERBS.compact>[1];

export async function compact(storage: Storage, prepare: Prepare, id: string, input: CompactValues): Promise<Head> {
  const { agent, expect } = input;
  const asked = checkCompaction(input);
  const summary = readySummary(input.summary);
  const first = await existingSession(storage, id);
  const boundary = await boundaryOf(storage, first, asked);
  const message = await prepareMessage(summary, prepare);
  const prepared = await prepareHead(storage, prepare, expect === undefined ? {} : { expect });
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const compacts = await covering(storage, session, boundary);
    const at = storage.environment.now();
    const append = appendCommit({ session: id, agent, run: undefined, at }, [message]);
    // Another compaction meanwhile stands for some of the same messages: then this one stands for it, too.
    const guards = [onHead(session)];
    return decideHead(storage, { session, prepared, status: "complete", at, compaction: { append, compacts }, guards });
  });
}

/** The message that stands for what came before. */
export function readySummary(summary: unknown): ReadyMessage {
  // A context would begin with nothing in place of all that the summary stands for.
  const isBlank = typeof summary === "string" && summary.trim() === "";
  if (isBlank) throw invalid("summary", "what says in short what came before", summary);
  return readyMessage({ role: "user", content: summary, metadata: { compaction: true } } as never);
}

/** What a summary up to a message stands for, decided anew on the session as it is each time it is asked. */
export async function coverageUpTo(
  storage: Storage,
  id: string,
  upTo: unknown,
): Promise<
  () => Promise<{
    readonly compacts: Omit<NonNullable<Context["compaction"]>, "summary">;
    readonly guards: readonly Guard[];
  }>
> {
  const named = { keep: 0, upTo: parseRowId(upTo, "upTo") };
  const boundary = await boundaryOf(storage, await existingSession(storage, id), named);
  return async () => {
    const session = await existingSession(storage, id);
    return { compacts: await covering(storage, session, boundary), guards: [onHead(session)] };
  };
}

function checkCompaction({ keep, upTo }: CompactValues): CheckedCompaction {
  if (keep !== undefined && upTo !== undefined) {
    throw new HoldfastError(
      "InvalidArgument",
      "a compaction says how many messages to keep, or up to which it goes, not both",
      {
        details: { what: "compaction" },
        hint: "Prefer upTo: the last message that the author of the summary had read.",
      },
    );
  }
  return { keep: keep ?? 0, upTo: upTo ?? null };
}

async function boundaryOf(storage: Storage, session: SessionRow, { keep, upTo }: CheckedCompaction): Promise<Boundary> {
  const id = upTo ?? (await lastToCompact(storage, session, keep));
  for (const segment of await lineageOf(storage, session)) {
    const { no, branch, horizon } = segment;
    if (!holds(segment, id)) continue;
    const [row] = await storage.query("messages.at", {
      session: no,
      branch,
      after: id.seq - 1,
      upTo: id.seq,
      erasedAfter: horizon,
      limit: 1,
    });
    if (row !== undefined && isShown(segment, row)) return { no, branch, id };
  }
  const name = rowId(id.session, id.seq);
  throw new HoldfastError("NotFound", `${JSON.stringify(session.id)} shows no message ${name}`, {
    details: { kind: "message", session: session.id, id: name },
    hint: "Name a message of the session's own history, on the line it is on, that was not erased.",
  });
}

async function lastToCompact(storage: Storage, session: SessionRow, keep: number): Promise<MessageId> {
  const lineage = await lineageOf(storage, session);
  const compaction = await compactionNow(storage, lineage);
  // The existing summary stands before what is kept, wherever it was written: a concurrent compaction may just have
  // made it.
  const summaries = summariesOf(compaction);
  const shown = (await lastMessageRows(storage, session, keep + 1 + summaries.length)).filter(
    (row) => !summaries.includes(rowId(row.session, row.seq)),
  );
  const rows = shown.slice(-(keep + 1));
  const row = rows[0];
  if (row !== undefined && rows.length === keep + 1) return { session: row.session, seq: row.seq };
  throw new HoldfastError(
    "InvalidArgument",
    `there are not more than ${keep} messages in ${JSON.stringify(session.id)}`,
    {
      details: { session: session.id, keep },
      hint: "Keep fewer, or compact later.",
    },
  );
}

/** The newest first. */
function summariesOf(compaction: NonNullable<Context["compaction"]> | null): readonly string[] {
  return compaction === null ? [] : [compaction.summary, ...(compaction.over ?? [])];
}

/** All it stands for: what is up to there, and the summaries that say no more than that, of which some come later. */
async function covering(
  storage: Storage,
  session: SessionRow,
  boundary: Boundary,
): Promise<Omit<NonNullable<Context["compaction"]>, "summary">> {
  const lineage = await lineageOf(storage, session);
  const last = await coveredUpTo(storage, lineage, session, boundary);
  const now = await compactionNow(storage, lineage);
  const isMore = now !== null && isBehind(lineage, parseRowId(now.upTo, "compaction.upTo"), last);
  const over = (isMore ? (now.over ?? []) : summariesOf(now))
    .filter((one) => isBehind(lineage, parseRowId(one, "compaction.summary"), last))
    .slice(0, AT_ONCE);
  const upTo = rowId(last.session, last.seq);
  return over.length === 0 ? { upTo } : { upTo, over };
}

/** The boundary, or the last of the summaries directly behind it that say no more than what it covers. */
async function coveredUpTo(
  storage: Storage,
  lineage: readonly Segment[],
  session: SessionRow,
  { no, branch, id }: Boundary,
): Promise<MessageId> {
  const found = lineage.findIndex((one) => one.no === no && one.branch === branch && holds(one, id));
  if (found === -1) throw leftBehind(session, id);
  let last = id;
  for (const [i, segment] of lineage
    .slice(0, found + 1)
    .toReversed()
    .entries()) {
    for await (const row of nextRows(storage, segment, i === 0 ? id.seq : 0)) {
      const upTo = await summedUpTo(storage, segment, row);
      if (upTo === null || isBehind(lineage, upTo, last)) return last;
      last = { session: row.session, seq: row.seq };
    }
  }
  return last;
}

/** Enough for all concurrent compactions; if there are more, the rest stays in the context. */
const AT_ONCE = 64;
const PAGE = 256;

/** All that the stretch shows, however much it hides. */
async function* nextRows(storage: Storage, segment: Segment, after: number): AsyncGenerator<MessageAtRow> {
  const { no, branch, upTo, horizon } = segment;
  for (let last = after; ; ) {
    const rows = await storage.query("messages.at", {
      session: no,
      branch,
      after: last,
      upTo,
      erasedAfter: horizon,
      limit: PAGE,
    });
    for (const row of rows) if (isShown(segment, row)) yield row;
    if (rows.length < PAGE) return;
    last = rows.at(-1)?.seq ?? upTo;
  }
}

/** Up to which message a summary stands, when the message is one: its head comes directly after it. */
async function summedUpTo(storage: Storage, { no, branch }: Segment, row: MessageAtRow): Promise<MessageId | null> {
  const [head] = await storage.query("head.before", { session: no, branch, upTo: row.seq + 1 });
  if (head === undefined || head.seq !== row.seq + 1) return null;
  const { compaction } = rootOf(head);
  if (compaction?.summary !== rowId(row.session, row.seq)) return null;
  return parseRowId(compaction.upTo, "compaction.upTo");
}

/** The first comes later on the line than the second, or is not on it. */
function isBehind(lineage: readonly Segment[], one: MessageId, other: MessageId): boolean {
  // Of the stretches of its session, the oldest that reaches so far holds it.
  const [at, than] = [one, other].map((id) => lineage.findLastIndex((segment) => holds(segment, id))) as [
    number,
    number,
  ];
  return at === -1 || at < than || (at === than && one.seq > other.seq);
}

function lineageOf(storage: Storage, { no, branch, seq }: SessionRow): Promise<readonly Segment[]> {
  return lineageAt(storage, { no, branch, seq });
}

function holds({ session, upTo }: Segment, id: MessageId): boolean {
  return session === id.session && id.seq <= upTo;
}

function isShown(segment: Segment, row: MessageAtRow): boolean {
  return row.erased_seq === null && !isHidden(segment, row);
}

function leftBehind(session: SessionRow, { session: of, seq }: MessageId): HoldfastError {
  const [name, id] = [JSON.stringify(session.id), rowId(of, seq)];
  return new HoldfastError("Conflict", `${name} went on from before ${id} while it was summed up to there`, {
    details: { session: session.id, upTo: id },
    hint: "Read the session again and sum up what it shows now.",
  });
}
