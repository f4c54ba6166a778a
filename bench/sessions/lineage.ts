// The costs of forks, heads and a head per turn: whether they grow with depth and length, the bytes of a turn on disk, and how fast a
// chain is verified.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import * as path from "node:path";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { open } from "../../src/open.ts";
import { AGENT, fill, messageSource } from "../foundation/messages.ts";
import { type SharedServer, withSchema } from "../foundation/postgres.ts";
import { alternate, compare, median, percentile, sample, sampleTimes } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";

const ROUNDS = 7;
const FORKS_PER_TURN = 20;

/** A session at the end of `depth` forks, with a number of messages in all; each fork added one message. */
async function forked(hf: Holdfast, name: string, messages: number, depth: number): Promise<string> {
  const next = messageSource();
  await fill(hf, `${name}-0`, messages - depth, next);
  for (let at = 1; at <= depth; at++) {
    await hf.sessions.fork(`${name}-${at - 1}`, { id: `${name}-${at}` });
    await hf.history.append({ session: `${name}-${at}`, agent: AGENT }, next());
  }
  return `${name}-${depth}`;
}

async function measureForks(metric: string, hf: Holdfast): Promise<Result> {
  const deep = await forked(hf, "deep", 10_000, 30);
  const flat = await forked(hf, "flat", 100, 1);
  const next = messageSource();
  let made = 0;
  const forkOnce = async (source: string) => {
    const id = `fork-${made++}`;
    await hf.sessions.fork(source, { id });
    await hf.history.append({ session: id, agent: AGENT }, next());
    const found = await hf.history.get({ session: id, agent: AGENT }, { last: 100 });
    if (found.length !== 100) throw new Error(`${found.length} messages instead of 100`);
  };
  const [atDeep = [], atFlat = []] = await alternate(
    ROUNDS,
    [deep, flat].map(
      (source) => async () => percentile(await sampleTimes(FORKS_PER_TURN, () => forkOnce(source)), 0.5),
    ),
  );
  return {
    metric,
    unit: "ms",
    ...compare(atDeep, atFlat),
    targets: [{ of: "ratio", must: "atMost", limit: 2 }],
    note: "p50 of fork, first append and last 100: of 10,000 messages at fork depth 30; baseline: of 100 at depth 1",
  };
}

const PER_BRANCH = 10;

/** A session at a depth of forks of forks, each with its own messages. */
async function forkedDeep(hf: Holdfast, name: string, depth: number): Promise<string> {
  const next = messageSource();
  await fill(hf, `${name}-0`, PER_BRANCH, next);
  for (let at = 1; at <= depth; at++) {
    await hf.sessions.fork(`${name}-${at - 1}`, { id: `${name}-${at}` });
    await fill(hf, `${name}-${at}`, PER_BRANCH, next);
  }
  return `${name}-${depth}`;
}

async function measureBranchDepth(metric: string, url: string, seconds: number): Promise<Result> {
  const building = await open(url, { durability: "normal" });
  const deep = await forkedDeep(building, "depth1000", 1000);
  const flat = await forkedDeep(building, "depth10", 10);
  await building.close();
  // Another handle, because PostgreSQL keeps the plans of a connection: those of the first handle were made for an empty store.
  const hf = await open(url);
  try {
    const turnMs = (seconds * 1000) / ROUNDS;
    const readLast = async (session: string) => {
      const found = await hf.history.get({ session, agent: AGENT }, { last: 100 });
      if (found.length !== 100) throw new Error(`${found.length} messages instead of 100`);
    };
    const [atDeep = [], atFlat = []] = await alternate(
      ROUNDS,
      [deep, flat].map((session) => async () => percentile(await sample(turnMs, () => readLast(session)), 0.5)),
    );
    return {
      metric,
      unit: "ms",
      ...compare(atDeep, atFlat),
      targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
      note: "p50 of the last 100 messages of a session at branch depth 1,000, 10 messages a branch; baseline: at depth 10",
    };
  } finally {
    await hf.close();
  }
}

const HEADS = 10_000;

async function measureDepth(hf: Holdfast, seconds: number): Promise<Result> {
  const next = messageSource();
  const heads: string[] = [];
  for (let n = 0; n < HEADS; n++) {
    await hf.history.append({ session: "heads", agent: AGENT }, next());
    heads.push((await hf.heads.publish("heads")).id);
  }
  const turnMs = (seconds * 1000) / ROUNDS;
  const readAt = async (head: string | undefined) => {
    const view = await hf.sessions.at(`heads@${head}`);
    const found = await view.messages({ last: 100 });
    if (found.length !== 100) throw new Error(`${found.length} messages instead of 100`);
  };
  const [late = [], early = []] = await alternate(
    ROUNDS,
    [HEADS, 100].map((n) => async () => percentile(await sample(turnMs, () => readAt(heads[n - 1])), 0.5)),
  );
  return {
    metric: "head.depth",
    unit: "ms",
    ...compare(late, early),
    targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
    note: "p50 of the last 100 messages at head 10,000; baseline: at head 100",
  };
}

