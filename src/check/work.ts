// Checks the rows of a session's turns, evals, calls, snapshots, notes and clears. Each is checked by itself, then
// against the event that wrote it.
import type { CheckKind } from "../contracts/check.ts";
import type { CheckedCallRow, CheckedClearRow, CheckedEvalRow } from "../contracts/storage/check-queries.ts";
import { rowId } from "../core/row-id.ts";
import {
  type ColumnPair,
  checkBlob,
  checkCommitments,
  compare,
  isErased,
  keptPairs,
  type Payload,
  SALT,
  saltAt,
} from "./compare.ts";
import { BEFORE_ALL, PAGE, rowsOf, type VersionParams, versionsOf } from "./pages.ts";
import type { Subject } from "./subject.ts";

interface Version {
  readonly first_seq: number;
  readonly seq: number;
  readonly status: string;
}

/**
 * A record has a first version and at most one later version, which ends it. `begun`: the status of the first version.
 */
export function checkVersion(
  { reporter, session }: Subject,
  row: Version,
  before: Version | null,
  {
    kind = "version-wrong",
    table,
    begun,
  }: { readonly kind?: CheckKind; readonly table: string; readonly begun: string },
): void {
  const isFirst = before?.first_seq !== row.first_seq;
  const isValid = isFirst ? row.seq === row.first_seq : before?.status === begun && row.status !== begun;
  if (isValid) return;
  reporter.report(kind, [rowId(session.id, row.first_seq)], { table, seq: row.seq, status: row.status });
}

export function checkTurnOf(
  { reporter }: Subject,
  table: string,
  id: string,
  row: { readonly turn_seq: number | null; readonly turn_there: number },
): void {
  if (row.turn_seq === null || row.turn_there === 1) return;
  reporter.report("turn-missing", [id], { table, turn: row.turn_seq });
}

export async function checkTurns(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  const read = (params: VersionParams) => survey.storage.query("check.turns", params);
  for await (const { row, before } of versionsOf(session.no, read)) {
    if (row.seq === row.first_seq) survey.count("turns");
    // A caller that aborts a turn and continues from a head inside it writes the end of the turn once more, on the
    // branch that continues.
    const isAgain =
      row.event_type === "branch/begun" && before?.first_seq === row.first_seq && before.status === "aborted";
    checkVersion(subject, row, isAgain ? { ...row, status: "open" } : before, {
      kind: "turn-open-twice",
      table: "turns",
      begun: "open",
    });
    const kept = keptPairs(row, before, ["run"], { agent_no: "agent" });
    const isFirst = row.seq === row.first_seq;
    // The event of a head ends a turn with the head's status.
    const byHead = row.head_status === "complete" ? "done" : row.head_status;
    const ended = row.event_type === "branch/begun" ? "aborted" : byHead;
    const types = isFirst ? ["turn/begun"] : ["head/created", "branch/begun"];
    compare(subject, row, {
      table: "turns",
      seq: row.seq,
      branch: row.branch,
      types,
      pairs: ({ body, data }) => [
        ["first_seq", row.first_seq, data.turn ?? row.seq],
        ["status", row.status, isFirst ? "open" : (ended ?? row.status)],
        ["at", row.at, body.at],
        ["branch", row.branch, row.event_branch],
        ...kept,
        ...(isFirst
          ? ([
              ["agent_no", row.agent, body.agent],
              ["run", row.run, body.run],
            ] as const)
          : []),
      ],
    });
  }
}

/** A table of which each row has several payloads. */
interface PayloadTable<N extends string> {
  readonly table: "evals" | "calls";
  readonly names: readonly N[];
  /** Types of the events that write its rows. */
  readonly types: readonly string[];
}

const EVALS: PayloadTable<"code" | "result" | "final" | "error"> = {
  table: "evals",
  names: ["code", "result", "final", "error"],
  types: ["eval/started", "eval/added"],
};
const CALLS: PayloadTable<"request" | "response" | "result" | "error"> = {
  table: "calls",
  names: ["request", "response", "result", "error"],
  types: ["call/started", "call/put"],
};

