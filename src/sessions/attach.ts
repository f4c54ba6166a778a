// The beginning of an invocation: one commit that creates, continues or branches the child session, and writes the
// invocation into the caller's log.
import { HoldfastError } from "../contracts/errors.ts";
import type { Invocation } from "../contracts/invocations.ts";
import type { JsonObject } from "../contracts/json.ts";
import type { Locator } from "../contracts/locators.ts";
import type { Commit, EventDraft } from "../contracts/storage/commit.ts";
import type { HeadRow } from "../contracts/storage/lineage-queries.ts";
import type { SessionRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Slot } from "../contracts/storage/tables.ts";
import { ATTACH_FIELDS, INVOCATION_FIELDS } from "../contracts/verbs/sessions.ts";
import { record, type ValueOf } from "../contracts/verbs/vocabulary.ts";
import { checkArgument } from "../core/arguments.ts";
import { encodeText } from "../core/bytes.ts";
import { invalid } from "../core/check.ts";
import { type Decision, decide } from "../core/decide.ts";
import { newId } from "../core/new-id.ts";
import { branchGuard, headGuard, STORE_LOCK } from "../core/session-guards.ts";
import { findAt, findHead, findSession, type LocatedSession } from "../core/session-lookup.ts";
import { derivation, positionOf } from "./branching.ts";
import { createCommit, describeSession, type NewSession, type SessionColumns, type SessionOrigin } from "./describe.ts";
import { facts, noRow } from "./versioned-rows.ts";
import { invocationOf } from "./view.ts";

const SPAWN = record("spawn", INVOCATION_FIELDS);
const ATTACH = record("attach", ATTACH_FIELDS);
type SpawnValues = ValueOf<typeof SPAWN>;

/** The caller's description of an invocation, checked. */
interface CheckedInvocation {
  readonly label: Uint8Array | null;
  readonly call: { readonly session: string; readonly seq: number } | null;
}

function readInvocation({ label, call }: Pick<SpawnValues, "label" | "call">): CheckedInvocation {
  return { label: label === undefined ? null : encodeText(label), call: call ?? null };
}

/** A session that is to be created. */
interface Child {
  readonly id: string | undefined;
  readonly described: SessionColumns;
  readonly origin: string | null;
  readonly cacheId: string | null;
}

function readChild(input: NewSession = {}): Child {
  const { id, origin = null, cacheId = null } = input;
  return { id, described: describeSession(input), origin, cacheId };
}

export interface Spawn extends CheckedInvocation {
  readonly child: Child;
}

export function readSpawn(given: SpawnValues): Spawn {
  return { ...readInvocation(given), child: readChild(given.session) };
}

export function checkSpawn(input: unknown): Spawn {
  return readSpawn(checkArgument(SPAWN, input, "spawn"));
}

export interface Attachment extends CheckedInvocation {
  readonly mode: NonNullable<Invocation["mode"]>;
  readonly child: Child;
}

export function readAttachment(given: ValueOf<typeof ATTACH>): Attachment {
  const { mode, session } = given;
  if (mode === "continue" && session !== undefined) {
    throw invalid("attach", 'without `child` fields: mode "continue" creates no session', "session");
  }
  return { ...readInvocation(given), mode, child: readChild(session) };
}

export async function startSpawn(storage: Storage, name: string, spawn: Spawn): Promise<Invocation> {
  const id = spawn.child.id ?? newId(storage.environment, "ses");
  return decide(storage, () => decideSpawn(storage, name, spawn, id));
}

export async function decideSpawn(
  storage: Storage,
  name: string,
  spawn: Spawn,
  id: string,
): Promise<Decision<Invocation>> {
  const { child } = spawn;
  const caller = await findSession(storage, name);
  const at = storage.environment.now();
  const described = { ...child.described, request: child.described.request ?? caller.request };
  const birth: SessionOrigin = { kind: "spawned", origin: child.origin, cacheId: child.cacheId };
  return begin(storage, spawn, {
    type: "spawn",
    caller,
    at,
    callee: id,
    calleeNo: { session: id },
    calleeHead: null,
    source: null,
    commit: createCommit(id, described, birth, at),
    data: {},
  });
}

