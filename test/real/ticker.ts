// A child that measures its own event loop (a timer every 5 ms) while it opens the store, appends or reads. After the number of
// ticks that it is given it says "waited" and their number; sooner if the work has ended.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { textOf } from "./examine.ts";

export interface TickerReport {
  /** How long the work took, and the longest time in which the event loop did nothing else. */
  readonly tookMs: number;
  readonly longestGapMs: number;
  readonly ticks: number;
}

const { url, enoughTicks }: { url: string; enoughTicks: number } = JSON.parse(process.argv[2] ?? "{}");

async function measured(work: () => Promise<unknown>): Promise<TickerReport> {
  const start = performance.now();
  let last = start;
  let longestGapMs = 0;
  let ticks = 0;
  const tick = () => {
    const now = performance.now();
    longestGapMs = Math.max(longestGapMs, now - last);
    last = now;
  };
  const timer = setInterval(() => {
    ticks++;
    tick();
    if (ticks === enoughTicks) writeSync(1, `waited ${ticks}\n`);
  }, 5);
  await work();
  clearInterval(timer);
  tick();
  if (ticks < enoughTicks) writeSync(1, `waited ${ticks}\n`);
  return { tookMs: performance.now() - start, longestGapMs, ticks };
}

const scope = { session: "chat", agent: "ticker" };
const handles: Holdfast[] = [];
let n = 0;
const works: Record<string, () => Promise<unknown>> = {
  open: async () => {
    handles.push(await open(url));
  },
  append: async () => handles.at(-1)?.history.append(scope, { role: "user", content: textOf("ticker", n++) }),
  read: async () => handles.at(-1)?.history.get(scope, { last: 10 }),
  close: async () => Promise.all(handles.map((handle) => handle.close())),
};
writeSync(1, "ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const work = works[line];
  if (work === undefined) throw new Error(`no such work: ${line}`);
  writeSync(1, `measured ${JSON.stringify(await measured(work))}\n`);
  if (line === "close") break;
}
