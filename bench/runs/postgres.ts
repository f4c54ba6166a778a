// Steps of runs on PostgreSQL, against the same rows through the bare driver: one connection, prepared statements.
import { open } from "../../src/open.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Bench } from "../suite.ts";
import { hold, holdMany, stepAtOnce } from "./held-runs.ts";
import { type ReadTable, sameRowsBy } from "./rows.ts";
import { ATONCE, measureRates, ratesOf, stepRows } from "./steps.ts";

const ROUNDS = 7;

export function sequentialOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.step.sequential"],
    async run({ seconds, say }) {
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        const hf = await open(storeUrl);
        await sql.unsafe(`SET search_path = ${schema}`);
        const read: ReadTable = async (text) => (await sql.unsafe(text)) as never;
        const bare = sameRowsBy(sql, await stepRows(hf, read, 1));
        const held = await hold(hf, "one");
        const turnMs = (seconds * 1000) / ROUNDS;
        const [ours = [], rows = []] = await alternate(ROUNDS, [
          async () => percentile(await sample(turnMs, held.step), 0.5),
          async () => percentile(await sample(turnMs, bare), 0.5),
        ]);
        await held.end();
        await hf.close();
        return [
          {
            metric: "pg.step.sequential",
            unit: "ms",
            ...compare(ours, rows),
            targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
            note: "p50 of intent and result; baseline: the same rows by two bare prepared statements that commit by themselves",
          },
        ];
      });
    },
  };
}

export function concurrentOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.step.concurrent64"],
    async run({ seconds, say }) {
      return withSchema(await server.url(say), async (storeUrl, schema, sql) => {
        const hf = await open(storeUrl);
        await sql.unsafe(`SET search_path = ${schema}`);
        const read: ReadTable = async (text) => (await sql.unsafe(text)) as never;
        const bare = sameRowsBy(sql, await stepRows(hf, read, ATONCE));
        const held = await holdMany(hf, ATONCE);
        const turnMs = (seconds * 1000) / ROUNDS;
        const [ours = [], rows = []] = await alternate(ROUNDS, [
          async () => (await stepAtOnce(held, turnMs)).rate,
          async () => {
            const start = performance.now();
            let steps = 0;
            for (; performance.now() < start + turnMs; steps += ATONCE) await bare();
            return (steps / (performance.now() - start)) * 1000;
          },
        ]);
        await Promise.all(held.map((one) => one.end()));
        await hf.close();
        return [
          {
            metric: "pg.step.concurrent64",
            unit: "/s",
            ...compare(ours, rows),
            targets: [{ of: "ratio", must: "atLeast", limit: 0.5 }],
            note: "steps of 64 runs; baseline: the same rows of 64 sessions by two bare prepared statements",
          },
        ];
      });
    },
  };
}

export function ratesOn(server: SharedServer): Bench {
  return {
    metrics: ratesOf("pg.step."),
    async run({ seconds, say }) {
      return withSchema(await server.url(say), async (storeUrl) => {
        const hf = await open(storeUrl);
        const results = await measureRates("pg.step.", hf, seconds);
        await hf.close();
        return results;
      });
    },
  };
}
