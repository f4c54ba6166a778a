// Generated hostile files, batch after batch, each batch with a seed of its own and in a process of its own.
import { randomInt } from "node:crypto";
import { makeBombs } from "../real/bombs.ts";
import { MOST_MB, readHostile } from "../real/hostile-batch.ts";
import { hostileFiles } from "../real/hostile-files.ts";
import type { TorturePart } from "./part.ts";

const BATCH = 250;

export const bombs: TorturePart = {
  name: "bombs",
  about: "generated hostile bundles, transcripts and archives, read in little memory",
  async run({ folder, ms, progress }) {
    const end = performance.now() + ms;
    let largestMb = readHostile(makeBombs(), folder).maxRssMb;
    let files = makeBombs().length;
    const codes = new Map<string, number>();
    while (files <= BATCH || performance.now() < end) {
      // The same seed generates the same files.
      const seed = randomInt(2 ** 31);
      progress(`bombs: the next batch has seed ${seed}`);
      const { outcomes, maxRssMb } = readHostile(hostileFiles(seed, BATCH), folder);
      for (const code of Object.values(outcomes).flat()) codes.set(code, (codes.get(code) ?? 0) + 1);
      largestMb = Math.max(largestMb, maxRssMb);
      files += BATCH;
      progress(`bombs: ${files} files, at most ${Math.round(largestMb)} MB`);
    }
    const counts = [...codes].map(([code, count]) => `${count} ${code}`).join(", ");
    return [`${files} files; outcomes: ${counts}; at most ${Math.round(largestMb)} MB of ${MOST_MB}`];
  },
};
