// Invocations: work that one session does for another. The begin is committed before the work, and the end after it. In
// between the row has the status "running", also if the process of the work is gone.
import type { Child, Envelope, Invocation, InvocationMeta, Invocations } from "../contracts/invocations.ts";
import type { Json } from "../contracts/json.ts";
import type { EventDraft, Guard, SessionUse } from "../contracts/storage/commit.ts";
import type { HeadRow, InvocationRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads, Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { INVOCATION_VERBS } from "../contracts/verbs/lineage.ts";
import type { RowId, ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { encodeJson } from "../core/check.ts";
import { NONE } from "../core/counts.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, jsonObject, withBlob } from "../core/decode.ts";
import { lineOf } from "../core/lineage.ts";
import { parseRowId, rowId } from "../core/row-id.ts";
import { branchGuard, headGuard } from "../core/session-guards.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { existingSession, findHead, findSession } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { readAttachment, readSpawn, startAttach, startSpawn } from "./attach.ts";
import { errorJson, failedOutcome, runInOrder, unwrapOutcome, type WorkOutcome } from "./batch.ts";
import { countLineage } from "./counts.ts";
import { facts, requireUnfinished } from "./versioned-rows.ts";
import { invocationOf } from "./view.ts";

export function createInvocations(storage: Storage, payloads: Payloads, lookup: SessionLookup): Invocations {
  const run = <T>(start: () => Promise<Invocation>, work: (child: Child) => T | Promise<T>) =>
    runInvocation(storage, payloads, start, work);
  return bindVerbs(INVOCATION_VERBS, lookup, {
    async spawn(caller, input, work) {
      const spawn = readSpawn(input);
      return unwrapOutcome(await run(() => startSpawn(storage, caller, spawn), work));
    },
    async attach(caller, at, input, work) {
      const attachment = readAttachment(input);
      return unwrapOutcome(await run(() => startAttach(storage, at, caller, attachment), work));
    },
    async spawnAll(caller, inputs, work, { concurrency }) {
      // All inputs are checked before any work begins.
      const spawns = inputs.map(readSpawn);
      await findSession(storage, caller);
      return runInOrder(spawns, concurrency, (spawn, index) =>
        run(
          () => startSpawn(storage, caller, spawn),
          (child) => work(child, index),
        ),
      );
    },
    async attachAll(caller, inputs, work, { concurrency }) {
      const asked = inputs.map(({ at, ...input }) => ({ at, attachment: readAttachment(input) }));
      const attachments = await Promise.all(
        asked.map(async (one) => ({ ...one, locator: await lookup.locate(one.at) })),
      );
      await findSession(storage, caller);
      return runInOrder(attachments, concurrency, ({ locator, attachment }, index) =>
        run(
          () => startAttach(storage, locator, caller, attachment),
          (child) => work(child, index),
        ),
      );
    },
    start: async (caller, input) => startSpawn(storage, caller, readSpawn(input)),
    finish: (id, outcome) => payloads.preparing((prepare) => finishInvocation(storage, prepare, id, outcome)),
    async get({ session, seq }) {
      const [row] = await storage.query("invocation.get", { session, first: seq });
      return row === undefined ? null : invocationOf(row);
    },
    error: (id) => readError(storage, payloads, id),
  });
}

async function runInvocation<T>(
  storage: Storage,
  payloads: Payloads,
  start: () => Promise<Invocation>,
  work: (child: Child) => T | Promise<T>,
): Promise<WorkOutcome<T, InvocationMeta>> {
  let invocation: Invocation;
  try {
    invocation = await start();
  } catch (error) {
    return failedOutcome(error, { session: null, head: null });
  }
  const { id, callee } = invocation;
  const session = callee ?? "";
  let done: { readonly value: T } | { readonly error: unknown };
  try {
    done = { value: await work({ session, invocation }) };
  } catch (error) {
    done = { error };
  }
  try {
    const outcome = "error" in done ? { error: errorJson(done.error) } : {};
    const ended = await payloads.preparing((prepare) =>
      finishInvocation(storage, prepare, parseRowId(id, "invocation"), outcome),
    );
    const meta = await metaOf(storage, ended);
    const at = { session, head: ended.calleeHeadAfter, meta };
    if ("error" in done) return failedOutcome(done.error, at);
    const envelope: Envelope<T> = { value: done.value, status: "done", ...at };
    return { envelope, thrown: null };
  } catch (error) {
    // The invocation stays "running". The error of the work matters more than the failure to record it.
    return failedOutcome("error" in done ? done.error : error, { session, head: null });
  }
}

async function metaOf(storage: Storage, { id, type, mode, label, callee }: Invocation): Promise<InvocationMeta> {
  const [session] = callee === null ? [] : await storage.query("session.get", { id: callee });
  const counts =
    session === undefined || session.deleted_at !== null ? NONE : (await countLineage(storage, session)).counts;
  return { invocation: id, type, mode, label, counts };
}

export async function finishInvocation(
  storage: Storage,
  prepare: Prepare,
  { session: name, seq: first }: RowId,
  { error, status = error === undefined ? "done" : "failed" }: ValuesOf<typeof INVOCATION_VERBS.finish>[1],
): Promise<Invocation> {
  const note = error === undefined ? null : { invocation: rowId(name, first), error };
  const failure =
    note === null
      ? null
      : await prepare(encodeJson(note, "error", "metadataBytes"), { media: "application/json", utf8: true });
  return decide(storage, async () => {
    const caller = await existingSession(storage, name);
    const [newest] = await storage.query("invocation.get", { session: name, first });
    const row = requireUnfinished(newest, "invocation", rowId(name, first), "running");
    const [named] = row.callee === null ? [] : await storage.query("session.get", { id: row.callee });
    const callee = named === undefined || named.deleted_at !== null ? null : named;
    const heads = { caller: await headNow(storage, caller), callee: await headNow(storage, callee) };
    const at = storage.environment.now();
    const branch = await lineOf(storage, caller, row);
    const next: InvocationRow = {
      ...row,
      status,
      branch,
      completed_at: at,
      caller_after: heads.caller?.id ?? null,
      callee_after: heads.callee?.id ?? null,
    };
    const used = callee === null || callee.id === caller.id ? [] : [callee];
    const away = named === undefined || callee !== null ? [] : [named.id];
    return {
      commit: {
        sessions: [
          ...[caller, ...used].map((one): SessionUse => ({ id: one.id, mode: "existing", at })),
          // A concurrent import may bring the session and link the rows here; then its heads are read again.
          ...away.map((callee): SessionUse => ({ id: callee, mode: "lock", at })),
        ],
        guards: [
          { check: "invocation.version", key: [first, name], expect: row.seq },
          branchGuard(caller),
          headGuard(caller),
          ...used.map(headGuard),
          ...away.map((callee): Guard => ({ check: "session.version", key: [callee], expect: null })),
        ],
        ...(failure === null ? {} : { blobs: failure.blobs, writes: failure.writes, uses: failure.uses }),
        events: [endEvent(next, heads), ...(failure === null ? [] : [failureEvent(next, failure, at)])],
      },
      answer: ({ events }) => invocationOf({ ...next, seq: events[0]?.seq ?? 0 }),
    };
  });
}

function endEvent(
  row: InvocationRow,
  heads: { readonly caller: HeadRow | null; readonly callee: HeadRow | null },
): EventDraft {
  const { session, first_seq, branch, status, completed_at } = row;
  const at = completed_at ?? 0;
  return {
    session,
    type: "invocation/finished",
    at,
    data: facts({ invocation: first_seq, status, calleeHead: heads.callee?.id ?? null }),
    writes: [
      {
        op: "insert",
        table: "invocations",
        row: {
          first_seq,
          branch,
          type: row.type,
          status,
          label: row.label,
          call_seq: row.call_seq,
          callee_session_no: row.callee_session_no,
          source_session_no: row.source_session_no,
          caller_head_before: row.caller_head_before,
          caller_head_after: heads.caller?.no ?? null,
          callee_head_before: row.callee_head_before,
          callee_head_after: heads.callee?.no ?? null,
          source_head: row.source_head_no,
          source_snapshot_seq: row.source_snapshot_seq,
          source_fingerprint: row.source_fingerprint,
          created_at: row.created_at,
          completed_at: at,
        },
      },
    ],
  };
}

function failureEvent({ session, first_seq }: InvocationRow, payload: PreparedPayload, at: number): EventDraft {
  return {
    session,
    type: "annotation",
    at,
    data: { invocation: first_seq },
    payloads: { note: payload },
    writes: [{ op: "insert", table: "annotations", row: { payload: payload.sha256, salt: payload.salt } }],
  };
}

async function headNow(storage: Storage, session: SessionRow | null): Promise<HeadRow | null> {
  return session === null || session.head === null ? null : findHead(storage, session.head);
}

/** Reads the annotation that follows the end of the invocation, in the same commit. */
async function readError(storage: Storage, payloads: Payloads, { session, seq: first }: RowId): Promise<Json | null> {
  const [row] = await storage.query("invocation.get", { session, first });
  if (row === undefined || row.status === "running") return null;
  const [found] = await storage.query("annotation.get", { session, seq: row.seq + 1 });
  if (found === undefined) return null;
  const name = { kind: "annotation", session, seq: row.seq + 1 };
  const bytes = await payloads.read(withBlob(name, "note", found));
  const { note } = decodeRow(name, { note: bytes }, { note: jsonObject });
  return note.invocation === rowId(session, first) ? (note.error ?? null) : null;
}
