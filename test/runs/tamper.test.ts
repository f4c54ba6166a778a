// Damage is seen before anything is replayed (rules LG2, LG4, RU9): random changes of what a run goes on from, 10,000 of
// them in `npm run test:long`.
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { openOn } from "../../src/open.ts";
import type { Driver } from "../../src/storage/sql/driver.ts";
import { openSqlite } from "../../src/storage/sql/sqlite/driver.ts";
import { scaled } from "../../src/testing/scale.ts";
import { ENGINES } from "../engines.ts";
import { random } from "../query/random.ts";
import {
  AGAIN,
  agentOf,
  asResumed,
  cutOffStore,
  type Damage,
  draw,
  PARENT,
  RUN,
  rowsOf,
  rowsSince,
  type TamperGround,
} from "./tampering.ts";

const DAMAGED = ["ExecutionCorrupted", "StoreCorrupted", "BlobCorrupted"];
/** Refused for what the changed row seems to be, before its checksum was compared. */
const SEEMS: Readonly<Record<string, readonly string[]>> = {
  "runs.id": ["NotFound"],
  "runs.session_no": ["NotFound"],
  "runs.agent_no": ["NotFound", "AgentMismatch"],
  "runs.agent_version": ["AgentMismatch"],
  "runs.toolset": ["AgentMismatch"],
  "runs.ended_at": ["InvalidTransition"],
  "blobs.form": ["BlobNotFound"],
};

const ends: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

async function inMemory(): Promise<Driver> {
  const driver = await openSqlite({
    path: ":memory:",
    durability: "normal",
    busyMs: 1000,
    environment: realEnvironment(),
  });
  ends.push(() => driver.close());
  return driver;
}

async function onPostgres(): Promise<Driver> {
  const engine = ENGINES.find(({ name }) => name === "postgres");
  if (engine === undefined) throw new Error("there is no PostgreSQL");
  const ground = await engine.fresh();
  ends.push(() => ground.end());
  return ground.driver;
}

interface Tally {
  readonly unseen: string[];
  readonly codes: Map<string, number>;
  readonly columns: Map<string, number>;
}

/** Each damage by itself; `look` is what must refuse it. */
async function damageOften(
  ground: TamperGround,
  times: number,
  seed: number,
  look: (run: string) => Promise<unknown>,
  mended: (table: string) => readonly string[] | undefined,
  touched = rowsOf,
): Promise<Tally> {
  const chance = random(seed);
  const rows = { [RUN]: await touched(ground, RUN), [AGAIN]: await touched(ground, AGAIN) };
  const states: Readonly<Record<string, unknown>> = {
    [RUN]: await asResumed(ground, RUN),
    [AGAIN]: await asResumed(ground, AGAIN),
  };
  const tally: Tally = { unseen: [], codes: new Map(), columns: new Map() };
  const { engine } = ground.driver.dialect;
  for (let done = 0; done < times; ) {
    const run = chance.chance(0.8) ? RUN : AGAIN;
    const damage = draw(chance, rows[run] ?? rows[RUN], run, engine);
    // What the database itself refuses (NOT NULL, UNIQUE) cannot be met.
    if (!(await applied(ground, damage))) continue;
    done++;
    const effects = ground.recorder.effects.length;
    const code = await refusal(() => look(run), states[run]);
    const isSeen =
      code === "the same"
        ? damage.column === "blobs.body"
        : DAMAGED.includes(code) || SEEMS[damage.column]?.includes(code) === true;
    if (!isSeen) tally.unseen.push(`${damage.tell}: ${code}`);
    if (ground.recorder.effects.length !== effects) tally.unseen.push(`${damage.tell}: a tool ran`);
    ground.recorder.effects.length = effects;
    tally.codes.set(code, (tally.codes.get(code) ?? 0) + 1);
    tally.columns.set(damage.column, (tally.columns.get(damage.column) ?? 0) + 1);
    await ground.mend(mended(damage.table));
  }
  return tally;
}

async function applied({ all }: TamperGround, { texts, params }: Damage): Promise<boolean> {
  try {
    await all(texts, params);
    return true;
  } catch {
    return false;
  }
}

/** Some bits of compressed bytes mean nothing: what comes out, hashed, is what was written. */
async function refusal(look: () => Promise<unknown>, state: unknown): Promise<string> {
  try {
    return isDeepStrictEqual(await look(), state) ? "the same" : "not seen";
  } catch (error) {
    return isHoldfastError(error) ? error.code : `untyped ${error}`;
  }
}

/** A handle of its own: nothing it remembers is of an earlier damage. */
function resuming(ground: TamperGround): (run: string) => Promise<unknown> {
  return async (run) => {
    const { runs } = await openOn(ground.driver, { durability: "normal" });
    return runs.resume(agentOf(ground.recorder, run), run);
  };
}

