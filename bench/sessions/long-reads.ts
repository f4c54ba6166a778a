// How long other code of the process waits while a long session is read, verified, exported and imported: the delay of the
// event loop during each of them; the longest one is the result.
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { AGENT, fill, messageSource } from "../foundation/messages.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { delayDuring, type LoopDelay } from "../loop.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const EVENTS = 200_000;
const MOST_MS = 50;
const SESSION = "long";

interface MeasuredRead extends LoopDelay {
  readonly name: string;
  readonly seconds: number;
}

async function replay(hf: Holdfast): Promise<void> {
  let seen = 0;
  for await (const _ of hf.log.tail(SESSION)) if (++seen === EVENTS) return;
}

async function measureLoop(
  metric: string,
  from: string,
  to: string,
  say: (text: string) => void,
): Promise<readonly Result[]> {
  const hf = await open(from);
  // The creation of the session is an event too.
  await fill(hf, SESSION, EVENTS - 1, messageSource());
  say(`  ${EVENTS} events`);
  const measured: MeasuredRead[] = [];
  const measure = async (name: string, run: () => Promise<unknown>) => {
    const start = performance.now();
    const delay = await delayDuring(run);
    measured.push({ name, ...delay, seconds: (performance.now() - start) / 1000 });
  };
  const pieces: Uint8Array[] = [];
  await measure("verify", () => hf.log.verify(SESSION));
  await measure("history", () => hf.history.get({ session: SESSION, agent: AGENT }));
  await measure("context", () => hf.sessions.context(SESSION));
  await measure("tail", () => replay(hf));
  await measure("export", async () => {
    for await (const piece of hf.sessions.export(SESSION)) pieces.push(piece);
  });
  await hf.close();
  const other = await open(to);
  await measure("import", () => other.sessions.import(pieces));
  await other.close();
  const idle = await delayDuring(() => sleep(1000));
  const worst = measured.toSorted((a, b) => b.p99 - a.p99)[0];
  const value = worst?.p99 ?? Number.NaN;
  const each = measured.map(
    ({ name, p99, max, seconds }) =>
      `${name} ${p99.toFixed(1)} (max ${max.toFixed(0)} ms, took ${seconds.toFixed(1)} s)`,
  );
  return [
    {
      metric,
      unit: "ms",
      value,
      baseline: idle.p99,
      ratio: value / idle.p99,
      targets: [{ of: "value", must: "atMost", limit: MOST_MS }],
      note: `the worst p99 of: ${each.join(", ")}; ${EVENTS.toLocaleString("en-US")} events; baseline: an idle loop`,
    },
  ];
}

export const longReads: Bench = {
  metrics: ["read.loop.p99"],
  run: ({ folder, say }) =>
    measureLoop("read.loop.p99", path.join(folder, "long-reads.db"), path.join(folder, "long-import.db"), say),
};

export function longReadsOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.read.loop.p99"],
    async run({ say }) {
      const url = await server.url(say);
      return withSchema(url, (from) => withSchema(url, (to) => measureLoop("pg.read.loop.p99", from, to, say)));
    },
  };
}
