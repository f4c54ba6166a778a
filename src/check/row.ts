// A session's own row, and its rows that no seq links to an event: tags, aliases, boards. They are read at one position
// of the log and compared with what the log describes there.
import type { CheckedCaptureRow } from "../contracts/storage/capture-queries.ts";
import type {
  CheckedAliasRow,
  CheckedBoardRow,
  CheckedSessionRow,
  CheckedTaskRow,
  RunRows,
} from "../contracts/storage/check-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { jsonTexts } from "../core/decode.ts";
import { compareCaptures } from "./captures.ts";
import type { ExpectedSession } from "./ledger.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import { compareRuns } from "./runs.ts";
import type { Subject } from "./subject.ts";

export interface SessionRows {
  readonly boards: readonly CheckedBoardRow[];
  readonly tasks: readonly CheckedTaskRow[];
  readonly aliases: readonly CheckedAliasRow[];
  readonly tags: readonly string[];
  readonly runs: RunRows;
  readonly captures: readonly CheckedCaptureRow[];
}

/** A writer may change the session all the time; after so many attempts, these rows are not compared. */
const ATTEMPTS = 10;

/**
 * Reads the session's row and its other rows at one position of the log; sessionRows is null if the log kept growing.
 */
export async function readSessionRows(
  storage: Storage,
  found: CheckedSessionRow,
): Promise<{ readonly session: CheckedSessionRow; readonly sessionRows: SessionRows | null }> {
  let session = found;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const sessionRows = await readRows(storage, session.no);
    const [now] = await storage.query("check.session", { id: session.id });
    if (now === undefined || now.deleted_at !== session.deleted_at) break;
    if (now.seq === session.seq) return { session, sessionRows };
    session = now;
  }
  return { session, sessionRows: null };
}

async function readRows(storage: Storage, no: number): Promise<SessionRows> {
  const all = async <R>(read: (last: R | undefined) => Promise<readonly R[]>): Promise<readonly R[]> => {
    const rows: R[] = [];
    for await (const row of rowsOf(read)) rows.push(row);
    return rows;
  };
  const tags = await all<{ readonly tag: string }>((last) =>
    storage.query("check.tagsOf", { session: no, after: last?.tag ?? "", limit: PAGE }),
  );
  return {
    boards: await all<CheckedBoardRow>((last) =>
      storage.query("check.boards", { session: no, after: last?.id ?? "", limit: PAGE }),
    ),
    tasks: await all<CheckedTaskRow>((last) =>
      storage.query("check.boardTasks", {
        session: no,
        afterBoard: last?.board_id ?? "",
        afterTask: last?.id ?? "",
        limit: PAGE,
      }),
    ),
    aliases: await all<CheckedAliasRow>((last) =>
      storage.query("check.namesOf", { session: no, after: last?.name ?? "", limit: PAGE }),
    ),
    tags: tags.map(({ tag }) => tag),
    captures: await all<CheckedCaptureRow>((last) =>
      storage.query("check.captures", { session: no, after: last?.id ?? "", limit: PAGE }),
    ),
    runs: {
      runs: await all((last) => storage.query("check.runs", { session: no, after: last?.id ?? "", limit: PAGE })),
      signals: await all((last) =>
        storage.query("check.signals", { session: no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
      ),
      decisions: await all((last) =>
        storage.query("check.decisions", { session: no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
      ),
      checkpoints: await all((last) =>
        storage.query("check.checkpoints", { session: no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
      ),
    },
  };
}

export function checkRow({ reporter, session }: Subject, expected: ExpectedSession): void {
  const rows = [session.id];
  if (expected.messages !== session.messages) {
    reporter.report("message-count-wrong", rows, { counted: expected.messages, stored: session.messages });
  }
  if (expected.stateSeq !== session.state_seq) {
    reporter.report("state-seq-wrong", rows, { expected: expected.stateSeq, stored: session.state_seq });
  }
  if (expected.branch !== session.branch) {
    reporter.report("branch-wrong", rows, { branch: session.branch, expected: expected.branch });
  }
  const isOwn = session.head_no === null || session.head_session === session.no;
  if (isOwn && expected.head !== session.head) {
    reporter.report("current-head-wrong", rows, { head: session.head, expected: expected.head });
  }
  const { status = "open", tags = [], kind = "entry", origin = null, cacheId = null, request } = expected.described;
  const logged: Readonly<Record<string, unknown>> = {
    status,
    tags: JSON.stringify(tags),
    kind,
    origin,
    cache_id: cacheId,
    ...expected.columns,
    ...(request === undefined ? {} : { request }),
  };
  const found: Readonly<Record<string, unknown>> = { ...session, tags: JSON.stringify(tagsOf(session)) };
  for (const column of Object.keys(logged)) {
    if (found[column] !== logged[column]) reporter.report("row-mismatch", rows, { table: "sessions", column });
  }
}

function tagsOf({ tags }: CheckedSessionRow): readonly string[] | undefined {
  return tags === null ? [] : jsonTexts.read(tags);
}

/**
 * Every alias of the session must have been set in its log. A missing alias is no issue, because another session may
 * have taken it over since.
 */
export async function checkSessionRows(
  subject: Subject,
  expected: ExpectedSession,
  sessionRows: SessionRows,
): Promise<void> {
  const { reporter, session } = subject;
  const tags = [...new Set(tagsOf(session))].sort();
  if (JSON.stringify(tags) !== JSON.stringify([...sessionRows.tags].sort())) {
    reporter.report("row-mismatch", [session.id], { table: "session_tags", column: "tag" });
  }
  for (const { name, created_at } of sessionRows.aliases) {
    const given = expected.aliases.get(name) ?? null;
    if (given === null) reporter.report("row-without-event", [name], { table: "aliases", session: session.id });
    else if (given !== created_at) reporter.report("row-mismatch", [name], { table: "aliases", column: "created_at" });
  }
  expected.boards.compare(reporter, sessionRows.boards, sessionRows.tasks);
  compareRuns(reporter, session.id, expected.runs, sessionRows.runs);
  await compareCaptures(subject, expected.captures.expected, sessionRows.captures);
}
