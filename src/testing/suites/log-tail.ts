// Log suite: the live tail. It replays, then waits; the reader pulls, so a slow one misses nothing; it ends when the
// signal aborts, the session is erased or the store closes.
import assert from "node:assert/strict";
import type { Log, LogEvent } from "../../contracts/log.ts";
import { collect, present, range } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const scope = { session: "chat", agent: "helper" };
const say = (n: number) => ({ role: "user", content: `${n}` }) as const;

/** The next so many events; the tail stays open for more. */
class Reader {
  readonly #events: AsyncIterator<LogEvent>;

  constructor(log: Log, options?: NonNullable<Parameters<Log["tail"]>[1]>) {
    this.#events = log.tail("chat", options)[Symbol.asyncIterator]();
  }

  async next(count: number): Promise<LogEvent[]> {
    const events: LogEvent[] = [];
    while (events.length < count) {
      const { value, done } = await this.#events.next();
      assert.ok(done !== true, `the tail ended after ${events.length} of ${count} events`);
      events.push(value);
    }
    return events;
  }

  async isAtItsEnd(): Promise<boolean> {
    return (await this.#events.next()).done === true;
  }

  async stop(): Promise<void> {
    await this.#events.return?.();
  }
}

export const logTailCases: readonly Case[] = [
  prove("LG7 a tail replays the log and continues live", ["history", "log"], async ({ history, log }) => {
    await history.appendMany(scope, [say(0), say(1)]);
    const reader = new Reader(log);
    const replayed = await reader.next(3);
    assert.deepEqual(replayed, await log.read("chat"));
    const live = reader.next(2);
    await history.append(scope, say(2));
    await history.append(scope, say(3));
    assert.deepEqual(await live, await log.read("chat", { after: 3 }));
    await reader.stop();
  }),

  prove("LG7 a tail starts behind the seq it is given", ["history", "log"], async ({ history, log }) => {
    await history.appendMany(scope, range(5).map(say));
    const reader = new Reader(log, { after: 4 });
    assert.deepEqual(await reader.next(2), await log.read("chat", { after: 4 }));
    await reader.stop();
  }),

  prove("LG7 a tail from the end gives only what comes from now on", ["history", "log"], async ({ history, log }) => {
    await history.appendMany(scope, range(5).map(say));
    const reader = new Reader(log, { after: "end" });
    const live = reader.next(1);
    let seen: LogEvent | undefined;
    live.then(([event]) => {
      seen = event;
    });
    // Where the end is, the tail finds out for itself while we write; it must be behind what was there before.
    for (let n = 5; seen === undefined; n++) await history.append(scope, say(n));
    assert.ok(seen.seq > 6, `the tail began with ${seen.seq}`);
    assert.deepEqual(await live, await log.read("chat", { after: seen.seq - 1, limit: 1 }));
    await reader.stop();
  }),

  prove("LG7 a tail by type waits for events of that type", ["history", "state", "log"], async (nouns) => {
    const { history, state, log } = nouns;
    await history.append(scope, say(0));
    const reader = new Reader(log, { types: ["state/set"] });
    const live = reader.next(2);
    await state.set("chat", { a: 1 });
    await history.append(scope, say(1));
    await state.set("chat", { a: 2 });
    assert.deepEqual(await live, await log.read("chat", { types: ["state/set"] }));
    await reader.stop();
  }),

  prove("LG7 a slow reader misses nothing", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, say(0));
    const reader = new Reader(log);
    await reader.next(1);
    for (const round of range(20))
      await history.appendMany(
        scope,
        range(100).map((n) => say(round * 100 + n)),
      );
    const rest = await reader.next(2_001);
    assert.deepEqual(
      rest.map(({ seq }) => seq),
      range(2_001).map((n) => n + 2),
    );
    await reader.stop();
  }),

  prove(
    "LG7 a tail sees what another handle writes",
    ["history", "log", "another"],
    async ({ history, log, another }) => {
      await history.append(scope, say(0));
      const other = await another();
      const reader = new Reader(log);
      await reader.next(2);
      for (const n of range(5)) {
        const live = reader.next(1);
        const written = await other.history.append(scope, say(n + 1));
        assert.equal(present((await live)[0]).seq, written.seq);
      }
      await reader.stop();
    },
  ),

  prove("LG7 many tails see the same", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, say(0));
    const tails = range(8).map(() => collect(log.tail("chat"), 12));
    await Promise.all(range(10).map((n) => history.append(scope, say(n + 1))));
    const expected = await log.read("chat");
    for (const seen of await Promise.all(tails)) assert.deepEqual(seen, expected);
  }),

  prove("LG7 a tail ends when its signal aborts", ["history", "log"], async ({ history, log }) => {
    await history.append(scope, say(0));
    const stop = new AbortController();
    const reader = new Reader(log, { signal: stop.signal });
    await reader.next(2);
    const end = reader.isAtItsEnd();
    stop.abort();
    assert.equal(await end, true);
    const late = new Reader(log, { signal: AbortSignal.abort() });
    assert.equal(await late.isAtItsEnd(), true);
  }),

  prove("LG7 a tail ends when the session is erased", ["history", "sessions", "log"], async (nouns) => {
    const { history, sessions, log } = nouns;
    await history.append(scope, say(0));
    const seen = collect(log.tail("chat", { after: 2 }));
    await sessions.delete("chat");
    assert.ok((await seen).every(({ type }) => type === "session/erased"));
  }),

  prove("LG7 a tail ends when the store closes", ["history", "log", "close"], async ({ history, log, close }) => {
    await history.append(scope, say(0));
    const reader = new Reader(log);
    await reader.next(2);
    const end = reader.isAtItsEnd();
    await close();
    assert.equal(await end, true);
  }),

  prove(
    "LG7 leaving a tail early leaves nothing behind",
    ["history", "log", "close"],
    async ({ history, log, close }) => {
      await history.appendMany(scope, range(50).map(say));
      for await (const event of log.tail("chat")) if (event.seq === 10) break;
      const reader = new Reader(log, { after: "end" });
      await reader.stop();
      await close();
    },
  ),
];
