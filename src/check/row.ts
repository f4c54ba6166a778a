// A session's own row, and what stands beside it without an event's seq: tags, names, boards. They are read at one moment
// of the log and compared with what the log says there.

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

/** A writer may change it all the time; then the rest is checked all the same. */
const ATTEMPTS = 10;

/** The session's row, and what stood beside it while its log was no longer than the row says. */
export async function readSessionRows(
  storage: Storage,
  found: CheckedSessionRow,
): Promise<{ readonly session: CheckedSessionRow; readonly beside: SessionRows | null }> {
  let session = found;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const beside = await readRows(storage, session.no);
    const [now] = await storage.query("check.session", { id: session.id });
    if (now === undefined || now.deleted_at !== session.deleted_at) break;
    if (now.seq === session.seq) return { session, beside };
    session = now;
  }
  return { session, beside: null };
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

export function checkRow({ look, session }: Subject, expected: ExpectedSession): void {
  const rows = [session.id];
  if (expected.messages !== session.messages) {
    look.report("message-count-wrong", rows, { counted: expected.messages, stored: session.messages });
  }
  if (expected.stateSeq !== session.state_seq) {
    look.report("state-seq-wrong", rows, { expected: expected.stateSeq, stored: session.state_seq });
  }
  if (expected.branch !== session.branch) {
    look.report("branch-wrong", rows, { branch: session.branch, expected: expected.branch });
  }
  const isOwn = session.head_no === null || session.head_session === session.no;
  if (isOwn && expected.head !== session.head) {
    look.report("current-head-wrong", rows, { head: session.head, expected: expected.head });
  }
  const { status = "open", tags = [], kind = "entry", origin = null, cacheId = null, request } = expected.described;
  const said: Readonly<Record<string, unknown>> = {
    status,
    tags: JSON.stringify(tags),
    kind,
    origin,
    cache_id: cacheId,
    ...expected.columns,
    ...(request === undefined ? {} : { request }),
  };
  const found: Readonly<Record<string, unknown>> = { ...session, tags: JSON.stringify(tagsOf(session)) };
  for (const column of Object.keys(said)) {
    if (found[column] !== said[column]) look.report("row-mismatch", rows, { table: "sessions", column });
  }
}

function tagsOf({ tags }: CheckedSessionRow): readonly string[] | undefined {
  return tags === null ? [] : jsonTexts.read(tags);
}

/**
 * Names that the session has are names it was given; that one is missing says nothing, because another session may have
 * taken it over.
 */
export async function checkSessionRows(
  subject: Subject,
  expected: ExpectedSession,
  beside: SessionRows,
): Promise<void> {
  const { look, session } = subject;
  const tags = [...new Set(tagsOf(session))].sort();
  if (JSON.stringify(tags) !== JSON.stringify([...beside.tags].sort())) {
    look.report("row-mismatch", [session.id], { table: "session_tags", column: "tag" });
  }
  for (const { name, created_at } of beside.aliases) {
    const given = expected.aliases.get(name) ?? null;
    if (given === null) look.report("row-without-event", [name], { table: "aliases", session: session.id });
    else if (given !== created_at) look.report("row-mismatch", [name], { table: "aliases", column: "created_at" });
  }
  expected.boards.compare(look, beside.boards, beside.tasks);
  compareRuns(look, session.id, expected.runs, beside.runs);
  await compareCaptures(subject, expected.captures.expected, beside.captures);
}
