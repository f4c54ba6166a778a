// The one write verb, as a plan both engines run: read what the commits rely on, drop those whose guards fail, assign
// seqs and chain hashes, write everything, commit once. Nothing is acknowledged before that.
import type { Commit, FoundRows, Guard, GuardName, Outcome, SessionUse } from "../../contracts/storage/commit.ts";
import type { BranchPositionRow } from "../../contracts/storage/lineage-queries.ts";
import { encodeText, toHex } from "../../core/bytes.ts";
import { rowChecksum } from "../../core/checksum.ts";
import { genesis } from "../../core/hashing.ts";
import { type BranchPosition, type NewestHead, rootOf } from "../../core/head.ts";
import { IN_PART } from "../../core/session-lookup.ts";
import {
  type CommitSnapshot,
  guardKey,
  judgeCommits,
  type LockedSession,
  namedBy,
  publishes,
  type Verdict,
} from "./commit-verdicts.ts";
import type { Dialect, Param, Plan, Row, Statement } from "./driver.ts";
import { LOOKUP, LostRace } from "./driver.ts";
import { inRoundTrips } from "./large-commit.ts";
import type { BatchResult, CachedPositions, SessionPosition } from "./positions.ts";
import { READ_SCHEMA, requireKnownSchema } from "./schema-fence.ts";
import { ADVANCE_SESSION, CREATE_SESSION, FENCE_SESSION, REGISTER_AGENT } from "./specs.ts";
import { GUARDS, QUERIES } from "./statements.ts";
import { planWrites, Script, type WritePlan } from "./write-plan.ts";

const BRANCH_POSITION = "no, id, seq, chain, branch, messages, state_seq, deleted_at, version";
export const SESSION_LOOKUP = `SELECT ${BRANCH_POSITION} FROM sessions WHERE id ${LOOKUP}`;
export const AGENT_LOOKUP = `SELECT no, id FROM agents WHERE id ${LOOKUP}`;
const ALIAS_LOOKUP = `SELECT name FROM aliases WHERE name ${LOOKUP}`;
/** Kept: pinned, referred to by a row, or part of another blob; otherwise it lives until expires_at. */
export const BLOB_LOOKUP =
  "SELECT no, sha256, expires_at, CASE WHEN pinned = 1 OR refs > 0 OR EXISTS " +
  `(SELECT 1 FROM blob_links l WHERE l.child_no = no) THEN 1 ELSE 0 END AS kept FROM blobs WHERE sha256 ${LOOKUP}`;

/** `prepared`: see prepareLarge(); then the batch has only this commit. */
export function* commitPlan(
  batch: readonly Commit[],
  dialect: Dialect,
  prepared?: readonly Statement[],
): Plan<BatchResult> {
  const snapshot = yield* readSnapshot(batch, dialect);
  const verdicts = judgeCommits(batch, snapshot);
  const accepted = batch.filter((_, i) => verdicts[i] === "accepted");
  const created = yield* createMissing(accepted, snapshot);
  const plan = planWrites(accepted, (id) => positionOf(snapshot, id), snapshot.agents, created, prepared);
  const advance: Statement = {
    kind: "bulk",
    spec: ADVANCE_SESSION,
    rows: plan.changedSessions.map(({ now }) => advanced(now)),
  };
  const statements = [...plan.statements, advance];
  const reads = statements.some((statement) => statement.kind === "query" && statement.answers !== undefined);
  if (reads && accepted.length > 1) throw new Error("bug: a commit that reads is not alone");
  if (prepared !== undefined && accepted.length > 0) {
    if (reads) throw new Error("bug: a large commit reads");
    yield* inRoundTrips(statements);
    return result(verdicts, snapshot.agents, plan, undefined);
  }
  const rows = yield { statements, last: true };
  return result(verdicts, snapshot.agents, plan, reads ? foundBy(statements, rows) : undefined);
}

function foundBy(statements: readonly Statement[], rows: readonly (readonly Row[])[]): FoundRows {
  const found = new Map<string, Row[]>();
  for (const [i, statement] of statements.entries()) {
    if (statement.kind !== "query" || statement.answers === undefined) continue;
    // Several sessions may have the same agent.
    found.set(statement.answers, [...(found.get(statement.answers) ?? []), ...(rows[i] ?? [])]);
  }
  return Object.fromEntries(found) as FoundRows;
}

