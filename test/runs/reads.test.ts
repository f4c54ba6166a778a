// Whatever others do between the interruption of a run and its end, a recorded read gives what it gave, or says which of its
// content was erased. Random sequences: first a past of three sessions, each a fork of the one before, and a run in the
// last; then what others do; then the run goes on.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Context } from "../../src/contracts/context.ts";
import type { HoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { JsonObject } from "../../src/contracts/json.ts";
import type { Message } from "../../src/contracts/messages.ts";
import type { WorkerNote } from "../../src/contracts/workers.ts";
import { open } from "../../src/open.ts";
import { adjustableEnvironment } from "../../src/testing/environment.ts";
import { takeSchema } from "../schemas.ts";

const AGENTS = ["ada", "eve"] as const;
/** Each inherits from the one before; the run works in the last. */
const SESSIONS = ["grandmother", "mother", "own"] as const;
const OWN = SESSIONS[2];
const IS_LONG = process.env.HOLDFAST_TEST_LONG === "1";

type Change =
  | { readonly do: "append"; readonly on: number; readonly by: number; readonly n: number }
  | { readonly do: "state"; readonly on: number; readonly key: number; readonly isBrief: boolean }
  | { readonly do: "unset"; readonly on: number; readonly key: number }
  | { readonly do: "clear"; readonly on: number; readonly by: number }
  | { readonly do: "clearState" | "publish" | "fork"; readonly on: number }
  | { readonly do: "compact"; readonly on: number; readonly by: number; readonly keep: number }
  | { readonly do: "delete"; readonly on: number; readonly everywhere: boolean }
  | { readonly do: "wait" };

const on = fc.nat(2);
const by = fc.nat(1);
const key = fc.nat(2);
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("append" as const), on, by, n: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("state" as const), on, key, isBrief: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unset" as const), on, key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("clear" as const), on, by }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("clearState" as const, "publish" as const, "fork" as const), on }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("compact" as const), on, by, keep: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), on: fc.nat(1), everywhere: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
);

interface ReadScenario {
  readonly past: readonly (readonly Change[])[];
  readonly budget: number;
  readonly last: number;
  /** The run fails and another takes it up, instead of being cut off. */
  readonly isRetry: boolean;
  readonly meanwhile: readonly Change[];
}

const scenario: fc.Arbitrary<ReadScenario> = fc.record({
  past: fc.array(fc.array(change, { maxLength: 8 }), { minLength: 3, maxLength: 3 }),
  budget: fc.integer({ min: 5, max: 120 }),
  last: fc.integer({ min: 1, max: 5 }),
  isRetry: fc.boolean(),
  meanwhile: fc.array(change, { maxLength: 12 }),
});

interface ReadResults {
  readonly history: readonly Message[];
  readonly ada: readonly Message[];
  readonly context: Context;
  readonly cut: Context;
  readonly state: JsonObject;
}

/** A rule refused it: the run is not over, the session is gone, there is nothing to sum up. */
const REFUSALS: readonly string[] = ["SessionBusy", "SessionDeleted", "InvalidArgument", "NotFound", "Conflict"];

class ReadScenarioRunner {
  readonly #hf: Holdfast;
  readonly #jump: (ms: number) => void;
  #texts = 0;
  #forks = 0;

  constructor(hf: Holdfast, jump: (ms: number) => void) {
    this.#hf = hf;
    this.#jump = jump;
  }

  async play({ past, budget, last, isRetry, meanwhile }: ReadScenario): Promise<void> {
    const hf = this.#hf;
    for (const [i, session] of SESSIONS.entries()) {
      const source = SESSIONS[i - 1];
      const isThere = source !== undefined && (await hf.sessions.get(source)) !== null;
      if (isThere) await hf.sessions.fork(source, { id: session });
      else await hf.sessions.create({ id: session });
      for (const one of past[i] ?? []) await this.#try(one, i);
    }
    const read = (it: Iteration) => this.#read(it, budget, last);
    const seen: ReadResults[] = [];
    const { agent, reached, goOn } = interrupted(read, seen, isRetry);
    const id = await this.#interrupt(agent, reached, isRetry);
    for (const one of meanwhile) await this.#try(one, SESSIONS.length - 1);
    goOn();
    await this.#goOn(agent, id, seen);
    expect((await hf.check()).issues).toEqual([]);
  }

