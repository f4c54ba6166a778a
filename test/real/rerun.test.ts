// Rerun means continue: a program with a tool loop is killed with SIGKILL at random moments, and started again,
// unchanged, until it ends. Every run ends once, with the transcript of an undisturbed run; nothing that may not happen
// twice does, unless a person says so.
import { randomInt } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { type Child, Children } from "./process.ts";
import { TestStores } from "./stores.ts";

const stores = new TestStores();
const children = new Children(stores.folder);
afterEach(() => children.end());
afterAll(() => stores.remove());

const isLong = process.env.HOLDFAST_TEST_LONG === "1";
const KILLS = { sqlite: isLong ? 300 : 8, postgres: isLong ? 100 : 4 } as const;
/** Most starts are killed up to this long after the run went on, the others at any moment from their start. */
const LONGEST_MS = 250;
const STARTING_MS = 700;
const TURNS = 4;

interface Effect {
  readonly run: string;
  readonly name: string;
  readonly turn: number;
  readonly key: string;
}

function effectsIn(file: string, run: string): readonly Effect[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Effect).filter((one) => one.run === run);
}

/** The person: says what the world outside says. What happened has its result; what did not may be tried. */
class RandomPerson {
  readonly #store: Holdfast;
  readonly #effects: string;
  answers = 0;

  constructor(store: Holdfast, effects: string) {
    this.#store = store;
    this.#effects = effects;
  }

  async answer(run: string): Promise<void> {
    for (const { id, step, reason } of (await this.#store.runs.pending({ run })).items) {
      const done = effectsIn(this.#effects, run).find(({ key }) => key === step.idempotencyKey);
      if (reason === "approval" || done === undefined) await this.#store.runs.answer(id, { verdict: "retry", reason });
      else {
        const result = done.name === "close" ? "closed" : { charged: done.turn };
        await this.#store.runs.answer(id, { verdict: "result", result, reason });
      }
      this.answers++;
    }
  }
}

/** How long it took from the start of the process, and of that since its store was open. */
interface ResumeTimes {
  readonly ms: number;
  readonly openMs: number;
}

interface Restart {
  readonly child: Child;
  /** null: not seen, or a person was asked first. */
  readonly wentOn: () => ResumeTimes | null;
}

function start(url: string, effects: string, run: string, person: RandomPerson): Restart {
  const begun = performance.now();
  let readyAt = begun;
  let wentOn: ResumeTimes | null = null;
  let isAsked = false;
  const onLine = (line: string) => {
    const now = performance.now();
    if (line === "ready") readyAt = now;
    else if (line === "waits decision") {
      isAsked ||= wentOn === null;
      person.answer(run).catch(() => undefined);
    } else if (line.startsWith("step ") && !isAsked) wentOn ??= { ms: now - begun, openMs: now - readyAt };
  };
  const child = children.start({ script: "rerun-program.ts", args: { url, effects, run }, onLine });
  return { child, wentOn: () => wentOn };
}

async function transcript(store: Holdfast, session: string): Promise<string> {
  const messages = await store.history.session(session);
  return JSON.stringify(messages.map(({ role, content }) => ({ role, content })));
}

/** Each charge once, each note at least once, and the account closed once. */
function expectOnce(effects: readonly Effect[]): void {
  const turns = (name: string) => effects.filter((one) => one.name === name).map(({ turn }) => turn);
  const all = Array.from({ length: TURNS }, (_, turn) => turn);
  expect(turns("charge").sort()).toEqual(all);
  expect([...new Set(turns("note"))].sort()).toEqual(all);
  expect(turns("close")).toEqual([TURNS]);
}

async function expectEnded(store: Holdfast, run: string): Promise<void> {
  const ends = (await store.runs.events(run)).filter(({ type }) => /^run\/(completed|failed|cancelled)$/.test(type));
  expect(ends.map(({ type }) => type)).toEqual(["run/completed"]);
  expect(await store.runs.result(run)).toMatchObject({ value: { text: `Turn ${TURNS + 1}`, finish: "stop" } });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

describe.each(["sqlite", "postgres"] as const)("the same program on %s", (engine) => {
  const kills = KILLS[engine];

  test(`RU2 RU18 killed ${kills} times at any moment and started again until it ends`, async () => {
    const url = await stores.fresh(engine);
    const effects = `${stores.file("effects")}.jsonl`;
    const store = await open(url);
    const person = new RandomPerson(store, effects);
    const restarts: ResumeTimes[] = [];
    await start(url, effects, "undisturbed", person).child.done();
    const wanted = await transcript(store, "undisturbed");
    await expectEnded(store, "undisturbed");
    expectOnce(effectsIn(effects, "undisturbed"));

    let killed = 0;
    for (let n = 1; killed < kills; n++) {
      const run = `run-${n}`;
      for (let starts = 0; ; starts++) {
        const { child, wentOn } = start(url, effects, run, person);
        const isOver = await endsOrIsKilled(child, killed >= kills);
        const found = wentOn();
        if (starts > 0 && found !== null) restarts.push(found);
        if (isOver) break;
        killed++;
      }
      expect(await transcript(store, run), `the transcript of ${run}`).toBe(wanted);
      await expectEnded(store, run);
      expectOnce(effectsIn(effects, run));
    }
    // Started once more it gives what came of it, and does nothing.
    const before = readFileSync(effects, "utf8");
    const { child } = start(url, effects, "run-1", person);
    expect(await child.heard("end")).toBe(`completed {"text":"Turn ${TURNS + 1}","finish":"stop"}`);
    await child.done();
    expect(readFileSync(effects, "utf8")).toBe(before);
    expect((await store.check()).issues).toEqual([]);
    await store.close();
    expect(restarts.length, "no start was seen to go on: this test would pass on nothing").toBeGreaterThan(0);
    const medians = [restarts.map(({ ms }) => ms), restarts.map(({ openMs }) => openMs)].map((one) =>
      Math.round(median(one)),
    );
    console.log(
      `${engine}: ${killed} kills, ${person.answers} answers of a person; median of ${restarts.length} restarts until the run went ` +
        `on: ${medians[0]} ms from the start of the process, ${medians[1]} ms from the open store`,
    );
  });
});

/** Whether the child ended by itself, which must be a good end; otherwise it was killed. */
async function endsOrIsKilled(child: Child, isSpared: boolean): Promise<boolean> {
  if (!isSpared) {
    const isEarly = randomInt(0, 4) === 0;
    if (!isEarly) await Promise.race([firstStep(child), child.ended()]);
    await Promise.race([sleep(randomInt(0, isEarly ? STARTING_MS : LONGEST_MS)), child.ended()]);
    const { signal, code } = await child.kill();
    if (signal === "SIGKILL") return false;
    if (code !== 0) throw new Error(`the program ended with ${code}: ${child.errors}`);
    return true;
  }
  await child.done();
  return true;
}

async function firstStep(child: Child): Promise<void> {
  await child.heard("step").catch(() => undefined);
}
