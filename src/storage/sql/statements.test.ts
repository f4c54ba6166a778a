// Every statement text of the store, constant and the same for all callers: printed for both engines, prepared by both,
// and shown to find its rows by an index.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../../test/engines.ts";
import { TABLES, type TableShape } from "../../contracts/rows.ts";
import { RESTORE, RESTORE_ALIASES, RESTORE_BASIS, RESTORE_HEAD } from "./archive.ts";
import { AGENT_LOOKUP, BLOB_LOOKUP, SESSION_LOOKUP } from "./commit.ts";
import type { BulkSpec, Dialect } from "./driver.ts";
import { postgres, renderTogether } from "./postgres/dialect.ts";
import * as specs from "./specs.ts";
import { sqlite } from "./sqlite/dialect.ts";
import { GUARDS, QUERIES, STATEMENTS } from "./statements.ts";
import { LENGTH_LOOKUP } from "./waker.ts";

const { INSERT, PUT, REMOVE, FENCE_SESSION, ...single } = specs;
const BULKS: readonly BulkSpec[] = [
  ...Object.values(INSERT),
  ...Object.values(PUT),
  ...Object.values(REMOVE),
  ...Object.values(single),
  ...Object.values(RESTORE),
  ...[RESTORE_BASIS, RESTORE_HEAD, RESTORE_ALIASES],
];

/** The one statement of a durable append to sessions a PostgreSQL handle remembers. */
const APPEND = [FENCE_SESSION, specs.ADD_INLINE_CONTENT];
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
              `-- ${trip === APPEND ? "append, short" : "append"} × ${width}\n${renderTogether(trip.map((spec) => ({ spec, width })))};`,
          ),
        );
  return `${[...named(QUERIES), ...named(STATEMENTS), ...named(GUARDS, dialect.lockRow), ...lookups, ...bulks, ...together].join("\n")}\n`;
}

