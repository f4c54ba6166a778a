// Appends on SQLite: the time of one, the appends per second of 64 writers, and how long the event loop is blocked.
import * as path from "node:path";
import { open } from "../../src/open.ts";
import { LOOP_DELAY, measureLoopDelay } from "../loop.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench, Setting } from "../suite.ts";
import { bareAppender, bareBatches, bytesPerAppend, openBare, sameRowsAppender } from "./floor.ts";
import { AGENT, messageSource, TEXT_LENGTH, writeAtOnce } from "./messages.ts";

const ROUNDS = 7;
const WRITERS = 64;

export const sequential: Bench = {
  metrics: ["append.sequential", "append.sequential.onerow"],
  async run({ folder, seconds }) {
    const file = path.join(folder, "sequential.db");
    const hf = await open(file);
    const next = messageSource();
    const append = () => hf.history.append({ session: "one", agent: AGENT }, next());
    await append();
    await append();
    const bytes = bytesPerAppend(file);
    const bare = openBare(path.join(folder, "sequential-bare.db"));
    const bareAppend = bareAppender(bare, bytes);
    const same = await sameRowsAppender(path.join(folder, "sequential-same.db"), TEXT_LENGTH);
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], sameRows = [], oneRow = []] = await alternate(ROUNDS, [
      async () => percentile(await sample(turnMs, append), 0.5),
      async () => percentile(await sample(turnMs, same.append), 0.5),
      async () => percentile(await sample(turnMs, bareAppend), 0.5),
    ]);
    await hf.close();
    same.close();
    bare.close();
    return [
      {
        metric: "append.sequential",
        unit: "ms",
        ...compare(ours, sameRows),
        targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
        note: "p50; baseline: one bare commit of the same rows into the same tables, by two prepared statements",
      },
      {
        metric: "append.sequential.onerow",
        unit: "ms",
        ...compare(ours, oneRow),
        note: `the same against one bare INSERT of the same ${bytes} bytes into a table without any key`,
      },
    ];
  },
};

export const concurrent: Bench = {
  metrics: ["append.concurrent64", "append.concurrent64.unkeyed"],
  async run({ folder, seconds }) {
    const file = path.join(folder, "concurrent.db");
    const hf = await open(file);
    const next = messageSource();
    await writeAtOnce(hf, WRITERS, 1, next);
    const bytes = bytesPerAppend(file);
    const keyed = openBare(path.join(folder, "concurrent-keyed.db"));
    const unkeyed = openBare(path.join(folder, "concurrent-unkeyed.db"));
    const keyedBatches = bareBatches(keyed, bytes, true);
    const unkeyedBatches = bareBatches(unkeyed, bytes, false);
    const turnMs = (seconds * 1000) / ROUNDS;
    const [ours = [], raw = [], heap = []] = await alternate(ROUNDS, [
      () => writeAtOnce(hf, WRITERS, turnMs, next),
      () => keyedBatches(turnMs),
      () => unkeyedBatches(turnMs),
    ]);
    await hf.close();
    keyed.close();
    unkeyed.close();
    return [
      {
        metric: "append.concurrent64",
        unit: "/s",
        ...compare(ours, raw),
        targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
        note: `baseline: bare commits of 64 rows of ${bytes} bytes in one INSERT, PRIMARY KEY (session, seq)`,
      },
      {
        metric: "append.concurrent64.unkeyed",
        unit: "/s",
        ...compare(ours, heap),
        note: "the same against a table without any key, which cannot be read back by session",
      },
    ];
  },
};

export const loopDelay: Bench = {
  metrics: [LOOP_DELAY],
  async run({ folder, seconds }: Setting): Promise<readonly Result[]> {
    const hf = await open(path.join(folder, "loop.db"));
    const next = messageSource();
    const result = await measureLoopDelay("64 writers", seconds, (turnMs) => writeAtOnce(hf, WRITERS, turnMs, next));
    await hf.close();
    return [result];
  },
};
