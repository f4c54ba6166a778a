// Loading an agent's core blocks, with which every request of an agent begins.
import * as path from "node:path";
import { open } from "../../src/open.ts";
import { alternate, compare, percentile, sample } from "../measure.ts";
import type { Bench } from "../suite.ts";
import { ordinaryTranscript } from "../transcripts.ts";
import { openBare } from "./floor.ts";
import { AGENT } from "./messages.ts";

const ROUNDS = 7;
const LABELS = ["persona", "human", "facts", "goals", "scratch"];
const BLOCK_BYTES = 2_000;

export const blocks: Bench = {
  metrics: ["blocks.load"],
  async run({ folder, seconds }) {
    const text = Buffer.from(ordinaryTranscript(20_000)).toString("latin1");
    const values = LABELS.map((_, i) => text.slice(i * BLOCK_BYTES, (i + 1) * BLOCK_BYTES).replace(/[^ -~]/g, "."));
    const hf = await open(path.join(folder, "blocks.db"));
    await hf.agents.create({ id: AGENT });
    await hf.agents.saveBlocks(
      AGENT,
      LABELS.map((label, i) => ({ label, value: values[i] ?? "" })),
    );
    const bare = openBare(path.join(folder, "blocks-bare.db"));
    bare.exec("CREATE TABLE blocks (agent TEXT, ord INTEGER, value TEXT NOT NULL, PRIMARY KEY (agent, ord)) STRICT");
    const insert = bare.prepare("INSERT INTO blocks (agent, ord, value) VALUES (?, ?, ?)");
    for (const [i, value] of values.entries()) insert.run(AGENT, i, value);
    const select = bare.prepare("SELECT value FROM blocks WHERE agent = ? ORDER BY ord");
    const turnMs = (seconds * 500) / ROUNDS;
    const [ours = [], floor = []] = await alternate(ROUNDS, [
      async () => percentile(await sample(turnMs, () => hf.agents.loadBlocks(AGENT)), 0.5),
      async () => percentile(await sample(turnMs, () => select.all(AGENT)), 0.5),
    ]);
    await hf.close();
    bare.close();
    return [
      {
        metric: "blocks.load",
        unit: "ms",
        ...compare(ours, floor),
        targets: [{ of: "value", must: "atMost", limit: 1 }],
        note: "p50 of loadBlocks, 5 blocks of 2 kB, hashes verified; baseline: a bare prepared SELECT by key",
      },
    ];
  },
};
