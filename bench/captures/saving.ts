// A session of 12 MB saved the first time, saved again after one more turn, and restored on another machine.
import { mkdir } from "node:fs/promises";
import * as path from "node:path";
import { claudeSession } from "../claude-session.ts";
import { alternate, compare, median, timed } from "../measure.ts";
import type { Result } from "../report.ts";
import type { Bench } from "../suite.ts";
import { type OnDisk, putOnDisk, restoreCapture, restoreRow } from "./disk.ts";
import type { Engine, EngineKind } from "./engine.ts";

export const BYTES = 12_000_000;
const ROUNDS = 5;
const WARM_UPS = 1;

export function saving(kind: EngineKind): Bench {
  const name = (metric: string) => `${kind.prefix}${metric}`;
  return {
    metrics: ["capture.first", "capture.increment", "capture.increment.bytes", "restore"].map(name),
    async run(setting) {
      const folder = path.join(setting.folder, `saving-${kind.prefix}`);
      await mkdir(folder, { recursive: true });
      return kind.with(setting)(async (engine) => {
        const results = [...(await first(engine, folder)), ...(await increments(engine, folder))];
        return results.map((result) => ({ ...result, metric: name(result.metric) }));
      });
    },
  };
}

/** Another session in each round, because bytes that are stored already would not be written. */
async function first(engine: Engine, folder: string): Promise<readonly Result[]> {
  const sessions: OnDisk[] = [];
  for (let i = 0; i < ROUNDS + WARM_UPS; i++) {
    sessions.push(await putOnDisk(engine, folder, claudeSession({ cwd: folder, bytes: BYTES, seed: 100 + i })));
  }
  const of = (round: number): OnDisk => sessions[round + WARM_UPS] as OnDisk;
  const captures = new Map<OnDisk, string>();
  const [ours = [], seeds = []] = await alternate(
    ROUNDS,
    [
      (round) => timed(async () => captures.set(of(round), (await of(round).save()).id)),
      (round) => timed(() => of(round).saveRow()),
    ],
    WARM_UPS,
  );
  const back = (round: number, how: string) => path.join(folder, `back-${how}-${round + WARM_UPS}`);
  const [restored = [], unzipped = []] = await alternate(
    ROUNDS,
    [
      (round) => timed(() => restoreCapture(engine, captures.get(of(round)) ?? "", folder, back(round, "capture"))),
      (round) => timed(() => restoreRow(engine, of(round).sessionId, folder, back(round, "row"))),
    ],
    WARM_UPS,
  );
  return [
    {
      metric: "capture.first",
      unit: "ms",
      ...compare(ours, seeds),
      targets: [{ of: "ratio", must: "atMost", limit: 1 }],
      note: "12 MB found, looked through for secrets and saved, durable; baseline: gzip of the whole file into one row",
    },
    {
      metric: "restore",
      unit: "ms",
      ...compare(restored, unzipped),
      targets: [{ of: "ratio", must: "atMost", limit: 1.5 }],
      note: "every hash compared, read back, on disk; baseline: gunzip of the row into a file, unverified and not synced",
    },
  ];
}

async function increments(engine: Engine, folder: string): Promise<readonly Result[]> {
  const turns = ROUNDS + WARM_UPS;
  const whole = claudeSession({ cwd: folder, bytes: BYTES + turns * 250_000, seed: 99 });
  const cuts = whole.ends.slice(-turns - 1);
  const before = await engine.bytes();
  const grown = await putOnDisk(engine, folder, {
    sessionId: whole.sessionId,
    bytes: whole.bytes.subarray(0, cuts[0]),
  });
  await grown.save();
  const once = (await engine.bytes()) - before;
  const added: number[] = [];
  const [ours = [], seeds = []] = await alternate(
    ROUNDS,
    [
      async (round) => {
        const at = round + WARM_UPS;
        await grown.append(whole.bytes.subarray(cuts[at], cuts[at + 1]));
        const had = await engine.bytes();
        const took = await timed(() => grown.save());
        added.push((await engine.bytes()) - had);
        return took;
      },
      () => timed(() => grown.saveRow()),
    ],
    WARM_UPS,
  );
  const turn = ((cuts.at(-1) ?? 0) - (cuts[0] ?? 0)) / turns;
  return [
    {
      metric: "capture.increment",
      unit: "ms",
      ...compare(ours, seeds),
      targets: [{ of: "ratio", must: "atMost", limit: 0.1 }],
      note: `after one more turn of ${Math.round(turn / 1000)} kB; baseline: gzip of the whole file into one row, again`,
    },
    {
      metric: "capture.increment.bytes",
      unit: "kB",
      value: median(added) / 1000,
      baseline: once / 1000,
      ratio: median(added) / once,
      targets: [{ of: "ratio", must: "atMost", limit: 0.05 }],
      note: "growth of the store on disk by that; baseline: by the first capture",
    },
  ];
}