function payloadsOf<N extends string>(
  names: readonly N[],
  row: Readonly<Record<`${N}_no`, number | null>> & Readonly<Record<N, Uint8Array | null>>,
  salts: Uint8Array | null,
): readonly Payload[] {
  const cells = row as Readonly<Record<string, unknown>>;
  return names.map((name, i) => ({
    name,
    no: cells[`${name}_no`] as number | null,
    sha256: cells[name] as Uint8Array | null,
    salt: saltAt(salts, i),
  }));
}

export async function checkEvals(subject: Subject): Promise<void> {
  const { survey, session, reporter } = subject;
  const read = (params: VersionParams) => survey.storage.query("check.evals", params);
  for await (const { row, before } of versionsOf(session.no, read)) {
    const id = rowId(session.id, row.first_seq);
    const isFirst = row.seq === row.first_seq;
    if (isFirst) survey.count("evals");
    checkVersion(subject, row, before, { table: "evals", begun: "running" });
    checkTurnOf(subject, "evals", id, row);
    // The message may be on a branch that was erased with the session.
    if (row.message_seq !== null && row.message_there === 0 && session.deleted_at === null) {
      reporter.report("message-missing", [id], { table: "evals", message: row.message_seq });
    }
    const kept = keptPairs(row, before, ["turn_seq", "message_seq"]);
    await checkPayloads(subject, EVALS, row, before, (data, at) => [
      ["first_seq", row.first_seq, data.eval ?? row.seq],
      ["status", row.status, data.status],
      ["at", row.at, at],
      ...kept,
      ...(isFirst ? turnPair(row, data) : []),
      ...(isFirst ? ([["message_seq", row.message_seq, data.message]] as const) : []),
    ]);
  }
}

export async function checkCalls(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  const read = (params: VersionParams) => survey.storage.query("check.calls", params);
  for await (const { row, before } of versionsOf(session.no, read)) {
    const id = rowId(session.id, row.first_seq);
    const isFirst = row.seq === row.first_seq;
    if (isFirst) survey.count("calls");
    checkVersion(subject, row, before, { table: "calls", begun: "started" });
    checkTurnOf(subject, "calls", id, row);
    const kept = keptPairs(row, before, ["turn_seq", "type", "model", "provider", "created_at"]);
    const numbers = ["tokens_in", "tokens_out", "tokens_cached", "cost_usd"] as const;
    await checkPayloads(subject, CALLS, row, before, (data, at) => [
      ["first_seq", row.first_seq, data.call ?? row.seq],
      ["type", row.type, data.type],
      ["status", row.status, data.status],
      ...numbers.map((name): ColumnPair => [name, row[name], data[name]]),
      ["completed_at", row.completed_at, row.status === "started" ? null : at],
      ...kept,
      ...(isFirst ? turnPair(row, data) : []),
      ...(isFirst
        ? ([
            ["model", row.model, data.model],
            ["provider", row.provider, data.provider],
            ["created_at", row.created_at, at],
          ] as const)
        : []),
    ]);
  }
}

interface BranchedVersion extends Version {
  readonly branch: number;
  readonly event_branch: number | null;
}

/** A later version may belong to the branch of its first version, also when the session has changed branches since. */
export function branchPair(
  { ledger }: Subject,
  row: BranchedVersion,
  before: BranchedVersion | null,
): readonly ColumnPair[] {
  const { event_branch: now } = row;
  const begun = before?.first_seq === row.first_seq ? before : null;
  const line = begun === null || now === null || ledger === null ? now : ledger.lineOf(now, begun);
  return [["branch", row.branch, line]];
}

/** Only rows of a deleted session may be erased. */
function erasedPair(
  { session }: Subject,
  { erased_seq }: { readonly erased_seq: number | null },
): readonly ColumnPair[] {
  const everywhere = session.deleted_at !== null && erased_seq === Number.MAX_SAFE_INTEGER;
  return [["erased_seq", everywhere ? null : erased_seq, null]];
}

function turnPair(
  row: { readonly turn_seq: number | null },
  data: Readonly<Record<string, unknown>>,
): readonly ColumnPair[] {
  return [["turn_seq", row.turn_seq, data.turn]];
}