/** For cached sessions, whose guards their positions imply: the fence and everything else in one round trip. */
export function* fencedPlan(batch: readonly Commit[], cached: CachedPositions): Plan<BatchResult> {
  const position = (id: string): SessionPosition => {
    const known = cached.sessions.get(id);
    if (known === undefined) throw new Error(`bug: session ${id} is not cached`);
    return known;
  };
  const plan = planWrites(batch, position, cached.agents, new Set());
  const rows = plan.changedSessions.map(({ now, was }) => [...advanced(now), was.seq, was.chain]);
  yield { statements: [{ kind: "bulk", spec: FENCE_SESSION, rows }, ...plan.statements], last: true };
  return { outcomes: plan.outcomes, sessions: plan.sessions, agents: cached.agents };
}

function advanced({ seq, chain, at, messages, stateSeq, no }: SessionPosition & { readonly at: number }): Param[] {
  return [seq, chain, at, messages, stateSeq, no];
}

export function canFence(batch: readonly Commit[], cached: CachedPositions): boolean {
  for (const commit of batch) if (!canFenceOne(commit, cached)) return false;
  return standAlone(batch);
}

/**
 * A commit that changes what another commit of the batch guards, or that adds to what another's head counts, goes into
 * a later batch.
 */
function standAlone(batch: readonly Commit[]): boolean {
  if (batch.length === 1) return true;
  const sessions = new Set<string>();
  const moved = new Set<string>();
  for (const commit of batch) {
    const moves = changes(commit);
    for (const { id } of commit.sessions ?? []) {
      if (moved.has(id) || (moves && sessions.has(id))) return false;
      sessions.add(id);
      if (moves) moved.add(id);
    }
  }
  return true;
}

function changes({ guards, events }: Commit): boolean {
  for (const { check } of guards ?? []) if (check !== "run.epoch") return true;
  for (const { head } of events ?? []) if (head !== undefined) return true;
  return false;
}

/** Plain loops here and in write-plan.ts, because every append runs this code. */
function canFenceOne({ sessions, guards, uses, events, agents }: Commit, cached: CachedPositions): boolean {
  if (sessions === undefined || sessions.length === 0) return false;
  if (uses !== undefined && uses.length > 0) return false;
  for (const guard of guards ?? []) if (!cached.impliesGuard(sessions[0]?.id ?? "", guard)) return false;
  for (const use of sessions) {
    if (use.mode === "create" || use.mode === "restore" || !cached.sessions.has(use.id)) return false;
    if (use.agent !== undefined && !cached.agents.has(use.agent)) return false;
    // The fence covers sessions that get events. A session that only loses rows must be read and locked.
    if (!(events?.some((event) => event.session === use.id) ?? false)) return false;
  }
  for (const agent of agents ?? []) if (!cached.agents.has(agent.id)) return false;
  for (const { head, session } of events ?? []) {
    if (head !== undefined && cached.sessions.get(session)?.branchPosition === undefined) return false;
  }
  return true;
}

function sessionIds(batch: readonly Commit[]): string[] {
  return [...new Set(batch.flatMap((commit) => (commit.sessions ?? []).map((use) => use.id)))];
}

function agentIds(batch: readonly Commit[]): string[] {
  const named = batch.flatMap((commit) => [
    ...(commit.agents ?? []).map((agent) => agent.id),
    ...(commit.sessions ?? []).flatMap((use) => (use.agent === undefined ? [] : [use.agent])),
  ]);
  return [...new Set(named)];
}

/** Guards that a lock protects, the store's or that of a scope of memories: no row that could be locked says their value. */
const READ_LOCKED: ReadonlySet<GuardName> = new Set<GuardName>([
  "invocation.waits",
  "capture.newest",
  "claim.value",
  "memory.same",
  "memory.fact",
  "collection.no",
]);

/**
 * A commit with the store's lock has locked all other rows by then, so that there is no deadlock; guards that a lock protects are
 * read after it, and see what earlier holders of the lock have committed.
 */
function lockSessions({ check }: Guard): number {
  if (check === "store.lock") return 1;
  return READ_LOCKED.has(check) ? 2 : 0;
}