describe("tampering", () => {
  const anyTimes = scaled({ short: 1200, long: 10_000 });
  test(`LG4 RU9 SQLite: each of ${anyTimes} changes of what a run goes on from is seen before it is replayed`, async () => {
    const ground = await cutOffStore(await inMemory());
    const { unseen, columns } = await damageOften(
      ...([ground, anyTimes, 1] as const),
      (run) => asResumed(ground, run),
      (table) => [table],
    );
    expect(unseen).toEqual([]);
    expect(columns.size, "every column has had its turn").toBeGreaterThan(78);
  });

  test("RU9 SQLite: verified since the checkpoint, each change of the checkpoint and of what came since is seen", async () => {
    const ground = await cutOffStore(await inMemory());
    const { unseen, columns } = await damageOften(
      ...([ground, scaled({ short: 500, long: 3000 }), 5] as const),
      (run) => asResumed(ground, run, "checkpoint"),
      (table) => [table],
      rowsSince,
    );
    expect(unseen).toEqual([]);
    expect(columns.size, "every column has had its turn").toBeGreaterThan(70);
  });

  test("RU9 a worker refuses a run that was tampered with, and no tool runs", async () => {
    const ground = await cutOffStore(await inMemory());
    const told: string[] = [];
    const { recorder, all } = ground;
    const effects = recorder.effects.length;
    await all([
      "UPDATE events SET words = CAST('{}' AS BLOB) WHERE no = (SELECT max(e.no) FROM events e JOIN runs r " +
        `ON r.session_no = e.session_no WHERE r.id = '${RUN}' AND e.words IS NOT NULL AND e.type = 'step/done')`,
    ]);
    const { runs } = await openOn(ground.driver, { durability: "normal" });
    const worker = runs.createWorker({
      agents: [agentOf(recorder, RUN)],
      watch: (note) => note.run.id === RUN && told.push(note.kind === "refused" ? note.error.code : note.kind),
    });
    await worker.look();
    expect(worker.working).not.toContain(RUN);
    await worker.stop({ graceMs: 0 });
    expect(told).toEqual(["ExecutionCorrupted"]);
    expect(recorder.effects.length).toBe(effects);
  });

  test("RU9 nothing is taken from a run whose log, checkpoint or first event was tampered with", async () => {
    const ground = await cutOffStore(await inMemory());
    const { runs } = await openOn(ground.driver, { durability: "normal" });
    const [row] = await ground.driver.read(`SELECT * FROM runs WHERE id = '${RUN}'`, []);
    const iteration = Number(row?.iteration);
    expect(iteration).toBeGreaterThan(0);
    const ofEvent = `session_no = ${row?.session_no} AND seq = ${row?.checkpoint_seq}`;
    const damages = [
      `UPDATE events SET words = CAST('{"state":0,"startedAt":1}' AS BLOB) WHERE ${ofEvent}`,
      `UPDATE events SET hash = zeroblob(32) WHERE ${ofEvent}`,
      `UPDATE checkpoints SET iteration = iteration + 7 WHERE ${ofEvent}`,
      `UPDATE runs SET first_seq = first_seq + 1 WHERE id = '${RUN}'`,
    ];
    for (const damage of damages) {
      await ground.all([damage]);
      const before = await ground.driver.read("SELECT count(*) AS n FROM events", []);
      for (const take of [
        () => runs.fork(RUN, { iteration: damage.includes("+ 7") ? iteration + 7 : iteration }),
        () => runs.rewind(RUN, { iteration: damage.includes("+ 7") ? iteration + 7 : iteration }),
      ]) {
        const code = await refusal(take, null);
        expect([damage, ["ExecutionCorrupted", "StoreCorrupted"].includes(code)]).toEqual([damage, true]);
      }
      expect(await ground.driver.read("SELECT count(*) AS n FROM events", [])).toEqual(before);
      await ground.mend();
    }
    expect(await runs.fork(RUN, { iteration })).toMatchObject({ iteration });
  });

  for (const [name, make, whole, real] of [
    ["SQLite", inMemory, 0, scaled({ short: 60, long: 300 })],
    ["PostgreSQL", onPostgres, scaled({ short: 60, long: 300 }), scaled({ short: 15, long: 40 })],
  ] as const) {
    test(`LG4 RU9 ${name}: resume() refuses a run that was tampered with, and no tool runs`, async () => {
      const ground = await cutOffStore(await make());
      const looked = await damageOften(
        ground,
        whole,
        2,
        (run) => asResumed(ground, run),
        (table) => [table],
      );
      expect(looked.unseen).toEqual([]);
      const { unseen } = await damageOften(ground, real, 3, resuming(ground), () => undefined);
      expect(unseen).toEqual([]);
      const child = random(4);
      const [kid] = await ground.driver.read(
        "SELECT id FROM runs WHERE session_no = (SELECT no FROM sessions WHERE id = 'kid')",
        [],
      );
      const rows = await rowsOf(ground, String(kid?.id));
      for (let n = 0; n < scaled({ short: 10, long: 30 }); n++) {
        const damage = draw(child, { ...rows, runs: [], blobs: [] }, PARENT, ground.driver.dialect.engine);
        if (!(await applied(ground, damage))) continue;
        const effects = ground.recorder.effects.length;
        const code = await refusal(() => resuming(ground)(PARENT), null);
        expect([damage.tell, DAMAGED.includes(code), ground.recorder.effects.length]).toEqual([
          damage.tell,
          true,
          effects,
        ]);
        await ground.mend();
      }
      // And goes on when nothing was done to it.
      const done = await resuming(ground)(AGAIN);
      expect(done).toMatchObject({ status: "completed", value: "up" });
    });
  }
});
