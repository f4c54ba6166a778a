// Random sequences of what can be done to sessions, on the real store and on a naive model that copies everything: every
// head shows for ever what the model had, and rows are shared, not copied.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { MessageAt } from "../../src/contracts/lineage.ts";
import type { Message } from "../../src/contracts/messages.ts";
import { open } from "../../src/open.ts";
import { scaled } from "../../src/testing/scale.ts";
import { postgresUrl } from "../engines.ts";
import { LineageModel, type ModelSession, valuesOf } from "./model.ts";

const AGENT = "ada";

type Command =
  | { readonly do: "append"; readonly on: number; readonly n: number }
  | { readonly do: "state"; readonly on: number; readonly key: number; readonly value: number }
  | { readonly do: "unset"; readonly on: number; readonly key: number }
  | { readonly do: "publish" | "compact" | "abort" | "halt" | "clear" | "clearState"; readonly on: number }
  | { readonly do: "delete"; readonly on: number; readonly everywhere: boolean }
  | { readonly do: "fork" | "attach" | "resume" | "rewind"; readonly on: number; readonly head: number };

const on = fc.nat(5);
const key = fc.nat(2);
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("append" as const), on, n: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("state" as const), on, key, value: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unset" as const), on, key }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("publish" as const), on }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom(...(["compact", "abort", "halt", "clear", "clearState"] as const)),
      on,
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom("fork" as const, "attach" as const, "resume" as const, "rewind" as const),
      on,
      head: fc.nat(20),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), on, everywhere: fc.boolean() }) },
);

const shownAs = (message: Message | MessageAt) =>
  "erased" in message ? "(erased)" : message.content[0]?.type === "text" ? message.content[0].text : "?";

class LineageTester {
  readonly model = new LineageModel();
  #texts = 0;
  #forks = 0;
  readonly #handles: readonly Holdfast[];
  /** The one whose turn it is. */
  #hf: Holdfast;

  constructor(first: Holdfast, ...others: readonly Holdfast[]) {
    this.#handles = [first, ...others];
    this.#hf = first;
  }

  async run(commands: readonly (readonly [Command, by: number])[]): Promise<void> {
    await this.#hf.sessions.create({ id: "s0" });
    this.model.create("s0");
    for (const [one, by] of commands) {
      this.#take(by);
      await this.#do(one);
    }
  }

