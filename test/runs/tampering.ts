// A run that was cut off in the middle of an iteration, and every way to damage what it goes on from: a byte of any column,
// an event that is gone, moved, doubled or cut off. `asResumed` looks at what resume() looks at before anything is replayed.
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Json } from "../../src/contracts/json.ts";
import type { Payloads } from "../../src/contracts/storage/payloads.ts";
import type { Storage } from "../../src/contracts/storage/storage.ts";
import type { ColumnType } from "../../src/contracts/storage/table-shape.ts";
import { TABLES } from "../../src/contracts/storage/tables.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { openOn } from "../../src/open.ts";
import { checkSame } from "../../src/runs/agents.ts";
import { eventOf, loadState, payloadOf, retriedRun } from "../../src/runs/journal.ts";
import { readStepRecords, type VerifyScope, verifyRun } from "../../src/runs/recover.ts";
import { existingRun, refuseEnded } from "../../src/runs/rows.ts";
import { createPayloads } from "../../src/storage/blobs/payloads.ts";
import type { Driver, Param, Row } from "../../src/storage/sql/driver.ts";
import { SqlStorage } from "../../src/storage/sql/store.ts";
import { agent, cutOff, EffectRecorder, gate } from "../../src/testing/suites/runs-agents.ts";
import type { Random } from "../query/random.ts";

const PARTS = ["signals", "decisions", "checkpoints"] as const;
const TOUCHED = ["events", "sessions", "runs", "blobs", ...PARTS] as const;
type TamperedTable = (typeof TOUCHED)[number];
export const RUN = "r";
/** Takes up a run that failed, and what that had done. */
export const AGAIN = "again";
/** Was cut off in a child of its own, in another session. */
export const PARENT = "parent";

export interface TamperGround {
  readonly driver: Driver;
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly recorder: EffectRecorder;
  /** As it was. */
  mend(tables?: readonly string[]): Promise<void>;
  all(texts: readonly string[], params?: readonly Param[]): Promise<unknown>;
}

const LONG = "more than fits a row, word after word, ".repeat(40);
const KEPT = Object.keys(TABLES);