  /** Every read of the iteration, each beside the same read of the handle. */
  async #read(it: Iteration, budget: number, last: number): Promise<ReadResults> {
    const hf = this.#hf;
    const isFirst = (await hf.runs.steps(it.run)).length === 0 && !it.run.startsWith("retry");
    const history = await it.history({ agent: null });
    const ada = await it.history({ last });
    const context = await it.context();
    const cut = await it.context({ budget });
    const state = await it.state();
    if (isFirst) {
      expect(history).toEqual(await hf.history.session(OWN));
      expect(ada).toEqual(await hf.history.get({ session: OWN, agent: "ada" }, { last }));
      expect(context).toEqual(await hf.sessions.context(OWN));
      expect(cut).toEqual(await hf.sessions.context(OWN, { budget }));
      expect(state).toEqual(await hf.state.get(OWN));
    }
    return { history, ada, context, cut, state };
  }

  async #interrupt(agent: AgentDefinition, reached: Promise<void>, isRetry: boolean): Promise<string> {
    const { runs } = this.#hf;
    if (isRetry) {
      const { run, status } = await runs.execute(agent, { session: OWN, id: "first" });
      expect(status).toBe("failed");
      return run.id;
    }
    const { id } = await runs.start(agent, { session: OWN, id: "first" });
    const left = Promise.withResolvers<void>();
    const watch = ({ kind, run }: WorkerNote) => {
      if (kind !== "begun") left.reject(new Error(`left before it was interrupted: ${run.error?.message}`));
    };
    const worker = runs.createWorker({ agents: [agent], pollMs: 10, watch });
    expect(await worker.look()).toBe(1);
    await Promise.race([reached, left.promise]);
    left.promise.catch(() => {});
    await worker.stop({ graceMs: 0 });
    return id;
  }

  async #goOn(agent: AgentDefinition, first: string, seen: ReadResults[]): Promise<void> {
    const hf = this.#hf;
    const [then] = seen as [ReadResults];
    const ended = (await hf.runs.get(first))?.status === "failed";
    const id = ended ? (await hf.runs.retry(first, { id: "retry" })).id : first;
    const live = await this.#live(then.history);
    const isErased = then.history.some((message) => !live.has(message.id));
    const error = await hf.runs.resume(agent, id).then(
      () => null,
      (thrown: HoldfastError) => thrown,
    );
    if (error === null) {
      expect(isErased, "what was erased is told").toBe(false);
      expect(seen[1]).toEqual(then);
      return;
    }
    expect([error.code, error.message]).toEqual(["ContentErased", error.message]);
    const { session, seq, key: named } = error.details;
    if (named === undefined) {
      expect(isErased, error.message).toBe(true);
      expect(then.history.map((message) => message.id)).toContain(`${session}#${seq}`);
      expect([...live]).not.toContain(`${session}#${seq}`);
    } else expect(Object.keys(then.state)).toContain(named);
    const { status } = await hf.runs.resume(agent, id, { erased: "placeholder" });
    expect(status).toBe("completed");
    const now = seen.at(-1) as ReadResults;
    const placeholder = [{ type: "text", text: "[erased]" }];
    expect(now.history.map((message) => [message.id, message.content])).toEqual(
      then.history.map((message) => [message.id, live.has(message.id) ? message.content : placeholder]),
    );
    expect(Object.keys(now.state)).toEqual(Object.keys(then.state));
  }

  /** Ids of those whose content is still in the store; each text is there once. */
  async #live(messages: readonly Message[]): Promise<ReadonlySet<string>> {
    const live = new Set<string>();
    for (const { id, ref } of messages) if ((await this.#hf.blobs.stat(ref)) !== null) live.add(id);
    return live;
  }

  async #try(one: Change, upTo: number): Promise<void> {
    try {
      await this.#do(one, upTo);
    } catch (error) {
      expect(REFUSALS, String(error)).toContain((error as HoldfastError).code);
    }
  }

  async #do(one: Change, upTo: number): Promise<void> {
    const hf = this.#hf;
    if (one.do === "wait") return this.#jump(5000);
    const session = SESSIONS[Math.min(one.on, upTo)] as string;
    const agent = "by" in one ? (AGENTS[one.by] as string) : "";
    switch (one.do) {
      case "append":
        for (let n = 0; n < one.n; n++) {
          const content = `text ${++this.#texts} ${"x".repeat((this.#texts * 7) % 40)}`;
          await hf.history.append({ session, agent }, { role: n % 2 === 0 ? "user" : "assistant", content });
        }
        return;
      case "state":
        await hf.state.patch(session, { [`k${one.key}`]: ++this.#texts }, one.isBrief ? { ttlMs: 4000 } : {});
        return;
      case "unset":
        await hf.state.patch(session, {}, { remove: [`k${one.key}`] });
        return;
      case "clearState":
        return hf.state.clear(session);
      case "clear":
        await hf.history.clear({ session, agent });
        return;
      case "publish":
        await hf.heads.publish(session);
        return;
      case "fork":
        await hf.sessions.fork(session, { id: `fork-${++this.#forks}` });
        return;
      case "compact":
        await hf.heads.compact(session, { agent, summary: `summary ${++this.#texts}`, keep: one.keep });
        return;
      case "delete":
        await hf.sessions.delete(session, { everywhere: one.everywhere });
    }
  }
}