  #take(by: number): void {
    this.#hf = this.#handles[by % this.#handles.length] ?? this.#hf;
  }

  #session(n: number): ModelSession {
    const all = [...this.model.sessions.values()];
    return all[n % all.length] as ModelSession;
  }

  async #seq(session: string): Promise<number> {
    return (await this.#hf.sessions.get(session))?.seq ?? 0;
  }

  async #append(session: ModelSession, n: number): Promise<void> {
    for (let i = 0; i < n; i++) {
      const content = `m${this.#texts++}`;
      const { id } = await this.#hf.history.append({ session: session.id, agent: AGENT }, { role: "user", content });
      this.model.append(session, id, content);
    }
  }

  async #do(one: Command): Promise<void> {
    const hf = this.#hf;
    const session = this.#session(one.on);
    const { id } = session;
    switch (one.do) {
      case "append":
        return this.#append(session, one.n);
      case "state":
        await hf.state.patch(id, { [`k${one.key}`]: one.value });
        session.now = {
          ...session.now,
          state: { ...session.now.state, [`k${one.key}`]: { value: one.value, owner: id } },
        };
        return;
      case "unset": {
        await hf.state.patch(id, {}, { remove: [`k${one.key}`] });
        const { [`k${one.key}`]: _, ...state } = session.now.state;
        session.now = { ...session.now, state };
        return;
      }
      case "clearState":
        await hf.state.clear(id);
        session.now = { ...session.now, state: {} };
        return;
      case "publish": {
        const head = await hf.heads.publish(id, { vars: { n: this.#texts } });
        expect(head.basis).toBe(session.basis?.session === id ? session.basis.id : null);
        this.model.publish(session, head.id, head.seq);
        return;
      }
      case "compact": {
        if (this.model.history(session).length === 0) return;
        const summary = `m${this.#texts++}`;
        const head = await hf.heads.compact(id, { agent: AGENT, summary });
        this.model.append(session, head.compaction?.summary ?? "", summary);
        this.model.publish(session, head.id, head.seq);
        return;
      }
      case "abort": {
        const before = session.now;
        const turn = await hf.turns.begin(id);
        // What is in the turn came through another handle.
        this.#take(this.#handles.indexOf(hf) + 1);
        await this.#append(session, 2);
        const head = await hf.turns.abort(turn.id);
        this.model.publish(session, head.id, head.seq, false);
        session.now = before;
        return;
      }
      case "halt": {
        const turn = await hf.turns.begin(id);
        await this.#append(session, 1);
        const inside = await hf.heads.publish(id);
        const kept = this.model.publish(session, inside.id, inside.seq);
        await this.#append(session, 1);
        const head = await hf.turns.abort(turn.id);
        this.model.publish(session, head.id, head.seq, false);
        this.model.goTo(session, kept);
        const statusAt = async (at: string) =>
          (await (await hf.sessions.at(at)).turns()).find((one) => one.id === turn.id)?.status;
        expect([await statusAt(`${id}@${inside.id}`), await statusAt(id)]).toEqual(["open", "aborted"]);
        return;
      }
      case "clear": {
        const { removed, kept } = await hf.history.clear({ session: id, agent: AGENT });
        if ((removed.messages ?? 0) > 0 || (kept.inherited ?? 0) > 0) this.model.clear(session, await this.#seq(id));
        return;
      }
      case "delete": {
        if (this.model.sessions.size === 1) return;
        await hf.sessions.delete(id, { everywhere: one.everywhere });
        this.model.delete(session, one.everywhere);
        return;
      }
      default:
        return this.#go(one, session);
    }
  }

  async #go(one: Extract<Command, { head: number }>, session: ModelSession): Promise<void> {
    const hf = this.#hf;
    const own = this.model.heads.filter((head) => head.session === session.id);
    const head = own[one.head % Math.max(own.length, 1)];
    if (one.do === "attach") {
      if (this.#forks >= 8 || head === undefined) return;
      const id = `a${++this.#forks}`;
      const caller = [...this.model.sessions.keys()][one.head % this.model.sessions.size] ?? session.id;
      await hf.sessions.attach(`${session.id}@${head.id}`, { caller, mode: "branch", session: { id } });
      const { entries, state, horizons } = head;
      this.model.create(id, { entries, state, horizons }).basis = head;
      return;
    }
    if (one.do === "fork") {
      if (this.#forks >= 8) return;
      const id = `f${++this.#forks}`;
      const source = head ?? session.current;
      const seq = await this.#seq(session.id);
      await hf.sessions.fork(head === undefined ? session.id : `${session.id}@${head.id}`, { id });
      const { entries, state, horizons } = source ?? session.now;
      const from = source === null ? { ...horizons, [session.id]: seq } : horizons;
      const made = this.model.create(id, { entries, state, horizons: from });
      made.basis = source ?? null;
      return;
    }
    if (head === undefined) return;
    if (one.do === "resume") {
      await hf.sessions.resume(`${session.id}@${head.id}`);
      return this.model.goTo(session, head);
    }
    const isBehind = session.current?.behind.has(head.id) === true && !head.aborted;
    const rewinding = hf.sessions.rewind(`${session.id}@${head.id}`);
    if (!isBehind) return expect(rewinding).rejects.toMatchObject({ code: "Conflict" });
    await rewinding;
    session.current = head;
    this.model.goTo(session, head);
  }

  async compare(): Promise<void> {
    for (const hf of this.#handles) await this.#compare(hf);
  }

  async #compare(hf: Holdfast): Promise<void> {
    for (const session of this.model.sessions.values()) {
      const { id } = session;
      const history = this.model.history(session);
      expect((await hf.history.session(id)).map(shownAs), `history of ${id}`).toEqual(history);
      expect((await hf.history.session(id, { last: 3 })).map(shownAs)).toEqual(history.slice(-3));
      expect(await hf.history.count({ session: id, agent: AGENT })).toBe(history.length);
      expect(await hf.state.get(id), `state of ${id}`).toEqual(valuesOf(session.now.state));
      expect((await hf.heads.current(id))?.id ?? null).toBe(session.current?.id ?? null);
      expect(await hf.log.verify(id)).toMatchObject({ ok: true });
    }
    for (const head of this.model.heads) {
      const view = await hf.sessions.at(`${head.session}@${head.id}`);
      const shown = this.model.at(head);
      expect((await view.messages()).map(shownAs), `at ${head.id}`).toEqual(shown);
      expect((await view.messages({ last: 2 })).map(shownAs)).toEqual(shown.slice(-2));
      expect(await view.state()).toEqual(valuesOf(head.state));
      expect(await view.counts()).toEqual(view.head?.counts);
    }
    expect(new Set(this.model.heads.map(({ id }) => id)).size).toBe(this.model.heads.length);
    expect((await hf.check()).issues).toEqual([]);
    // Shared, not copied: as many messages as were ever appended.
    const { nouns } = await hf.stats();
    expect(nouns.messages?.rows ?? 0).toBeLessThanOrEqual(this.#texts);
  }
}

const PLACES = [
  {
    name: "sqlite in memory",
    url: async () => ({ url: ":memory:", end: () => {} }),
    runs: scaled({ short: 12, long: 200 }),
    handles: 1,
  },
  {
    name: "sqlite in a file",
    url: async () => {
      const folder = mkdtempSync(path.join(tmpdir(), "holdfast-lineage-"));
      return { url: path.join(folder, "store.db"), end: () => rmSync(folder, { recursive: true, force: true }) };
    },
    runs: scaled({ short: 8, long: 100 }),
    handles: 2,
  },
  {
    name: "postgres",
    url: async () => ({
      url: `${postgresUrl()}?schema=lineage_${process.pid}_${Math.random().toString(36).slice(2)}`,
      end: () => {},
    }),
    runs: scaled({ short: 5, long: 40 }),
    handles: 2,
  },
] as const;

describe.each(PLACES)("lineage on $name, through $handles handle(s)", ({ url, runs, handles }) => {
  test(
    "SE2 any head shows what the naive model had, after any sequence of verbs",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.tuple(command, fc.nat(1)), { minLength: 5, maxLength: 40 }), async (commands) => {
          const place = await url();
          const hf = await open(place.url, { durability: "normal" });
          const others = handles === 1 ? [] : [await open(place.url, { durability: "normal" })];
          try {
            const world = new LineageTester(hf, ...others);
            await world.run(commands);
            await world.compare();
          } finally {
            for (const one of [hf, ...others]) await one.close();
            place.end();
          }
        }),
        { numRuns: runs, endOnFailure: false },
      );
    },
    scaled({ short: 240_000, long: 1_800_000 }),
  );
});
