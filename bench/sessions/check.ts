// Whether a deep check of a large store costs more for each message than one of a small store. CHECK_MESSAGES gives
// the larger store another number of messages, for a quick run; the goal is for a million.
import * as path from "node:path";
import { open } from "../../src/open.ts";
import { AGENT, messageSource } from "../foundation/messages.ts";
import { alternate, compare } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const LARGE = Number(process.env.CHECK_MESSAGES ?? 1_000_000);
const SMALL = LARGE / 10;
const ROUNDS = 2;
const PER_SESSION = 100;
/** How many messages one commit appends; several sessions alternate, as in a store that is in use. */
const PER_APPEND = 10;
const AT_ONCE = 50;
/** One of this many messages is too long to be inline. */
const LONG_EVERY = 10;
const LONG_TIMES = 12;

async function fillStore(file: string, messages: number): Promise<void> {
  const hf = await open(file, { durability: "normal" });
  const next = messageSource();
  let made = 0;
  const message = () => {
    const { role, content } = next();
    made++;
    return { role, content: `${made} ${String(content).repeat(made % LONG_EVERY === 0 ? LONG_TIMES : 1)}` };
  };
  const sessions = Math.max(1, messages / PER_SESSION);
  for (let turn = 0; made < messages; ) {
    const appended: Promise<unknown>[] = [];
    for (let n = 0; n < AT_ONCE && made < messages; n++, turn++) {
      const scope = { session: `session-${turn % sessions}`, agent: AGENT };
      appended.push(hf.history.appendMany(scope, Array.from({ length: PER_APPEND }, message)));
    }
    await Promise.all(appended);
  }
  await hf.close();
}

/** The microseconds for each message. */
async function checkOnce(file: string, messages: number): Promise<number> {
  const hf = await open(file);
  try {
    const start = performance.now();
    const { status, counts } = await hf.check();
    const took = performance.now() - start;
    if (status !== "ok" || counts.messages !== messages) throw new Error(`${status}, ${counts.messages} messages`);
    return (took * 1000) / messages;
  } finally {
    await hf.close();
  }
}

export const checking: Bench = {
  metrics: ["check.growth"],
  async run({ folder, say }): Promise<readonly Result[]> {
    const stores = [LARGE, SMALL].map((messages) => ({ file: path.join(folder, `check-${messages}.db`), messages }));
    for (const { file, messages } of stores) {
      const start = performance.now();
      await fillStore(file, messages);
      say(`  ${messages} messages in ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
    const [large = [], small = []] = await alternate(
      ROUNDS,
      stores.map(
        ({ file, messages }) =>
          () =>
            checkOnce(file, messages),
      ),
      0,
    );
    return [
      {
        metric: "check.growth",
        unit: "µs",
        ...compare(large, small),
        targets: [{ of: "ratio", must: "atMost", limit: 1.2 }],
        note: `a deep check for each of ${LARGE.toLocaleString("en-US")} messages; baseline: of ${SMALL.toLocaleString("en-US")}`,
      },
    ];
  },
};
