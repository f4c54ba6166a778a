// Every statement text of the store, constant and the same for all callers: printed for both engines, prepared by both,
// and shown to find its rows by an index.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import { ARCHIVED_TABLES } from "../../contracts/storage/portable-rows.ts";
import type { TableShape } from "../../contracts/storage/table-shape.ts";
import { TABLES, type TableName } from "../../contracts/storage/tables.ts";
import { AGENT_LOOKUP, BLOB_LOOKUP, SESSION_LOOKUP } from "./commit.ts";
import type { BulkSpec, Dialect } from "./driver.ts";
import { postgres, renderTogether } from "./postgres/dialect.ts";
import { RESTORE_ALIASES, RESTORE_BASIS, RESTORE_HEAD, restoreSpec } from "./restore.ts";
import * as specs from "./specs.ts";
import { sqlite } from "./sqlite/dialect.ts";
import type { StatementTexts } from "./statement-texts.ts";
import { GUARDS, QUERIES, STATEMENTS } from "./statements.ts";
import { LENGTH_LOOKUP } from "./waker.ts";

const { insertSpec, putSpec, removeSpec, FENCE_SESSION, ...single } = specs;
const KEYED = (Object.keys(TABLES) as TableName[]).filter((table) => TABLES[table].key.length > 0);
const BULKS: readonly BulkSpec[] = [
  ...[insertSpec, putSpec, removeSpec].flatMap((make) => KEYED.map(make)),
  ...Object.values(single).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  ...ARCHIVED_TABLES.map(restoreSpec),
  RESTORE_BASIS,
  RESTORE_HEAD,
  RESTORE_ALIASES,
];

const HEADER =
  "-- A snapshot, generated from the SQL in this folder. No program reads it. statements.test.ts compares it, and writes it with:\n" +
  "-- npm test -- src/storage/sql/statements.test.ts -u";

/** The one statement of a durable append to sessions whose positions a PostgreSQL handle has cached. */
const APPEND = [FENCE_SESSION, specs.ADD_INLINE_MESSAGE];
const APPEND_ANY = [FENCE_SESSION, specs.PUT_BLOB, specs.ADD_MESSAGE];

function printed(dialect: Dialect): string {
  const named = (texts: Readonly<Record<string, string>>, suffix = "") =>
    Object.entries(texts).map(([name, text]) => `-- ${name}\n${dialect.render(text)}${suffix};`);
  const lookups = [SESSION_LOOKUP, AGENT_LOOKUP, BLOB_LOOKUP].map((text) => `${dialect.renderLookup(text, true)};`);
  lookups.push(`${dialect.renderLookup(LENGTH_LOOKUP, false)};`);
  const bulks = BULKS.flatMap((spec) =>
    [1, 2].map((width) => `-- ${spec.name} × ${width}\n${dialect.renderBulk(spec, width)};`),
  );
  const together =
    dialect.engine === "sqlite"
      ? []
      : [APPEND, APPEND_ANY].flatMap((trip) =>
          [1, 2].map(
            (width) =>
              `-- ${trip === APPEND ? "append, inline" : "append"} × ${width}\n${renderTogether(trip.map((spec) => ({ spec, width })))};`,
          ),
        );
  const texts = [...named(QUERIES.all()), ...named(STATEMENTS.all()), ...named(GUARDS.all(), dialect.lockRow)];
  return `${[HEADER, ...texts, ...lookups, ...bulks, ...together].join("\n")}\n`;
}

