// A store filled with rows of every kind by plain SQL, from a seed: the tables of sessions as a graph have no writer of
// their own in these tests, and a query must not depend on how they were written.
import { createHash } from "node:crypto";
import { renderDdl } from "../../src/storage/sql/migrations.ts";
import type { EngineStore } from "../engines.ts";
import { type Random, random } from "./random.ts";

export interface Size {
  readonly sessions: number;
  /** Of each session, at most. */
  readonly events: number;
}

type Cell = null | number | string | Uint8Array;
type Rows = Map<string, Record<string, Cell>[]>;

const BATCH = 200;
const START = 1_767_225_600_000;
const STATUSES = ["ok", "error", "running"];
const MODELS = ["opus", "sonnet", "haiku", null];

/** The same rows on either engine. */
export async function fillStore(ground: EngineStore, seed: number, size: Size): Promise<void> {
  const rows: Rows = new Map();
  const draw = random(seed);
  const blobs = fillBlobs(rows, draw);
  fillAgents(rows, draw);
  for (let no = 1; no <= size.sessions; no++) fillSession(rows, draw, no, size, blobs);
  fillGraph(rows, draw, size.sessions);
  await insert(ground, rows);
}

function add(rows: Rows, table: string, row: Record<string, Cell>): void {
  const list = rows.get(table) ?? [];
  list.push(row);
  rows.set(table, list);
}

const bytes = (text: string) => new TextEncoder().encode(text);
const digest = (text: string) => createHash("sha256").update(text).digest();

function fillBlobs(rows: Rows, draw: Random): number {
  const count = 12;
  for (let no = 1; no <= count; no++) {
    const given = {
      no,
      sha256: digest(`blob ${no}`),
      size: draw.below(5) * 100,
      media: draw.pick(["text/plain", "a/b"]),
    };
    const kept = {
      utf8: draw.below(2),
      form: draw.below(3),
      stored: 10,
      store: "",
      key: null,
      refs: 1,
      pinned: draw.below(2),
    };
    add(rows, "blobs", {
      ...given,
      ...kept,
      expires_at: null,
      epoch: 1,
      condemned: null,
      created_at: START,
      body: bytes("x"),
    });
  }
  return count;
}

function fillAgents(rows: Rows, draw: Random): void {
  for (let no = 1; no <= 3; no++) {
    const times = { created_at: START + no, updated_at: START + no, deleted_at: null, version: 1 };
    const about = { name: bytes(`Agent ${no}`), agent_type: draw.pick(["a", "b"]), model: draw.pick(MODELS) };
    add(rows, "agents", {
      no,
      id: `agent-${no}`,
      ...about,
      system: null,
      tool_ids: null,
      tags: null,
      metadata: null,
      ...times,
    });
    for (const tag of ["calm", "kind", "old"]) if (draw.chance(0.5)) add(rows, "agent_tags", { tag, agent_no: no });
    const block = {
      label: draw.pick(["persona", "facts"]),
      char_limit: 100,
      description: bytes(""),
      read_only: draw.below(2),
    };
    add(rows, "blocks", { id: `block-${no}`, ...block, version: 1, created_at: START, updated_at: START });
    add(rows, "agent_blocks", { agent_no: no, ord: 0, block_id: `block-${no}` });
    if (draw.chance(0.5)) add(rows, "agent_blocks", { agent_no: no, ord: 1, block_id: "block-1" });
  }
}

function fillSession(rows: Rows, draw: Random, no: number, size: Size, blobs: number): void {
  const last = 3 + draw.below(size.events);
  const head = draw.chance(0.8) ? no * 10 : null;
  add(rows, "sessions", {
    no,
    id: `s${no}`,
    agent_no: draw.pick([null, 1, 2, 3]),
    title: draw.chance(0.7) ? bytes(`Title ${draw.below(4)}`) : null,
    status: draw.pick(["open", "closed"]),
    tags: null,
    metadata: null,
    request: draw.pick([null, "req"]),
    created_at: START + draw.below(5),
    updated_at: START + 10,
    deleted_at: draw.chance(0.1) ? START : null,
    version: 1,
    branch: 1,
    seq: last,
    chain: digest("c"),
    messages: 0,
    state_seq: 0,
    kind: draw.pick(["entry", "spawned"]),
    origin: null,
    cache_id: draw.pick([null, "k"]),
    head_no: head,
  });
  for (const tag of ["red", "green", "blue"]) if (draw.chance(0.4)) add(rows, "session_tags", { tag, session_no: no });
  if (draw.chance(0.4)) add(rows, "aliases", { name: `alias-${no}`, session_no: no, created_at: START });
  for (let seq = 1; seq <= last; seq++) fillEvent(rows, draw, no, seq, blobs);
  if (draw.chance(0.6)) fillBoard(rows, draw, no);
  if (draw.chance(0.7)) fillRuns(rows, draw, no, last);
}