function* readSnapshot(batch: readonly Commit[], dialect: Dialect): Plan<CommitSnapshot> {
  const guards = new Map<string, Guard>();
  for (const commit of batch) for (const guard of commit.guards ?? []) guards.set(guardKey(guard), guard);
  // All commits lock their rows in the same order.
  const asked = [...guards.entries()].sort(
    ([a, one], [b, other]) => lockSessions(one) - lockSessions(other) || (a < b ? -1 : 1),
  );
  const used = batch.flatMap((commit) => (commit.uses ?? []).map(([sha256]) => sha256));
  const published = [...new Set(batch.flatMap(publishes))];
  // A commit that writes events locks the table of events before it locks a row. The other way round it would hold the
  // row while it waits for a commit that wants the table alone, which may wait for a commit that wants the row.
  const how = batch.some((commit) => commit.settled) ? "alone" : "beside";
  const lockTable: Statement[] = batch.some((commit) => commit.settled || (commit.sessions?.length ?? 0) > 0)
    ? [{ kind: "lock-table", table: "events", how }]
    : [];
  const rows = yield {
    statements: [
      READ_SCHEMA,
      ...lockTable,
      { kind: "lookup", sql: SESSION_LOOKUP, keys: sessionIds(batch), lock: true },
      { kind: "lookup", sql: AGENT_LOOKUP, keys: agentIds(batch), lock: false },
      { kind: "lookup", sql: ALIAS_LOOKUP, keys: sessionIds(batch), lock: false },
      { kind: "lookup", sql: BLOB_LOOKUP, keys: used, lock: true },
      ...asked.map(
        ([, guard]): Statement => ({
          kind: "query",
          sql: GUARDS.get(guard.check).sql + dialect.lockRow,
          params: [...guard.key],
        }),
      ),
      // The rows of these sessions are locked by now, so the counts cannot change.
      ...published.map((id): Statement => ({ kind: "query", sql: QUERIES.get("branch.position").sql, params: [id] })),
    ],
    last: false,
  };
  requireKnownSchema(rows[0]);
  const [sessionRows, agentRows, aliasRows, blobRows, ...rest] = rows.slice(1 + lockTable.length);
  const guardRows = rest.slice(0, asked.length);
  const positions = new Map(
    published.flatMap((id, i) => {
      const row = rest[asked.length + i]?.[0];
      return row === undefined ? [] : [[id, branchPositionOf(row)] as const];
    }),
  );
  return {
    sessions: new Map(
      (sessionRows ?? []).map((row) => [String(row.id), sessionOf(row, positions.get(String(row.id)))]),
    ),
    agents: new Map((agentRows ?? []).map((row) => [String(row.id), Number(row.no)])),
    aliases: new Set((aliasRows ?? []).map((row) => String(row.name))),
    blobs: new Map((blobRows ?? []).map((row) => [toHex(row.sha256 as Uint8Array), livesUntil(row)])),
    guards: new Map(asked.map(([key], i) => [key, (guardRows[i]?.[0]?.value ?? null) as Param])),
  };
}

function branchPositionOf(row: Row): BranchPosition {
  const { head_id, head_root, messages, turns, evals, calls, snapshots, invocations } =
    row as unknown as BranchPositionRow;
  const head = head_id === null || head_root === null ? null : newestHeadOf(head_id, head_root);
  return { head, since: { messages, turns, evals, calls, snapshots, invocations } };
}

function newestHeadOf(id: string, root: Uint8Array): NewestHead {
  const { counts, compaction } = rootOf({ id, root });
  return { id, counts, compaction };
}

function livesUntil(row: Row): number {
  return row.kept === 1 || row.expires_at === null ? Number.POSITIVE_INFINITY : Number(row.expires_at);
}

function sessionOf(row: Row, position?: BranchPosition): LockedSession {
  return {
    position: {
      no: Number(row.no),
      seq: Number(row.seq),
      chain: row.chain as Uint8Array,
      branch: Number(row.branch),
      messages: Number(row.messages),
      stateSeq: Number(row.state_seq),
      branchPosition: position,
    },
    gone: row.deleted_at === null ? null : Number(row.version) === IN_PART ? "session-partial" : "session-deleted",
  };
}