/** Compares a row with several payloads with its event. */
async function checkPayloads<N extends string, R extends CheckedEvalRow | CheckedCallRow>(
  subject: Subject,
  { table, names, types }: PayloadTable<N>,
  row: R & Readonly<Record<`${N}_no`, number | null>> & Readonly<Record<N, Uint8Array | null>>,
  before: (R & Readonly<Record<`${N}_no`, number | null>> & Readonly<Record<N, Uint8Array | null>>) | null,
  pairs: (data: Readonly<Record<string, unknown>>, at: unknown) => readonly ColumnPair[],
): Promise<void> {
  const id = rowId(subject.session.id, row.first_seq);
  const payloads = payloadsOf(names, row, row.salts);
  for (const payload of payloads) await checkBlob(subject, table, id, payload);
  const logged = compare(subject, row, {
    table,
    seq: row.seq,
    branch: row.branch,
    id,
    types,
    pairs: ({ data, body }) => [
      ...branchPair(subject, row, before),
      ...erasedPair(subject, row),
      ["salts", row.salts === null || row.salts.byteLength === names.length * SALT, true],
      ...pairs(data, body.at),
    ],
  });
  const previous = before?.first_seq === row.first_seq ? before : null;
  if (logged === null || row.erased_seq !== null || (previous !== null && previous.erased_seq !== null)) return;
  const kept = previous === null ? null : payloadsOf(names, previous, previous.salts);
  checkCommitments(subject, { table, id }, logged, payloads, kept);
}

export async function checkSnapshots(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  for await (const row of rowsOf<Awaited<ReturnType<typeof read>>[number]>((last) => read(last?.seq ?? BEFORE_ALL))) {
    const id = rowId(session.id, row.seq);
    survey.count("snapshots");
    checkTurnOf(subject, "snapshots", id, row);
    const payload = { name: "vars", no: row.vars_no, sha256: row.vars, salt: row.salt };
    await checkBlob(subject, "snapshots", id, payload);
    const logged = compare(subject, row, {
      table: "snapshots",
      seq: row.seq,
      branch: row.branch,
      types: ["snapshot/added"],
      pairs: ({ body, data }) => [
        ["branch", row.branch, row.event_branch],
        ...turnPair(row, data),
        ...erasedPair(subject, row),
        ["at", row.at, body.at],
      ],
    });
    if (logged !== null && row.erased_seq === null)
      checkCommitments(subject, { table: "snapshots", id }, logged, [payload]);
  }
  function read(after: number) {
    return survey.storage.query("check.snapshots", { session: session.no, after, limit: PAGE });
  }
}

export async function checkNotes(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  for await (const row of rowsOf<Awaited<ReturnType<typeof read>>[number]>((last) => read(last?.seq ?? BEFORE_ALL))) {
    const id = rowId(session.id, row.seq);
    survey.count("annotations");
    const payload = { name: "note", no: row.note_no, sha256: row.note, salt: row.salt };
    await checkBlob(subject, "annotations", id, payload);
    const logged = compare(subject, row, {
      table: "annotations",
      seq: row.seq,
      types: ["annotation"],
      pairs: () => [],
    });
    if (logged !== null && !isErased(subject, payload))
      checkCommitments(subject, { table: "annotations", id }, logged, [payload]);
  }
  function read(after: number) {
    return survey.storage.query("check.annotations", { session: session.no, after, limit: PAGE });
  }
}

/** Messages that a session inherited and hides. */
export async function checkClears(subject: Subject): Promise<void> {
  const { survey, session } = subject;
  for await (const row of rowsOf<CheckedClearRow>((last) =>
    survey.storage.query("check.clears", { session: session.no, after: last?.seq ?? BEFORE_ALL, limit: PAGE }),
  )) {
    compare(subject, row, {
      table: "clears",
      seq: row.seq,
      branch: row.branch,
      types: ["messages/cleared"],
      pairs: ({ body }) => [
        ["branch", row.branch, row.event_branch],
        ["agent_no", row.agent, body.agent],
        ["run", row.run, body.run],
      ],
    });
  }
}
