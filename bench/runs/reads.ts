// A recorded read of a context beside the plain read of the same messages, in one run that stays in its iteration.
import * as path from "node:path";
import type { AgentDefinition, Iteration } from "../../src/contracts/agent-definitions.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { messageSource } from "../foundation/messages.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const ROUNDS = 7;
const MESSAGES = 100;
/** A commit includes the reads since the last commit; the bench does not measure that commit. */
const READS_PER_COMMIT = 40;

async function measureReads(metric: string, hf: Holdfast, seconds: number): Promise<Result> {
  const next = messageSource();
  await hf.history.appendMany(
    { session: "read", agent: "bench" },
    Array.from({ length: MESSAGES }, () => next()),
  );
  const reached = Promise.withResolvers<Iteration>();
  const over = Promise.withResolvers<void>();
  const agent: AgentDefinition = {
    id: "bench",
    version: "1",
    tools: { commit: { execute: () => null } },
    async iterate(it) {
      reached.resolve(it);
      await over.promise;
      return it.done();
    },
  };
  const working = hf.runs.execute(agent, { session: "read" });
  working.catch(reached.reject);
  const it = await reached.promise;
  const turnMs = (seconds * 1000) / ROUNDS;
  const recorded: number[] = [];
  const stepAndRead = async (read: () => Promise<unknown>) => {
    const samples: number[] = [];
    for (const end = performance.now() + turnMs; performance.now() < end; ) {
      samples.push(...(await sample(0, read, READS_PER_COMMIT)));
      await it.tool("commit");
    }
    return percentile(samples, 0.5);
  };
  const [ours = [], plain = []] = await alternate(ROUNDS, [
    () => stepAndRead(() => it.context().then(({ messages }) => recorded.push(messages.length))),
    () => stepAndRead(() => hf.sessions.context("read")),
  ]);
  if (recorded.some((count) => count !== MESSAGES)) throw new Error("a recorded read gave something else");
  over.resolve();
  await working;
  return {
    metric,
    unit: "ms",
    ...compare(ours, plain),
    targets: [{ of: "ratio", must: "atMost", limit: 1.3 }],
    note: `p50 of it.context() of ${MESSAGES} messages; baseline: hf.sessions.context() of the same`,
  };
}

export const contextRead: Bench = {
  metrics: ["context.read"],
  async run({ folder, seconds }) {
    const hf = await open(path.join(folder, "context-read.db"));
    const result = await measureReads("context.read", hf, seconds);
    await hf.close();
    return [result];
  },
};

export function contextReadOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.context.read"],
    async run({ seconds, say }) {
      return withSchema(await server.url(say), async (storeUrl) => {
        const hf = await open(storeUrl);
        const result = await measureReads("pg.context.read", hf, seconds);
        await hf.close();
        return [result];
      });
    },
  };
}
