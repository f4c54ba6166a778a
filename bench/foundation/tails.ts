// What live tails cost those who write: appends with 1,000 tails waiting, beside appends with none.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { alternate, compare } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { AGENT, fill, messageSource } from "./messages.ts";
import { type SharedServer, withSchema } from "./postgres.ts";

const TAILS = 1000;
const APPENDS = 200;
const ROUNDS = 5;

/** So many tails of the sessions, each waiting for more. */
async function follow(hf: Holdfast, sessions: readonly string[]) {
  const stop = new AbortController();
  let delivered = 0;
  const read = async (session: string, after: number) => {
    for await (const _ of hf.log.tail(session, { after, signal: stop.signal })) delivered++;
  };
  const ends = await Promise.all(sessions.map(async (session) => (await hf.log.anchor(session)).seq));
  const tails = Array.from({ length: TAILS }, (_, i) =>
    read(sessions[i % sessions.length] ?? "", ends[i % sessions.length] ?? 0),
  );
  // A tail has no word for "I wait": an event that all have seen says it.
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
  const append = async () => {
    const start = performance.now();
    for (let n = 0; n < APPENDS; n++) {
      await hf.history.append({ session: sessions[n % sessions.length] ?? "", agent: AGENT }, next());
    }
    return (APPENDS / (performance.now() - start)) * 1000;
  };
  const [ours = [], alone = []] = await alternate(ROUNDS, [
    async () => {
      const tails = await follow(hf, sessions);
      const rate = await append();
      await tails.all(count === 1 ? APPENDS * TAILS : APPENDS);
      await tails.end();
      return rate;
    },
    append,
  ]);
  const of = count === 1 ? "one session" : `${count} sessions`;
  return {
    metric,
    unit: "/s",
    ...compare(ours, alone),
    targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
    note: `appends a second, one after the other, with ${TAILS} tails of ${of} in the same process; baseline: with none`,
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