export async function cutOffStore(driver: Driver): Promise<TamperGround> {
  const environment = realEnvironment();
  const hf = await openOn(driver, { durability: "normal" });
  const recorder = new EffectRecorder();
  const [held, charged] = [gate(), gate()];
  const works = works1(recorder, () => held.pass(), { charge: () => charged.pass() });
  await hf.runs.execute(
    agent((it) => it.done(it.input), { id: "bob" }),
    { session: "other", input: LONG },
  );
  await hf.runs.start(works, {
    session: "s",
    id: RUN,
    input: { long: LONG },
    leaseMs: 100,
    limits: { iterations: 99 },
  });
  for (const name of ["go", "go", "later"]) await hf.runs.signal(RUN, name, { n: 1 });
  await cutOff(hf.runs, works, RUN, charged.reached);
  await askedAndAnswered(hf, works);
  await cutOff(hf.runs, works, RUN, held.reached);
  const failing = fails(recorder, true);
  const failed = await hf.runs.execute(failing, { session: "t", leaseMs: 100 });
  await hf.runs.retry(failed.run.id, { id: AGAIN });
  await cutOffChild(hf, recorder);
  const all = (texts: readonly string[], params: readonly Param[] = []) =>
    driver.transact(function* () {
      yield { statements: texts.map((sql) => ({ kind: "query" as const, sql, params: [...params] })), last: true };
    });
  await all(KEPT.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`));
  // Numbers the database gave are given again.
  const again = driver.dialect.engine === "postgres" ? " OVERRIDING SYSTEM VALUE" : "";
  const storage = new SqlStorage(driver, environment);
  return {
    driver,
    storage,
    payloads: createPayloads(storage),
    recorder,
    all,
    mend: async (tables = KEPT) => {
      await all(
        tables.flatMap((table) => [`DELETE FROM ${table}`, `INSERT INTO ${table}${again} SELECT * FROM kept_${table}`]),
      );
    },
  };
}

async function askedAndAnswered({ runs }: Holdfast, works: AgentDefinition): Promise<void> {
  const worker = runs.createWorker({ agents: [works], pollMs: 10 });
  while ((await runs.pending()).items.length === 0) {
    await worker.look();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await worker.stop();
  await runs.answer((await runs.pending()).items[0]?.id ?? "", { verdict: "result", result: 7, by: "jo" });
}

/**
 * Two iterations done; in the third a result that is a blob, then a tool without an answer. With `charge`: the first
 * takes a signal, and in the second a person was asked.
 */
function works1(
  recorder: EffectRecorder,
  hold: () => Promise<void>,
  full?: { readonly charge: () => Promise<void> },
): AgentDefinition {
  return agent(
    async (it, { n }: { n: number }) => {
      if (full !== undefined && n === 1) await it.waitFor("go");
      if (full !== undefined && n === 2) await it.tool("charge", n);
      await it.message({ role: "user", content: `turn ${n}` });
      await it.message({ role: "assistant", content: LONG });
      await it.model({ n });
      const [a] = await it.parallel(
        (one: Iteration) => one.tool("long", n),
        (one: Iteration) => one.tool("pay", n),
      );
      if (n === 3) await it.tool("slow", n);
      return it.next({ n: n + 1, a });
    },
    {
      initial: () => ({ n: 1 }),
      tools: {
        long: recorder.tool("long", (n) => `${LONG}${n}`, { effect: "idempotent" }),
        pay: recorder.tool("pay"),
        charge: recorder.tool("charge", () => full?.charge().then(() => 7)),
        slow: recorder.tool("slow", () => hold().then(() => "end"), { effect: "idempotent" }),
      },
      models: { m: { model: "m-1", call: () => ({ output: "yes", inputTokens: 3, costUsd: 0.25 }) } },
    },
  );
}

function fails(recorder: EffectRecorder, isDown: boolean): AgentDefinition {
  return agent(
    async (it, n: number) => {
      await it.tool("pay", n);
      return n === 1 ? it.done(await it.tool("down", n)) : it.next(n + 1);
    },
    {
      initial: () => 0,
      tools: {
        pay: recorder.tool("pay"),
        down: recorder.tool("down", () => (isDown ? Promise.reject(new Error("down")) : "up")),
      },
    },
  );
}

async function cutOffChild(hf: Holdfast, recorder: EffectRecorder): Promise<void> {
  const held = gate();
  const parent = spawns(recorder, () => held.pass());
  await hf.runs.start(parent, { session: "p", id: PARENT, leaseMs: 100 });
  await cutOff(hf.runs, parent, PARENT, held.reached);
}

function spawns(recorder: EffectRecorder, hold: () => Promise<void>): AgentDefinition {
  return agent(
    async (it) => it.done((await it.spawn({ ...works1(recorder, hold), id: "kid" }, { session: "kid" })).status),
    { id: "parent", limits: { iterations: 9 } },
  );
}

/** The agent that resumes each of them. */
export function agentOf(recorder: EffectRecorder, run: string): AgentDefinition {
  const goOn = () => Promise.resolve();
  return run === RUN
    ? works1(recorder, goOn, { charge: goOn })
    : run === AGAIN
      ? fails(recorder, false)
      : spawns(recorder, goOn);
}

/** What resume() looks at before the first step, in its order. */
export async function asResumed(
  { storage, payloads, recorder }: TamperGround,
  run: string,
  verify: VerifyScope = "whole",
): Promise<Json> {
  const row = await existingRun(storage, run);
  refuseEnded(row, "there is nothing to resume");
  checkSame(row, agentOf(recorder, run), {});
  await verifyRun(storage, row, verify);
  const created = await eventOf(storage, row.session, row.first_seq);
  await payloadOf(payloads, row.session, created);
  await readStepRecords(storage, row, retriedRun(created));
  if (row.checkpoint_seq === null) return null;
  return loadState(storage, payloads, row.session, row.checkpoint_seq);
}

/** Columns that can have any value without changing what a run resumes from. */
const FREE: Readonly<Record<TamperedTable, Readonly<Record<string, string>>>> = {
  events: {
    no: "the order in which rows came: no hash has it (ST5), nothing of a run is found by it",
    chars: "an estimate of a message's length, which docs/format.md excepts; of other events it must be NULL",
  },
  // Of the session's row only where its chain stands; a title has no part in a run.
  sessions: {},
  runs: {
    no: "the order in which rows came: no hash has it",
    beat: "a sign of life, written every few seconds without an event; only whether it stands still is looked at",
    held: "repeats the sign of beat for the checker; no run reads it",
  },
  signals: {},
  decisions: {},
  checkpoints: {},
  // Of the checkpoint's own blob.
  blobs: {
    media: "not needed to read it",
    utf8: "not needed to read it",
    stored: "how many bytes it takes; the bytes themselves are hashed",
    checksum: "of columns that are not needed to read it; `check` compares it",
    refs: "the collector's; `check` compares it",
    pinned: "the collector's",
    expires_at: "the collector's",
    epoch: "the collector's",
    condemned: "the collector's",
    created_at: "the collector's",
    store: "where it is when it is not in the row; this one is, and is hashed",
    key: "where a store outside has it; this one is in the database",
    sha256: "the event has its own, which is in the chain",
  },
};

const CHAIN_FIELDS = ["seq", "chain", "branch"];

/** One damage. `tell` describes it when it goes undetected. */
export interface Damage {
  readonly tell: string;
  readonly column: string;
  readonly table: TamperedTable;
  readonly run: string;
  readonly texts: readonly string[];
  readonly params: readonly Param[];
}

type Rows = Readonly<Record<TamperedTable, readonly Row[]>>;

/**
 * The rows that a run goes on from: its session's events, both rows, its signals, questions and checkpoints, the blob of the
 * last one; and what it takes up.
 */
export async function rowsOf({ driver }: TamperGround, run: string): Promise<Rows> {
  const session = `(SELECT session_no FROM runs WHERE id = '${run}')`;
  const read = (sql: string) => driver.read(sql, []);
  return {
    events: await read(`SELECT * FROM events WHERE session_no = ${session} ORDER BY seq`),
    sessions: await read(`SELECT * FROM sessions WHERE no = ${session}`),
    runs: await read(`SELECT * FROM runs WHERE session_no = ${session}`),
    signals: await read(`SELECT * FROM signals WHERE session_no = ${session}`),
    decisions: await read(`SELECT * FROM decisions WHERE session_no = ${session}`),
    checkpoints: await read(`SELECT * FROM checkpoints WHERE session_no = ${session}`),
    blobs: await read(
      `SELECT b.* FROM blobs b JOIN events e ON e.content = b.no JOIN runs r ON r.session_no = e.session_no ` +
        `AND r.checkpoint_seq = e.seq WHERE r.id = '${run}'`,
    ),
  };
}

/**
 * Of those what is verified when only what came since the checkpoint is: that, and the event that began the run; of a run
 * that goes on from what another had done, all.
 */
export async function rowsSince(ground: TamperGround, run: string): Promise<Rows> {
  const rows = await rowsOf(ground, run);
  const { first_seq, checkpoint_seq } = rows.runs.find(({ id }) => id === run) ?? {};
  const since = run === AGAIN ? 0 : Number(checkpoint_seq);
  return { ...rows, events: rows.events.filter(({ seq }) => seq === first_seq || Number(seq) >= since) };
}

export function draw(random: Random, rows: Rows, run: string, engine: "sqlite" | "postgres"): Damage {
  if (random.chance(0.85)) return ofColumn(random, rows, run, engine);
  return random.chance(0.8) ? ofOrder(random, rows, run) : ofParts(random, rows, run);
}

/** A signal, a question or a checkpoint that is gone, or that was never written. */
function ofParts(random: Random, rows: Rows, run: string): Damage {
  const there = PARTS.filter((one) => rows[one].length > 0);
  const table = random.pick<(typeof PARTS)[number]>(there.length === 0 ? ["checkpoints"] : there);
  const row = random.pick(rows[table]);
  const where = placeOf(table, row);
  const columns = Object.keys(TABLES[table].columns);
  const instead = columns.map((name) => (name === "seq" ? `seq + ${random.below(9) + 1}` : name));
  const of = { table, run, params: [] } as const;
  if (random.chance(0.5)) {
    const texts = [`DELETE FROM ${table} WHERE ${where}`];
    return { ...of, column: `${table} removed`, tell: `${table}: ${where} removed`, texts };
  }
  const texts = [`INSERT INTO ${table} (${columns}) SELECT ${instead} FROM ${table} WHERE ${where}`];
  return { ...of, column: `${table} added`, tell: `${table}: one more beside ${where}`, texts };
}

function ofColumn(random: Random, rows: Rows, run: string, engine: "sqlite" | "postgres"): Damage {
  const weights: readonly TamperedTable[] = [
    "events",
    "events",
    "events",
    "events",
    "runs",
    "runs",
    "sessions",
    "blobs",
    ...PARTS,
  ];
  const table = random.pick(weights.filter((one) => rows[one].length > 0));
  const columns: Readonly<Record<string, ColumnType>> = TABLES[table].columns;
  const names = Object.keys(columns).filter((name) => !Object.hasOwn(FREE[table], name));
  const column = random.pick(
    table === "sessions" ? CHAIN_FIELDS : table === "events" ? [...names, "body", "words"] : names,
  );
  const row = random.pick(rows[table]);
  const type = columns[column] ?? "int";
  const { value, how, isText } = changed(random, row[column] ?? null, type, rows, engine);
  const place = placeOf(table, row);
  const cell = isText ? "CAST(? AS TEXT)" : "?";
  return {
    table,
    run,
    column: `${table}.${column}`,
    params: [value],
    tell: `${table}.${column} ${how} (${place}, ${String(row.type ?? row.id ?? row.form)}): ${shown(row[column])} to ${shown(value)}`,
    texts: [`UPDATE ${table} SET ${column} = ${cell} WHERE ${place}`],
  };
}

/** Parts of runs have no number. */
function placeOf(table: TamperedTable, row: Row): string {
  if (table !== "signals" && table !== "decisions" && table !== "checkpoints") return `no = ${row.no}`;
  return `session_no = ${row.session_no} AND seq = ${row.seq}`;
}

interface ChangedValue {
  readonly value: Param;
  readonly how: string;
  /** Bytes that are to be text, well-formed or not. */
  readonly isText?: boolean;
}

function changed(random: Random, value: unknown, type: ColumnType, rows: Rows, engine: string): ChangedValue {
  if (value !== null && random.chance(0.1)) return { value: null, how: "gone" };
  if (type === "bytes") return { value: otherBytes(random, (value ?? new Uint8Array(16)) as Uint8Array), how: "byte" };
  if (type === "text") {
    const bytes = otherBytes(random, Buffer.from(String(value ?? "x")));
    if (engine === "sqlite") return { value: bytes, how: "byte", isText: true };
    const text = bytes.toString("latin1").replaceAll("\0", "?");
    return { value: text === value ? `${text}x` : text, how: "byte" };
  }
  if (type === "real") return { value: Number(value ?? 0) + 1 + random.below(100), how: "number" };
  // Another row's number is more telling than a random one.
  const others = Object.values(rows).flatMap((of) =>
    of.map(({ no, seq }) => Number(random.chance(0.5) ? (no ?? seq) : (seq ?? no))),
  );
  const number = Number(value ?? 0);
  const next = random.chance(0.4)
    ? random.pick(others)
    : random.chance(0.5)
      ? number ^ (1 << random.below(31))
      : number + 1;
  return { value: next === value ? next + 1 : next, how: "number" };
}

function otherBytes(random: Random, value: Uint8Array): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length === 0 || random.chance(0.05)) return Buffer.concat([bytes, Buffer.from([random.below(256)])]);
  if (random.chance(0.05)) return bytes.subarray(0, random.below(bytes.length));
  const at = random.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 + random.below(255));
  return bytes;
}

/** Removed, reordered, cut off, doubled. */
function ofOrder(random: Random, rows: Rows, run: string): Damage {
  const { events } = rows;
  const [session] = rows.sessions;
  const one = random.pick(events);
  const other = random.pick(events.filter(({ no }) => no !== one.no));
  const cut = random.below(Math.min(6, events.length - 1)) + 1;
  const last = events[events.length - 1 - cut];
  const of = { table: "events", run, params: [] } as const;
  const swap = (column: string) =>
    `UPDATE events SET ${column} = (SELECT k.${column} FROM kept_events k WHERE k.no = ` +
    `CASE WHEN events.no = ${one.no} THEN ${other.no} ELSE ${one.no} END) WHERE no IN (${one.no}, ${other.no})`;
  const columns = Object.keys(TABLES.events.columns).filter((name) => name !== "no");
  const instead: Readonly<Record<string, string>> = { seq: String(Number(session?.seq) + 1), key: "NULL" };
  const kinds: readonly Damage[] = [
    { ...of, column: "removed", tell: `event ${one.seq} removed`, texts: [`DELETE FROM events WHERE no = ${one.no}`] },
    {
      ...of,
      column: "removed and closed up",
      tell: `event ${one.seq} removed and the later ones moved up`,
      texts: [
        `DELETE FROM events WHERE no = ${one.no}`,
        `UPDATE events SET seq = seq - 1 WHERE session_no = ${one.session_no} AND seq > ${one.seq}`,
      ],
    },
    { ...of, column: "reordered", tell: `${one.seq} and ${other.seq} change places`, texts: [swap("seq")] },
    {
      ...of,
      column: "bodies swapped",
      tell: `bodies and hashes of ${one.seq} and ${other.seq} change places`,
      texts: [swap("body"), swap("hash")],
    },
    {
      ...of,
      column: "truncated",
      tell: `the last ${cut} cut off`,
      texts: [`DELETE FROM events WHERE session_no = ${one.session_no} AND seq > ${last?.seq}`],
    },
    {
      ...of,
      column: "doubled",
      tell: `event ${one.seq} of ${events.length} exists twice`,
      texts: [`INSERT INTO events (${columns}) SELECT ${columns} FROM kept_events WHERE no = ${one.no}`],
    },
    {
      ...of,
      column: "one more",
      tell: "an event after the end",
      texts: [
        `INSERT INTO events (${columns}) SELECT ${columns.map((name) => instead[name] ?? name)} ` +
          `FROM kept_events WHERE no = ${one.no}`,
      ],
    },
  ];
  return random.pick(kinds);
}

function shown(value: unknown): string {
  return value instanceof Uint8Array
    ? `${Buffer.from(value).toString("latin1").slice(0, 60)}`
    : JSON.stringify(value ?? null);
}