describe("statements", () => {
  test("ST9 the texts for SQLite are the committed ones", async () => {
    await expect(printed(sqlite)).toMatchFileSnapshot("./statements.sqlite.sql");
  });

  test("ST9 the texts for PostgreSQL are the committed ones", async () => {
    await expect(printed(postgres)).toMatchFileSnapshot("./statements.postgres.sql");
  });

  test.each([
    ["a read", QUERIES],
    ["a change", STATEMENTS],
    ["a guard", GUARDS],
  ])("ST9 %s is found under its name, whichever is looked up first", (_, texts: StatementTexts<string>) => {
    for (const [name, text] of Object.entries(texts.all()).reverse()) expect(texts.get(name).sql).toBe(text);
    expect(() => texts.get("no.such")).toThrow("bug: no statement is called no.such");
  });

  test("ST5 no text holds a value of a caller: parameters only", () => {
    for (const text of [QUERIES, STATEMENTS, GUARDS].flatMap((texts) => Object.values<string>(texts.all()))) {
      expect(text).not.toMatch(/\$\{|undefined|\[object/);
    }
  });
});

for (const engine of ENGINES) {
  describe(`schema on ${engine.name}`, () => {
    let ground: EngineStore;
    beforeAll(async () => {
      ground = await engine.fresh();
    });
    afterAll(() => ground.end());

    test.each(Object.entries(TABLES as Readonly<Record<string, TableShape>>))(
      "ST4 the migrations made %s as contracts/storage/tables.ts lists it",
      async (table, shape) => {
        const rows = await ground.driver.read(ground.driver.dialect.describeTable, [table]);
        expect(rows.map((row) => row.name).sort()).toEqual(Object.keys(shape.columns).sort());
      },
    );

    test.each(Object.entries({ ...QUERIES.all(), ...GUARDS.all() }))(
      "ST10 %s is understood by the engine",
      async (_, text) => {
        const plan = await explain(ground, text);
        expect(plan.length).toBeGreaterThan(0);
      },
    );
  });
}

/** Lookups the contracts promise; each must reach its table through an index, never by reading all of it. */
const PROMISED: readonly (readonly [name: string, text: string])[] = [
  ["a session by id", QUERIES.get("session.get").sql],
  ["a session by alias", QUERIES.get("session.byAlias").sql],
  ["sessions of an agent", QUERIES.get("sessions.byAgent").sql],
  ["sessions with a tag", QUERIES.get("sessions.byTag").sql],
  ["sessions of a request", QUERIES.get("sessions.byRequest").sql],
  ["events by seq", QUERIES.get("events.read").sql],
  ["a note", QUERIES.get("annotation.get").sql],
  ["events to verify", QUERIES.get("events.whole").sql],
  ["short content by hash", QUERIES.get("inline.get").sql],
  ["an agent's history", QUERIES.get("history.range").sql],
  ["the last messages", QUERIES.get("history.last").sql],
  ["a run's messages", QUERIES.get("history.rangeRun").sql],
  ["a session's messages", QUERIES.get("history.session").sql],
  ["an agent's messages across sessions", QUERIES.get("history.byAgent").sql],
  ["a message by key", QUERIES.get("history.byKey").sql],
  ["messages by seq", QUERIES.get("history.messages").sql],
  ["positions of messages by seq", QUERIES.get("history.positions").sql],
  ["sessions by number", QUERIES.get("sessions.byNumbers").sql],
  ["the count of messages", QUERIES.get("history.count").sql],
  ["current state", QUERIES.get("state.current").sql],
  ["one value of the state", QUERIES.get("state.key").sql],
  ["state at a head", QUERIES.get("state.at").sql],
  ["the lineage of a session", QUERIES.get("lineage.current").sql],
  ["the lineage of a head", QUERIES.get("lineage.at").sql],
  ["the sessions that inherit from one", QUERIES.get("lineage.heirs").sql],
  ["messages at a head", QUERIES.get("messages.at").sql],
  ["the last messages at a head", QUERIES.get("messages.lastAt").sql],
  ["how many messages there are", QUERIES.get("messages.count").sql],
  ["how many messages of which run there are", QUERIES.get("messages.countRuns").sql],
  ["the last erasure of a stretch", QUERIES.get("messages.erasedUpTo").sql],
  ["what a head counts", QUERIES.get("lineage.counts").sql],
  ["what a head to be published counts", QUERIES.get("branch.position").sql],
  ["a head by id", QUERIES.get("head.get").sql],
  ["the current head", QUERIES.get("head.current").sql],
  ["the head before a point", QUERIES.get("head.before").sql],
  ["heads up to a point", QUERIES.get("heads.at").sql],
  ["turns at a head", QUERIES.get("turns.at").sql],
  ["evals at a head", QUERIES.get("evals.at").sql],
  ["calls at a head", QUERIES.get("calls.at").sql],
  ["a call by id", QUERIES.get("call.get").sql],
  ["snapshots at a head", QUERIES.get("snapshots.at").sql],
  ["invocations at a head", QUERIES.get("invocations.at").sql],
  ["what forks need of a session", QUERIES.get("branches.needed").sql],
  ["messages that no segment has", QUERIES.get("index.messages").sql],
  ["which messages no segment has", QUERIES.get("index.keys").sql],
  ["the state of the text index", QUERIES.get("index.state").sql],
  ["pages of a segment", QUERIES.get("index.pages").sql],
  ["a page of a segment", QUERIES.get("index.page").sql],
  ["the directory of a segment", QUERIES.get("index.directory").sql],
  ["items of a segment", QUERIES.get("index.items").sql],
  ["items that no segment has", QUERIES.get("index.pendingItems").sql],
  ["an agent's blocks", QUERIES.get("blocks.load").sql],
  ["versions of a block", QUERIES.get("block.versions").sql],
  ["blobs of an agent's blocks", QUERIES.get("blocks.discarded").sql],
  ["boards of a conversation", QUERIES.get("boards.bySession").sql],
  ["tasks of a board", QUERIES.get("tasks.byBoard").sql],
  ["a blob by hash", QUERIES.get("blob.get").sql],
  ["the newest blobs", QUERIES.get("blobs.list").sql],
  ["what names a blob", QUERIES.get("blob.named").sql],
  ["blobs to collect", QUERIES.get("gc.unreferenced").sql],
  ["a run by the beginning of its id", QUERIES.get("runs.beginning").sql],
  ["a run's events", QUERIES.get("run.events").sql],
  ["a run's signals", QUERIES.get("run.signals").sql],
  ["a run's questions", QUERIES.get("run.decisions").sql],
  ["a run's checkpoints", QUERIES.get("run.checkpoints").sql],
  ["what a run asks", QUERIES.get("decisions.openByRun").sql],
  ["what people are asked", QUERIES.get("decisions.open").sql],
  ["what people decided", QUERIES.get("decisions.answered").sql],
  ["items by a field of their metadata", QUERIES.get("metadata.items").sql],
  ["the namespaces of an agent", QUERIES.get("memory.scopesOf").sql],
  ["the memories of an agent", QUERIES.get("memories.ofAgent").sql],
  ["memories that were promoted into a block", QUERIES.get("memories.inBlock").sql],
  ["a collection by name", QUERIES.get("vectors.collection").sql],
  ["documents by id", QUERIES.get("documents.byIds").sql],
  ["documents by item", QUERIES.get("documents.byItems").sql],
  ["embeddings by item", QUERIES.get("vectors.byItems").sql],
  ["embeddings that are not packed", QUERIES.get("vectors.after").sql],
  ["pages that changed", QUERIES.get("vectors.pages").sql],
  ["a page of events that name blobs", QUERIES.get("check.refs.events").sql],
  ["a page of calls that name blobs", QUERIES.get("check.refs.calls").sql],
  ["a page of state that names blobs", QUERIES.get("check.refs.state").sql],
];

describe.each(ENGINES)("ST10 lookups on $name", (engine) => {
  let ground: EngineStore;
  beforeAll(async () => {
    // Whatever a store had before shows in what PostgreSQL knows of its tables, and so in its plans.
    ground = await engine.fresh({ unused: true });
    if (engine.name === "postgres") await ground.driver.read("SELECT set_config('enable_seqscan', 'off', false)", []);
  });
  afterAll(() => ground.end());

  test.each(PROMISED)("ST10 %s: by an index, as promised", async (_, text) => {
    const plan = await explain(ground, text);
    expect(fullScans(engine.name, plan), plan.join("\n")).toEqual([]);
    expect(
      plan.some((line) => line.includes(engine.name === "sqlite" ? "USING" : "Index")),
      plan.join("\n"),
    ).toBe(true);
  });

  test("ST10 what waits to be linked is found by the session it names", async () => {
    const plan = await explain(ground, QUERIES.get("invocations.naming").sql);
    expect(plan.join("\n")).toMatch(/invocations_callee[\s\S]*invocations_source/);
  });
});

// PostgreSQL goes by what it knows of the rows, and of an empty table it knows nothing.
const SQLITE = ENGINES.filter(({ name }) => name === "sqlite");
test.each(SQLITE)("ST10 $name looks a message's key up, and does not search the session for it", async (engine) => {
  const ground = await engine.fresh();
  try {
    expect((await explain(ground, QUERIES.get("history.byKey").sql)).join("\n")).toContain("events_key");
  } finally {
    await ground.end();
  }
});

/** What is read from end to end, other than the rows a subquery has chosen already. */
function fullScans(engine: "sqlite" | "postgres", plan: readonly string[]): readonly string[] {
  if (engine === "postgres") return plan.filter((line) => line.includes("Seq Scan on"));
  const chosen = plan.flatMap((line) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)/.exec(line)?.[1] ?? []);
  return plan.filter((line) => {
    const scanned = /^SCAN (\w+)(?! USING)/.exec(line)?.[1];
    // json_each is the list of a parameter.
    if (scanned === "json_each") return false;
    return scanned !== undefined && scanned !== "CONSTANT" && !chosen.includes(scanned) && !line.includes("USING");
  });
}

async function explain({ driver }: EngineStore, text: string): Promise<readonly string[]> {
  const rows = await driver.read(driver.dialect.explain + text, []);
  return rows.map((row) => String(row.detail ?? row["QUERY PLAN"]));
}