export async function startAttach(
  storage: Storage,
  locator: Locator,
  name: string,
  attachment: Attachment,
): Promise<Invocation> {
  const id = attachment.child.id ?? newId(storage.environment, "ses");
  return decide(storage, async () => {
    const caller = await findSession(storage, name);
    const found = await findAt(storage, locator);
    return attachment.mode === "continue"
      ? continued(storage, attachment, caller, found)
      : branched(storage, attachment, caller, found, id);
  });
}

async function continued(
  storage: Storage,
  attachment: Attachment,
  caller: SessionRow,
  { session, head: named }: LocatedSession,
): Promise<Decision<Invocation>> {
  if (named !== null && named.id !== session.head) throw notCurrent(session, named.id);
  const waiting = (await storage.query("invocations.waiting", { session: caller.id })).map(({ id }) => id);
  if (waiting.includes(session.id)) throw cycle(caller, session, waiting);
  const at = storage.environment.now();
  const head = session.head === null ? null : await findHead(storage, session.head);
  return begin(storage, attachment, {
    type: "attach",
    caller,
    at,
    callee: session.id,
    calleeNo: session.no,
    calleeHead: head,
    source: { session, head },
    data: { mode: "continue" },
    commit: {
      sessions: [{ id: session.id, mode: "existing", at }],
      // Two invocations that close a cycle together need not share a session. So invocations that continue a session
      // run one after another under the store's lock, and each checks for a cycle after it has the lock. A session that
      // is created with its invocation waits for no other, so spawning and branching need no lock.
      guards: [headGuard(session), STORE_LOCK, { check: "invocation.waits", key: [caller.id, session.id], expect: 0 }],
    },
  });
}

async function branched(
  storage: Storage,
  attachment: Attachment,
  caller: SessionRow,
  { session, head: named }: LocatedSession,
  id: string,
): Promise<Decision<Invocation>> {
  const { child } = attachment;
  const head = named ?? (session.head === null ? null : await findHead(storage, session.head));
  const { no, branch, seq } = session;
  const from = head === null ? { session: session.id, no, branch, seq } : positionOf(head);
  const at = storage.environment.now();
  const { agent, request } = child.described;
  const described = { ...child.described, agent: agent ?? session.agent, request: request ?? caller.request };
  const cacheId = child.cacheId ?? session.cache_id ?? session.id;
  const birth: SessionOrigin = { kind: "attached", origin: child.origin, cacheId };
  const derived = derivation("attach", id, from, head, at);
  const created = createCommit(id, described, birth, at, derived);
  return begin(storage, attachment, {
    type: "attach",
    caller,
    at,
    callee: id,
    calleeNo: { session: id },
    calleeHead: null,
    source: { session, head },
    data: { mode: "branch" },
    commit: {
      ...created,
      // The source must exist until the commit is done.
      guards: [{ check: "session.version", key: [session.id], expect: session.version }],
      events: [...(created.events ?? []), derived.event],
    },
  });
}

interface InvocationStart {
  readonly type: Invocation["type"];
  readonly caller: SessionRow;
  readonly at: number;
  readonly callee: string;
  readonly calleeNo: number | Slot;
  readonly calleeHead: HeadRow | null;
  readonly source: { readonly session: SessionRow; readonly head: HeadRow | null } | null;
  readonly data: JsonObject;
  /** Events before the invocation, in the same commit. */
  readonly commit: Commit;
}