/** Reads, says how much there was, and is interrupted in a tool, which then goes on, or failed. */
function interrupted(read: (it: Iteration) => Promise<ReadResults>, seen: ReadResults[], isRetry: boolean) {
  const reached = Promise.withResolvers<void>();
  let goesOn = false;
  const agent: AgentDefinition = {
    id: "ada",
    version: "1",
    tools: {
      wait: {
        effect: "idempotent",
        execute: () => {
          if (goesOn) return null;
          if (isRetry) throw new Error("not yet");
          reached.resolve();
          return new Promise(() => {});
        },
      },
    },
    async iterate(it) {
      const all = await read(it);
      seen.push(all);
      await it.message({ role: "assistant", content: `${all.history.length} messages` });
      await it.tool("wait", { state: all.state });
      return it.done(null);
    },
  };
  const goOn = () => {
    goesOn = true;
  };
  return { agent, reached: reached.promise, goOn };
}

const PLACES = [
  { name: "sqlite", url: inFolder, runs: 25, longRuns: 3000 },
  { name: "postgres", url: inSchema, runs: 5, longRuns: 400 },
] as const;

async function inFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-reads-"));
  return { url: path.join(folder, "store.db"), end: async () => rmSync(folder, { recursive: true, force: true }) };
}

async function inSchema() {
  const { url, leave } = await takeSchema();
  return { url, end: leave };
}

describe.each(PLACES)("recorded reads on $name", ({ url, runs, longRuns }) => {
  test(
    "RU14 whatever others do meanwhile, a read is as it was, or says what of it was erased",
    async () => {
      await fc.assert(
        fc.asyncProperty(scenario, async (given) => {
          const place = await url();
          const environment = adjustableEnvironment();
          const hf = await open(place.url, { durability: "normal", environment });
          try {
            await new ReadScenarioRunner(hf, (ms) => environment.jump(ms)).play(given);
          } finally {
            await hf.close();
            await place.end();
          }
        }),
        { numRuns: IS_LONG ? longRuns : runs, endOnFailure: false },
      );
    },
    IS_LONG ? 3_600_000 : 240_000,
  );
});