const TURNS = 500;
const TURN_BYTES = 1000;

async function measureDisk(folder: string): Promise<Result> {
  const file = path.join(folder, "turns.db");
  const hf = await open(file);
  const next = messageSource();
  const empty = await emptyBytes(path.join(folder, "empty.db"));
  let text = 0;
  await hf.sessions.create({ id: "turns" });
  for (let n = 0; n < TURNS; n++) {
    const turn = await hf.turns.begin("turns");
    const content = `${next().content}${next().content}`.slice(0, TURN_BYTES);
    text += content.length;
    await hf.history.append({ session: "turns", agent: AGENT }, { role: "assistant", content });
    await hf.turns.finish(turn.id);
  }
  await hf.close();
  const bytes = statSync(file).size - empty;
  return {
    metric: "disk.turns500",
    unit: "bytes",
    value: bytes,
    baseline: text,
    ratio: bytes / text,
    targets: [{ of: "ratio", must: "atMost", limit: 2 }],
    note: "growth of the file by 500 turns, a message of 1 kB and a head each; baseline: the text itself",
  };
}

async function emptyBytes(file: string): Promise<number> {
  await (await open(file)).close();
  return statSync(file).size;
}

const CHAIN = 50_000;

/** The bytes that verifying hashes for one event: its envelope after the previous hash, its content, and the content's salt and digest. */
async function hashedBytes(hf: Holdfast): Promise<readonly Uint8Array[]> {
  const [, event] = await hf.log.read("chain", { limit: 2 });
  const [message] = await hf.history.session("chain", { limit: 1 });
  const { agent, at, commitments, data, seq, type } = event ?? {};
  const lengths = [
    32 + JSON.stringify({ agent, at, commitments, data, seq, type, v: 1 }).length,
    JSON.stringify({ content: message?.content }).length,
    48,
  ];
  return lengths.map((length) => new Uint8Array(length).fill(97));
}

async function measureChain(hf: Holdfast): Promise<Result> {
  await fill(hf, "chain", CHAIN, messageSource());
  const bytes = await hashedBytes(hf);
  const verify = async () => {
    const start = performance.now();
    const report = await hf.log.verify("chain");
    if (!report.ok) throw new Error(report.reason);
    return (report.events / (performance.now() - start)) * 1000;
  };
  const bare = () => {
    const start = performance.now();
    for (let n = 0; n < CHAIN; n++) for (const one of bytes) createHash("sha256").update(one).digest();
    return (CHAIN / (performance.now() - start)) * 1000;
  };
  const [ours = [], floor = []] = await alternate(5, [verify, bare]);
  return {
    metric: "chain.verify",
    unit: "/s",
    value: median(ours),
    baseline: median(floor),
    ratio: median(ours.map((rate, round) => rate / (floor[round] ?? Number.NaN))),
    targets: [{ of: "ratio", must: "atLeast", limit: 0.3 }],
    note: "events verified per second, words and commitments too; baseline: bare SHA-256 of the same bytes",
  };
}

export const lineage: Bench = {
  metrics: ["fork.flat", "head.depth", "lineage.depth", "disk.turns500", "chain.verify"],
  async run({ folder, seconds, isSelected }) {
    const results: Result[] = [];
    const hf = await open(path.join(folder, "lineage.db"));
    const quick = await open(path.join(folder, "heads.db"), { durability: "normal" });
    try {
      if (isSelected("fork.flat")) results.push(await measureForks("fork.flat", hf));
      if (isSelected("head.depth")) results.push(await measureDepth(quick, seconds));
      if (isSelected("lineage.depth")) {
        results.push(await measureBranchDepth("lineage.depth", path.join(folder, "depth.db"), seconds));
      }
      if (isSelected("disk.turns500")) results.push(await measureDisk(folder));
      if (isSelected("chain.verify")) results.push(await measureChain(quick));
      return results;
    } finally {
      await hf.close();
      await quick.close();
    }
  },
};

export function lineageOn(server: SharedServer): Bench {
  return {
    metrics: ["pg.fork.flat", "pg.lineage.depth"],
    async run({ say, seconds, isSelected }) {
      const serverUrl = await server.url(say);
      const results: Result[] = [];
      if (isSelected("pg.fork.flat")) {
        results.push(
          await withSchema(serverUrl, async (url) => {
            const hf = await open(url);
            try {
              return await measureForks("pg.fork.flat", hf);
            } finally {
              await hf.close();
            }
          }),
        );
      }
      if (isSelected("pg.lineage.depth")) {
        const measure = (url: string) => measureBranchDepth("pg.lineage.depth", url, seconds);
        results.push(await withSchema(serverUrl, measure));
      }
      return results;
    },
  };
}
