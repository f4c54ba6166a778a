// What live tails cost writers: appends with 1,000 tails waiting, beside appends with none.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { alternate, compare, percentile } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { AGENT, fill, messageSource } from "./messages.ts";
import { type SharedServer, withSchema } from "./postgres.ts";

const TAILS = 1000;
/** Many times what the waker lets a log rest for: most events must be delivered while others are written. */
const APPENDS = 1000;
const ROUNDS = 5;
/** One in this many tails of a session reads the clock for each event, because reading it costs as much as a delivery. */
const TAILS_PER_CLOCK = 16;

/** The time at which each append was acknowledged, and the delay after which the tails had its event. */
class Delays {
  readonly samples: number[] = [];
  #acknowledged: number[] = [];
  #deliveries: { readonly append: number; readonly at: number }[] = [];

  acknowledge(): void {
    this.#acknowledged.push(performance.now());
  }

  deliver(append: number): void {
    this.#deliveries.push({ append, at: performance.now() });
  }

  endRound(counts: boolean): void {
    for (const { append, at } of counts ? this.#deliveries : []) {
      // A tail may have the event before the writer has its answer.
      this.samples.push(Math.max(0, at - (this.#acknowledged[append] ?? Number.NaN)));
    }
    this.#acknowledged = [];
    this.#deliveries = [];
  }

  toString(): string {
    const [half, most] = [0.5, 0.99].map((share) => percentile(this.samples, share).toFixed(1));
    return `delivered p50 ${half} ms, p99 ${most} ms after the append`;
  }
}

/** Tails of the sessions, each waiting for events. Append n goes to session n modulo the number of sessions. */
async function follow(hf: Holdfast, sessions: readonly string[], delays: Delays) {
  const stop = new AbortController();
  let delivered = 0;
  const count = async (session: string, after: number) => {
    for await (const _ of hf.log.tail(session, { after, signal: stop.signal })) delivered++;
  };
  const time = async (session: string, after: number, index: number) => {
    // A tail waits as soon as it has returned its first event.
    for await (const { seq } of hf.log.tail(session, { after, signal: stop.signal })) {
      delivered++;
      if (seq > after + 1) delays.deliver((seq - after - 2) * sessions.length + index);
    }
  };
  const ends = await Promise.all(sessions.map(async (session) => (await hf.log.anchor(session)).seq));
  const tails = Array.from({ length: TAILS }, (_, i) => {
    const index = i % sessions.length;
    const [session = "", after = 0] = [sessions[index], ends[index]];
    return sessions.length > 1 || i % TAILS_PER_CLOCK === 0 ? time(session, after, index) : count(session, after);
  });
  // A tail does not report that it waits, so the bench appends an event and waits until all tails have it.
  const first = messageSource();
  for (const session of sessions) await hf.history.append({ session, agent: AGENT }, first());
  while (delivered < TAILS) await new Promise((later) => setTimeout(later, 5));
  delivered = 0;
  return {
    async all(count: number) {
      while (delivered < count) await new Promise((later) => setTimeout(later, 5));
      if (delivered > count) throw new Error(`${delivered} events instead of ${count}`);
    },
    async end() {
      stop.abort();
      await Promise.all(tails);
    },
  };
}

async function measureFanout(metric: string, hf: Holdfast, count: number): Promise<Result> {
  const next = messageSource();
  const sessions = Array.from({ length: count }, (_, i) => `${metric}-${i}`);
  for (const session of sessions) await fill(hf, session, 1, next);
  const delays = new Delays();
  const append = async (acknowledge = () => {}) => {
    const start = performance.now();
    for (let n = 0; n < APPENDS; n++) {
      await hf.history.append({ session: sessions[n % sessions.length] ?? "", agent: AGENT }, next());
      acknowledge();
    }
    return (APPENDS / (performance.now() - start)) * 1000;
  };
  const [ours = [], alone = []] = await alternate(ROUNDS, [
    async (round) => {
      const tails = await follow(hf, sessions, delays);
      const rate = await append(() => delays.acknowledge());
      await tails.all(count === 1 ? APPENDS * TAILS : APPENDS);
      await tails.end();
      delays.endRound(round >= 0);
      return rate;
    },
    () => append(),
  ]);
  const of = count === 1 ? "one session" : `${count} sessions`;
  return {
    metric,
    unit: "/s",
    ...compare(ours, alone),
    targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
    note: `appends a second, one after the other, with ${TAILS} tails of ${of} in the same process; ${delays}; baseline: with none`,
  };
}

async function measureBoth(prefix: string, hf: Holdfast): Promise<readonly Result[]> {
  return [
    await measureFanout(`${prefix}tail.fanout`, hf, 1),
    await measureFanout(`${prefix}tail.fanout.sessions`, hf, TAILS),
  ];
}

export const fanout: Bench = {
  metrics: ["tail.fanout", "tail.fanout.sessions"],
  async run({ folder }) {
    const hf = await open(path.join(folder, "tails.db"));
    try {
      return await measureBoth("", hf);
    } finally {
      await hf.close();
    }
  },
};

export function fanoutOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.tail.fanout", "pg.tail.fanout.sessions"],
    async run({ say }) {
      return withSchema(await server.url(say), async (url) => {
        const hf = await open(url);
        try {
          return await measureBoth("pg.", hf);
        } finally {
          await hf.close();
        }
      });
    },
  };
}
