// Whether a long session costs more than a short one: appends and reads at 100,000 messages against 1,000.
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { MessageInput } from "../../src/contracts/messages.ts";
import { open } from "../../src/open.ts";
import { alternate, compare, percentile, sample, sampleTimes } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { AGENT, fill, messageSource } from "./messages.ts";

const ROUNDS = 7;
const LONG = 100_000;
const SHORT = 1_000;
/** Few appends, so that the short session stays short: with the warm-up it has fewer than 2,000 messages. */
const APPENDS_PER_TURN = 100;

const scope = { session: "growing", agent: AGENT };

export const growth: Bench = {
  metrics: ["append.growth", "history.last100"],
  async run({ folder, seconds, say, isSelected }) {
    const long = await open(path.join(folder, "long.db"));
    const short = await open(path.join(folder, "short.db"));
    const next = messageSource();
    await fillBoth(long, short, next, say);
    const results: Result[] = [];
    if (isSelected("append.growth")) results.push(await measureGrowth("append.growth", long, short, next));
    if (isSelected("history.last100")) results.push(await measureReads(long, short, seconds));
    await long.close();
    await short.close();
    return results;
  },
};

export async function fillBoth(
  long: Holdfast,
  short: Holdfast,
  next: () => MessageInput,
  say: (text: string) => void,
): Promise<void> {
  const start = performance.now();
  await fill(long, scope.session, LONG, next);
  say(`  ${LONG} messages by appendMany in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  await fill(short, scope.session, SHORT, next);
}

export async function measureGrowth(
  metric: string,
  long: Holdfast,
  short: Holdfast,
  next: () => MessageInput,
): Promise<Result> {
  const [atLong = [], atShort = []] = await alternate(
    ROUNDS,
    [long, short].map((hf) => async () => {
      const samples = await sampleTimes(APPENDS_PER_TURN, () => hf.history.append(scope, next()));
      return percentile(samples, 0.5);
    }),
  );
  return {
    metric,
    unit: "ms",
    ...compare(atLong, atShort),
    targets: [{ of: "ratio", must: "atMost", limit: 1.3 }],
    note: "p50 append at 100,000 messages in the session; baseline: at 1,000",
  };
}

async function measureReads(long: Holdfast, short: Holdfast, seconds: number): Promise<Result> {
  const turnMs = (seconds * 1000) / ROUNDS;
  const [atLong = [], atShort = []] = await alternate(
    ROUNDS,
    [long, short].map(
      (hf) => async () => percentile(await sample(turnMs, () => hf.history.get(scope, { last: 100 })), 0.5),
    ),
  );
  return {
    metric: "history.last100",
    unit: "ms",
    ...compare(atLong, atShort),
    targets: [
      { of: "ratio", must: "atMost", limit: 1.5 },
      { of: "value", must: "atMost", limit: 1 },
    ],
    note: "p50 of get(last: 100) at 100,000 messages; baseline: at 1,000",
  };
}
