// Compaction: a message with a summary of earlier messages, and a head from which on contexts begin with the summary.
// The author of the summary had read up to some message, so the first read fixes what the summary covers, and a retry
// adds no later messages.
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
import { isHidden, type LineageStretch, lineageAt } from "../core/lineage.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { headGuard } from "../core/session-guards.ts";
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
    // If another compaction has covered some of the same messages meanwhile, this one covers that summary too.
    const guards = [headGuard(session)];
    return decideHead(storage, { session, prepared, status: "complete", at, compaction: { append, compacts }, guards });
  });
}

/** The message with the summary. */
export function readySummary(summary: unknown): ReadyMessage {
  // An empty summary would replace all covered messages by nothing.
  const isBlank = typeof summary === "string" && summary.trim() === "";
  if (isBlank) throw invalid("summary", "a summary that is not empty", summary);
  return readyMessage({ role: "user", content: summary, metadata: { compaction: true } } as never);
}

/**
 * Returns a function that computes what a summary up to a message covers, on the current state of the session at each
 * call.
 */
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
    return { compacts: await covering(storage, session, boundary), guards: [headGuard(session)] };
  };
}

function checkCompaction({ keep, upTo }: CompactValues): CheckedCompaction {
  if (keep !== undefined && upTo !== undefined) {
    throw new HoldfastError("InvalidArgument", "a compaction has either `keep` or `upTo`, not both", {
      details: { what: "compaction" },
      hint: "Prefer `upTo`: the last message that the author of the summary had read.",
    });
  }
  return { keep: keep ?? 0, upTo: upTo ?? null };
}

async function boundaryOf(storage: Storage, session: SessionRow, { keep, upTo }: CheckedCompaction): Promise<Boundary> {
  const id = upTo ?? (await lastToCompact(storage, session, keep));
  for (const stretch of await lineageOf(storage, session)) {
    const { no, branch, horizon } = stretch;
    if (!holds(stretch, id)) continue;
    const [row] = await storage.query("messages.at", {
      session: no,
      branch,
      after: id.seq - 1,
      upTo: id.seq,
      erasedAfter: horizon,
      limit: 1,
    });
    if (row !== undefined && isShown(stretch, row)) return { no, branch, id };
  }
  const name = rowId(id.session, id.seq);
  throw new HoldfastError("NotFound", `the session ${JSON.stringify(session.id)} does not show a message ${name}`, {
    details: { kind: "message", session: session.id, id: name },
    hint: "Pass the id of a message on the session's current line that was not erased.",
  });
}

async function lastToCompact(storage: Storage, session: SessionRow, keep: number): Promise<MessageId> {
  const lineage = await lineageOf(storage, session);
  const compaction = await compactionNow(storage, lineage);
  // The existing summary comes before the kept messages, wherever it is in the log: a concurrent compaction may just
  // have written it.
  const summaries = summariesOf(compaction);
  const shown = (await lastMessageRows(storage, session, keep + 1 + summaries.length)).filter(
    (row) => !summaries.includes(rowId(row.session, row.seq)),
  );
  const rows = shown.slice(-(keep + 1));
  const row = rows[0];
  if (row !== undefined && rows.length === keep + 1) return { session: row.session, seq: row.seq };
  throw new HoldfastError(
    "InvalidArgument",
    `the session ${JSON.stringify(session.id)} has no more than ${keep} messages`,
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

/**
 * Everything that the summary covers: the messages up to the boundary, and earlier summaries of no more than these
 * messages, some of which come later in the log.
 */
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

/** The boundary, or the last of the summaries directly after it that cover no more than it does. */
async function coveredUpTo(
  storage: Storage,
  lineage: readonly LineageStretch[],
  session: SessionRow,
  { no, branch, id }: Boundary,
): Promise<MessageId> {
  const found = lineage.findIndex((one) => one.no === no && one.branch === branch && holds(one, id));
  if (found === -1) throw summaryOvertaken(session, id);
  let last = id;
  for (const [i, stretch] of lineage
    .slice(0, found + 1)
    .toReversed()
    .entries()) {
    for await (const row of nextRows(storage, stretch, i === 0 ? id.seq : 0)) {
      const upTo = await summedUpTo(storage, stretch, row);
      if (upTo === null || isBehind(lineage, upTo, last)) return last;
      last = { session: row.session, seq: row.seq };
    }
  }
  return last;
}

/** Enough for all concurrent compactions; if there are more, the rest stays in the context. */
const AT_ONCE = 64;
const PAGE = 256;

/** The next messages that the stretch shows, skipping any number of hidden ones. */
async function* nextRows(storage: Storage, stretch: LineageStretch, after: number): AsyncGenerator<MessageAtRow> {
  const { no, branch, upTo, horizon } = stretch;
  for (let last = after; ; ) {
    const rows = await storage.query("messages.at", {
      session: no,
      branch,
      after: last,
      upTo,
      erasedAfter: horizon,
      limit: PAGE,
    });
    for (const row of rows) if (isShown(stretch, row)) yield row;
    if (rows.length < PAGE) return;
    last = rows.at(-1)?.seq ?? upTo;
  }
}

/** If the message is a summary, the last message that it covers. The head of a summary comes directly after it. */
async function summedUpTo(
  storage: Storage,
  { no, branch }: LineageStretch,
  row: MessageAtRow,
): Promise<MessageId | null> {
  const [head] = await storage.query("head.before", { session: no, branch, upTo: row.seq + 1 });
  if (head === undefined || head.seq !== row.seq + 1) return null;
  const { compaction } = rootOf(head);
  if (compaction?.summary !== rowId(row.session, row.seq)) return null;
  return parseRowId(compaction.upTo, "compaction.upTo");
}

/** Whether the first message comes after the second on the line, or is not on the line. */
function isBehind(lineage: readonly LineageStretch[], one: MessageId, other: MessageId): boolean {
  // The oldest stretch of its session that reaches its seq contains it.
  const [at, than] = [one, other].map((id) => lineage.findLastIndex((stretch) => holds(stretch, id))) as [
    number,
    number,
  ];
  return at === -1 || at < than || (at === than && one.seq > other.seq);
}

function lineageOf(storage: Storage, { no, branch, seq }: SessionRow): Promise<readonly LineageStretch[]> {
  return lineageAt(storage, { no, branch, seq });
}

function holds({ session, upTo }: LineageStretch, id: MessageId): boolean {
  return session === id.session && id.seq <= upTo;
}

function isShown(stretch: LineageStretch, row: MessageAtRow): boolean {
  return row.erased_seq === null && !isHidden(stretch, row);
}

function summaryOvertaken(session: SessionRow, { session: of, seq }: MessageId): HoldfastError {
  const [name, id] = [JSON.stringify(session.id), rowId(of, seq)];
  return new HoldfastError(
    "Conflict",
    `the session ${name} was moved back to before ${id} while a summary up to this message was made`,
    {
      details: { session: session.id, upTo: id },
      hint: "Read the session again, and summarise the messages that it shows now.",
    },
  );
}