function fillRuns(rows: Rows, draw: Random, no: number, last: number): void {
  const at = { session_no: no, branch: 1 };
  for (let n = 1; n <= 1 + draw.below(2); n++) {
    const id = `run-${no}-${n}`;
    const [status, ended] = draw.pick([["completed", START + 9] as const, ["waiting", null] as const]);
    add(rows, "runs", {
      ...at,
      id,
      first_seq: 1,
      seq: last,
      parent: draw.pick([null, "run-1-1"]),
      nested: n === 1 ? 0 : 1,
      agent_no: draw.pick([1, 2, 3]),
      agent_version: "1",
      toolset: digest(id),
      status,
      version: draw.below(9),
      epoch: draw.below(4),
      beat: 0,
      owner: draw.pick([null, "worker"]),
      iteration: draw.below(5),
      checkpoint_seq: null,
      wake_at: draw.pick([null, START + 5]),
      waits: null,
      cancel: 0,
      pause_at: null,
      stop: draw.pick([null, "done"]),
      limits: bytes("{}"),
      priority: draw.below(3),
      lease_ms: 1000,
      tokens: draw.below(100),
      cost_usd: draw.pick([null, 0.5]),
      created_at: START,
      updated_at: START + 1,
      ended_at: ended,
    });
    const seq = { ...at, seq: n, run: id };
    add(rows, "signals", { ...seq, name: draw.pick(["go", "stop"]), taken_seq: draw.pick([null, last]) });
    add(rows, "decisions", { ...seq, step_seq: 1, answered_seq: draw.pick([null, last]) });
    add(rows, "checkpoints", { ...seq, run: draw.pick(["", id]), agent_no: draw.pick([1, 2]), iteration: n });
  }
}

function fillBoard(rows: Rows, draw: Random, no: number): void {
  const id = `board-${no}`;
  const board = { session_no: no, agent: "", ord: 0, label: bytes("Board"), parent: null, max_retries: 3 };
  add(rows, "boards", { id, ...board, created_at: START, version: 1 });
  for (let n = 0; n < draw.below(4); n++) {
    const about = {
      title: bytes(`Task ${n}`),
      status: draw.pick(["planned", "failed"]),
      ord: n,
      retry_count: draw.below(3),
    };
    add(rows, "tasks", {
      board_id: id,
      id: `t${n}`,
      ...about,
      note: bytes(""),
      version: 1,
      created_at: START,
      updated_at: START,
    });
  }
}

function fillEvent(rows: Rows, draw: Random, no: number, seq: number, blobs: number): void {
  const kind = draw.pick(["message", "message", "turn", "eval", "call", "call", "snapshot", "again"]);
  const at = START + seq;
  const blob = () => (draw.chance(0.5) ? 1 + draw.below(blobs) : null);
  const place = { session_no: no, seq, branch: 1 };
  const turn_seq = draw.chance(0.6) ? 1 + draw.below(seq) : null;
  const isMessage = kind === "message";
  const erased = isMessage && draw.chance(0.15) ? seq + 1 : null;
  add(rows, "events", {
    no: no * 1000 + seq,
    ...place,
    type: isMessage ? "message/added" : `${kind}/added`,
    at,
    body: bytes("{}"),
    hash: digest("h"),
    agent_no: isMessage ? 1 + draw.below(3) : null,
    role: isMessage ? draw.pick(["user", "assistant"]) : null,
    run: isMessage ? draw.pick([null, "r1", "r2"]) : null,
    key: null,
    sha256: isMessage && erased === null ? digest(`${draw.below(6)}`) : null,
    words: isMessage && erased === null ? bytes("w") : null,
    content: null,
    salt: null,
    chars: isMessage ? draw.below(8) * 10 : null,
    erased_seq: erased,
  });
  const status = draw.pick(STATUSES);
  if (kind === "turn") {
    add(rows, "turns", {
      ...place,
      first_seq: seq,
      status: draw.pick(["open", "done"]),
      agent_no: null,
      run: null,
      at,
    });
  } else if (kind === "eval") {
    const refs = { code: blob(), result: blob(), final: null, error: blob(), salts: null };
    add(rows, "evals", {
      ...place,
      first_seq: seq,
      turn_seq,
      message_seq: turn_seq,
      status,
      ...refs,
      at,
      erased_seq: null,
    });
  } else if (kind === "call") addCall(rows, draw, { ...place, first_seq: seq, turn_seq }, blob);
  else if (kind === "snapshot")
    add(rows, "snapshots", { ...place, turn_seq, vars: blob(), salt: null, at, erased_seq: null });
  else if (kind === "again") {
    const calls = (rows.get("calls") ?? []).filter((row) => row.session_no === no);
    const [first] = calls;
    if (first !== undefined) addCall(rows, draw, { ...first, ...place, first_seq: first.first_seq ?? null }, blob);
  }
}