async function begin(
  storage: Storage,
  asked: CheckedInvocation,
  beginning: InvocationStart,
): Promise<Decision<Invocation>> {
  const { type, caller, at, callee, calleeNo, calleeHead, source, commit } = beginning;
  const before = caller.head === null ? null : await findHead(storage, caller.head);
  const callSeq = await checkCall(storage, caller, asked.call);
  const shared = {
    type,
    status: "running",
    label: asked.label,
    call_seq: callSeq,
    created_at: at,
    completed_at: null,
    caller_head_before: before?.no ?? null,
    callee_head_before: calleeHead?.no ?? null,
    source_session_no: source?.session.no ?? null,
    source_snapshot_seq: source?.head?.snapshot_seq ?? null,
    source_fingerprint: source?.head?.fingerprint ?? null,
  };
  const sourceNo = source?.head?.no ?? null;
  const event: EventDraft = {
    session: caller.id,
    type: "invocation/started",
    at,
    data: {
      ...facts({ type, status: "running", callee, call: callSeq }),
      ...beginning.data,
      ...(source === null ? {} : { source: { session: source.session.id, head: source.head?.id ?? null } }),
    },
    writes: [
      {
        op: "insert",
        table: "invocations",
        row: { first_seq: { slot: "seq" }, ...shared, callee_session_no: calleeNo, source_head: sourceNo },
      },
    ],
  };
  return {
    commit: {
      ...commit,
      sessions: [...(commit.sessions ?? []), { id: caller.id, mode: "existing", at }],
      guards: [...(commit.guards ?? []), branchGuard(caller), headGuard(caller)],
      events: [...(commit.events ?? []), event],
    },
    answer: ({ events }) => {
      const seq = events.at(-1)?.seq ?? 0;
      return invocationOf({
        ...shared,
        session: caller.id,
        first_seq: seq,
        seq,
        branch: caller.branch,
        callee,
        callee_session_no: null,
        caller_before: before?.id ?? null,
        caller_after: null,
        callee_before: calleeHead?.id ?? null,
        callee_after: null,
        source: source?.session.id ?? null,
        source_head: source?.head?.id ?? null,
        source_head_no: sourceNo,
      });
    },
  };
}

async function checkCall(
  storage: Storage,
  caller: SessionRow,
  call: CheckedInvocation["call"],
): Promise<number | null> {
  if (call === null) return null;
  const [row] =
    call.session === caller.id ? await storage.query("call.get", { session: call.session, first: call.seq }) : [];
  if (row === undefined) throw noRow(`call of ${JSON.stringify(caller.id)}`, `${call.session}#${call.seq}`);
  if (row.type === "leaf") throw leafCall(`${call.session}#${row.first_seq}`);
  return row.first_seq;
}

/** A leaf call has no session (rule SE11), so its work would belong to no conversation. */
function leafCall(id: string): HoldfastError {
  return new HoldfastError("InvalidArgument", `the call ${id} is a leaf call, which cannot invoke a session`, {
    details: { kind: "call", id, type: "leaf" },
    hint: 'Pass the call of type "root" that needed the work, or none.',
  });
}

function notCurrent(session: SessionRow, head: string): HoldfastError {
  return new HoldfastError(
    "Conflict",
    `the head ${head} is not the current one of the session ${JSON.stringify(session.id)}`,
    {
      details: { session: session.id, head, current: session.head },
      hint: 'Attach with mode: "branch" to continue from an older head, or name no head to continue from the current one.',
    },
  );
}

function cycle(caller: SessionRow, callee: SessionRow, waiting: readonly string[]): HoldfastError {
  const [from, to] = [JSON.stringify(caller.id), JSON.stringify(callee.id)];
  const own = caller.id === callee.id;
  const why = own ? `${from} cannot continue itself` : `${to} waits for ${from}, which cannot wait for it`;
  return new HoldfastError("Conflict", `${why}: that would be a cycle`, {
    details: { kind: "cycle", caller: caller.id, callee: callee.id, waiting },
    hint: own
      ? 'Attach with mode: "branch".'
      : 'Attach with mode: "branch", or end an invocation left behind by a crash with invocations.finish().',
  });
}