describe("statements", () => {
  test("ST9 the texts for SQLite are the committed ones", async () => {
    await expect(printed(sqlite)).toMatchFileSnapshot("./statements.sqlite.sql");
  });

  test("ST9 the texts for PostgreSQL are the committed ones", async () => {
    await expect(printed(postgres)).toMatchFileSnapshot("./statements.postgres.sql");
  });

  test("ST5 no text holds a value of a caller: parameters only", () => {
    for (const text of [...Object.values(QUERIES), ...Object.values(STATEMENTS), ...Object.values(GUARDS)]) {
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
      "ST4 the migrations made %s as contracts/rows.ts lists it",
      async (table, shape) => {
        const rows = await ground.driver.read(ground.driver.dialect.describeTable, [table]);
        expect(rows.map((row) => row.name).sort()).toEqual(Object.keys(shape.columns).sort());
      },
    );

    test.each(Object.entries({ ...QUERIES, ...GUARDS }))("ST10 %s is understood by the engine", async (_, text) => {
      const plan = await explain(ground, text);
      expect(plan.length).toBeGreaterThan(0);
    });
  });
}

/** Lookups the contracts promise; each must reach its table through an index, never by reading all of it. */
const PROMISED: readonly (readonly [name: string, text: string])[] = [
  ["a session by id", QUERIES["session.get"]],
  ["a session by alias", QUERIES["session.byAlias"]],
  ["sessions of an agent", QUERIES["sessions.byAgent"]],
  ["sessions with a tag", QUERIES["sessions.byTag"]],
  ["sessions of a request", QUERIES["sessions.byRequest"]],
  ["events by seq", QUERIES["events.read"]],
  ["a note", QUERIES["annotation.get"]],
  ["events to verify", QUERIES["events.whole"]],
  ["short content by hash", QUERIES["inline.get"]],
  ["an agent's history", QUERIES["history.range"]],
  ["the last messages", QUERIES["history.last"]],
  ["a run's messages", QUERIES["history.rangeRun"]],
  ["a session's messages", QUERIES["history.session"]],
  ["an agent's messages across sessions", QUERIES["history.byAgent"]],
  ["a message by key", QUERIES["history.byKey"]],
  ["the count of messages", QUERIES["history.count"]],
  ["current state", QUERIES["state.current"]],
  ["one value of the state", QUERIES["state.key"]],
  ["state at a head", QUERIES["state.at"]],
  ["the lineage of a session", QUERIES["lineage.current"]],
  ["the lineage of a head", QUERIES["lineage.at"]],
  ["messages at a head", QUERIES["messages.at"]],
  ["the last messages at a head", QUERIES["messages.lastAt"]],
  ["how many messages there are", QUERIES["messages.count"]],
  ["how many messages of which run there are", QUERIES["messages.countRuns"]],
  ["the last erasure of a stretch", QUERIES["messages.erasedUpTo"]],
  ["what a head counts", QUERIES["lineage.counts"]],
  ["what a head to be published counts", QUERIES["branch.position"]],
  ["a head by id", QUERIES["head.get"]],
  ["the current head", QUERIES["head.current"]],
  ["the head before a point", QUERIES["head.before"]],
  ["heads up to a point", QUERIES["heads.at"]],
  ["turns at a head", QUERIES["turns.at"]],
  ["evals at a head", QUERIES["evals.at"]],
  ["calls at a head", QUERIES["calls.at"]],
  ["a call by id", QUERIES["call.get"]],
  ["snapshots at a head", QUERIES["snapshots.at"]],
  ["invocations at a head", QUERIES["invocations.at"]],
  ["what forks need of a session", QUERIES["branches.needed"]],
  ["an agent's blocks", QUERIES["blocks.load"]],
  ["versions of a block", QUERIES["block.versions"]],
  ["blobs of an agent's blocks", QUERIES["blocks.discarded"]],
  ["boards of a conversation", QUERIES["boards.bySession"]],
  ["tasks of a board", QUERIES["tasks.byBoard"]],
  ["a blob by hash", QUERIES["blob.get"]],
  ["the newest blobs", QUERIES["blobs.list"]],
  ["what names a blob", QUERIES["blob.named"]],
  ["blobs to collect", QUERIES["gc.unreferenced"]],
  ["a run by the beginning of its id", QUERIES["runs.beginning"]],
  ["a run's events", QUERIES["run.events"]],
  ["a run's signals", QUERIES["run.signals"]],
  ["a run's questions", QUERIES["run.decisions"]],
  ["a run's checkpoints", QUERIES["run.checkpoints"]],
  ["what a run asks", QUERIES["decisions.openByRun"]],
  ["what people are asked", QUERIES["decisions.open"]],
  ["what people decided", QUERIES["decisions.answered"]],
  ["a page of events that name blobs", QUERIES["check.refs.events"]],
  ["a page of calls that name blobs", QUERIES["check.refs.calls"]],
  ["a page of state that names blobs", QUERIES["check.refs.state"]],
];

describe("ST10 promised lookups use an index", () => {
  for (const engine of ENGINES) {
    test.each(PROMISED)(`ST10 ${engine.name}: %s`, async (_, text) => {
      const ground = await engine.fresh();
      try {
        const { driver } = ground;
        if (engine.name === "postgres") await driver.read("SELECT set_config('enable_seqscan', 'off', false)", []);
        const plan = await explain(ground, text);
        expect(fullScans(engine.name, plan), plan.join("\n")).toEqual([]);
        expect(
          plan.some((line) => line.includes(engine.name === "sqlite" ? "USING" : "Index")),
          plan.join("\n"),
        ).toBe(true);
      } finally {
        await ground.end();
      }
    });
  }
});

describe("ST10 what waits to be linked is found by the session it names", () => {
  test.each(ENGINES)("ST10 $name", async (engine) => {
    const ground = await engine.fresh();
    try {
      if (engine.name === "postgres") await ground.driver.read("SELECT set_config('enable_seqscan', 'off', false)", []);
      const plan = await explain(ground, QUERIES["invocations.naming"]);
      expect(plan.join("\n")).toMatch(/invocations_callee[\s\S]*invocations_source/);
    } finally {
      await ground.end();
    }
  });
});

// PostgreSQL goes by what it knows of the rows, and of an empty table it knows nothing.
const SQLITE = ENGINES.filter(({ name }) => name === "sqlite");
test.each(SQLITE)("ST10 $name looks a message's key up, and does not search the session for it", async (engine) => {
  const ground = await engine.fresh();
  try {
    expect((await explain(ground, QUERIES["history.byKey"])).join("\n")).toContain("events_key");
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
    return scanned !== undefined && scanned !== "CONSTANT" && !chosen.includes(scanned) && !line.includes("USING");
  });
}

async function explain({ driver }: EngineStore, text: string): Promise<readonly string[]> {
  const rows = await driver.read(driver.dialect.explain + text, []);
  return rows.map((row) => String(row.detail ?? row["QUERY PLAN"]));
}