function addCall(rows: Rows, draw: Random, place: Record<string, Cell>, blob: () => number | null): void {
  const numbers = { tokens_in: draw.pick([null, 10, 20, 30]), tokens_out: draw.below(4), tokens_cached: null };
  add(rows, "calls", {
    ...place,
    type: draw.pick(["root", "leaf"]),
    status: draw.pick(STATUSES),
    model: draw.pick(MODELS),
    provider: draw.pick([null, "p"]),
    request: blob(),
    response: blob(),
    result: null,
    error: null,
    salts: null,
    ...numbers,
    cost_usd: draw.pick([null, 0.25, 0.5, 1.125]),
    created_at: START,
    completed_at: null,
    erased_seq: null,
  });
}

/** Heads with their bases, derivations and invocations, circles among them. */
function fillGraph(rows: Rows, draw: Random, sessions: number): void {
  for (let no = 1; no <= sessions; no++) {
    for (let k = 0; k < 4; k++) {
      const basis = k > 0 ? no * 10 + k - 1 : draw.chance(0.2) ? no * 10 + 3 : null;
      const about = {
        status: draw.pick(["complete", "aborted"]),
        chain: digest("c"),
        root: bytes("r"),
        final: null,
        salt: null,
      };
      const words = {
        final_summary: draw.chance(0.5) ? bytes(`sum ${k}`) : null,
        snapshot_seq: null,
        fingerprint: draw.pick([null, "f"]),
      };
      const place = { no: no * 10 + k, id: `h${no}.${k}`, session_no: no, branch: 1, seq: k + 1, basis_no: basis };
      add(rows, "heads", { ...place, ...about, ...words, turn_seq: null, cache_id: null, at: START });
    }
    // Mostly onwards, now and then back, so that there are circles.
    const other = () => (draw.chance(0.2) ? 1 + draw.below(sessions) : 1 + (no % sessions));
    const source = {
      source_session_no: other(),
      source_head: draw.pick([null, no * 10]),
      source_branch: 1,
      source_seq: 1,
    };
    if (draw.chance(0.7))
      add(rows, "derivations", { session_no: no, seq: 1, type: draw.pick(["fork", "attach"]), ...source, at: START });
    for (let k = 0; k < draw.below(3); k++) {
      const heads = {
        caller_head_before: no * 10,
        caller_head_after: null,
        callee_head_before: null,
        callee_head_after: null,
      };
      const from = {
        source_session_no: draw.pick([null, other()]),
        source_head: null,
        source_snapshot_seq: null,
        source_fingerprint: null,
      };
      const about = {
        type: "spawn",
        status: draw.pick(STATUSES),
        callee_session_no: other(),
        ...heads,
        call_seq: null,
      };
      const place = { session_no: no, first_seq: 2 + k, seq: 2 + k, branch: 1 };
      add(rows, "invocations", {
        ...place,
        ...about,
        label: bytes(`L${k}`),
        ...from,
        created_at: START,
        completed_at: null,
      });
    }
  }
}

async function insert({ driver }: EngineStore, rows: Rows): Promise<void> {
  const isPostgres = driver.dialect.engine === "postgres";
  const literal = (cell: Cell) => {
    if (cell === null || typeof cell === "number") return String(cell);
    if (typeof cell === "string") return `'${cell.replaceAll("'", "''")}'`;
    const hex = Buffer.from(cell).toString("hex");
    return isPostgres ? `'\\x${hex}'::bytea` : `x'${hex}'`;
  };
  const numbers = isPostgres ? " OVERRIDING SYSTEM VALUE" : "";
  await driver.migrate(false, async (execute) => {
    for (const [table, list] of rows) {
      const columns = Object.keys(list[0] ?? {});
      for (let start = 0; start < list.length; start += BATCH) {
        const tuples = list
          .slice(start, start + BATCH)
          .map((row) => `(${columns.map((name) => literal(row[name] ?? null)).join(", ")})`);
        await execute(
          renderDdl(
            driver.dialect,
            `INSERT INTO ${table} (${columns.join(", ")})${numbers} VALUES ${tuples.join(", ")}`,
          ),
        );
      }
    }
  });
}