/**
 * Registers agents and creates sessions that are missing; returns the sessions that this transaction created. A
 * session's id and an alias share one space of names but are in two tables, and a row that does not exist cannot be
 * locked. So a commit that creates a session takes a shared lock on the table of aliases, a commit that names one takes
 * an exclusive lock, and both look once more. This happens after all rows are locked, so that no transaction with the
 * table lock waits for a row of one that wants the table.
 */
function* createMissing(accepted: readonly Commit[], snapshot: CommitSnapshot): Plan<ReadonlySet<string>> {
  const uses = new Map<string, SessionUse>();
  for (const use of accepted.flatMap((commit) => commit.sessions ?? [])) {
    if (use.mode === "lock" || use.mode === "restore") continue;
    if (!snapshot.sessions.has(use.id) && !uses.has(use.id)) uses.set(use.id, use);
  }
  const at = new Map(accepted.flatMap((commit) => (commit.agents ?? []).map((agent) => [agent.id, agent.at] as const)));
  for (const use of accepted.flatMap((commit) => commit.sessions ?? [])) {
    if (use.agent !== undefined && !at.has(use.agent)) at.set(use.agent, use.at);
  }
  const agents = [...at].filter(([id]) => !snapshot.agents.has(id)).sort(([a], [b]) => (a < b ? -1 : 1));
  const sessions = [...uses.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const named = accepted.flatMap((commit) => (commit.guards ?? []).flatMap(namedBy));
  if (agents.length === 0 && sessions.length === 0 && named.length === 0) return new Set();
  const lockTable: Statement[] =
    sessions.length === 0 && named.length === 0
      ? []
      : [{ kind: "lock-table", table: "aliases", how: named.length === 0 ? "beside" : "alone" }];
  const script = new Script();
  for (const [id, time] of agents) {
    const row = { id, name: encodeText(id), agent_type: "agent", created_at: time, updated_at: time, version: 1 };
    script.row(REGISTER_AGENT, [id, row.name, time, time, rowChecksum("agents", row)]);
  }
  for (const { id, agent, at } of sessions) {
    const checksum = rowChecksum("sessions", { id, status: "open", created_at: at, version: 1 });
    script.row(CREATE_SESSION, [id, agent ?? null, at, at, genesis(id), checksum]);
  }
  const inserts = script.statements();
  const rows = yield {
    statements: [
      ...lockTable,
      ...inserts,
      { kind: "lookup", sql: AGENT_LOOKUP, keys: agents.map(([id]) => id), lock: false },
      { kind: "lookup", sql: SESSION_LOOKUP, keys: sessions.map((use) => use.id), lock: true },
      { kind: "lookup", sql: SESSION_LOOKUP, keys: named, lock: true },
      { kind: "lookup", sql: ALIAS_LOOKUP, keys: sessions.map((use) => use.id), lock: false },
    ],
    last: false,
  };
  const [agentRows, sessionRows, ...taken] = rows.slice(lockTable.length + inserts.length);
  if (taken.some((found) => found.length > 0)) throw new LostRace("another commit took the name in the meantime");
  for (const row of agentRows ?? []) snapshot.agents.set(String(row.id), Number(row.no));
  for (const row of sessionRows ?? []) snapshot.sessions.set(String(row.id), sessionOf(row));
  // A session gets an event in its first transaction, so seq 0 means that this transaction created it.
  return new Set(sessions.map((use) => use.id).filter((id) => positionOf(snapshot, id).seq === 0));
}

function positionOf(snapshot: CommitSnapshot, id: string): SessionPosition {
  const found = snapshot.sessions.get(id);
  if (found === undefined) throw new Error(`bug: session ${id} is neither read nor created`);
  return found.position;
}

function result(
  verdicts: readonly Verdict[],
  agents: ReadonlyMap<string, number>,
  plan: WritePlan,
  found: FoundRows | undefined,
): BatchResult {
  const written = plan.outcomes.map((one) => (found === undefined ? one : { ...one, found })).values();
  const outcomes = verdicts.map((verdict): Outcome | null => {
    if (verdict === "later") return null;
    if (verdict === "accepted") return written.next().value ?? null;
    return { ok: false, refused: verdict };
  });
  return { outcomes, sessions: plan.sessions, agents };
}
