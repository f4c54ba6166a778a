// Restores beside a directory that is exchanged for a link and back, for as long as there is time.
import { raceOnce, SWAPPED } from "../real/restore-race.ts";
import type { TorturePart } from "./part.ts";

export const race: TorturePart = {
  name: "race",
  about: "restores beside a directory that is exchanged for a link and back",
  async run({ folder, ms, progress }) {
    const end = performance.now() + ms;
    const outcomes = new Map<string, number>();
    let rounds = 0;
    while (rounds === 0 || performance.now() < end) {
      for (const which of Object.values(SWAPPED)) {
        const outcome = await raceOnce(folder, which);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
      rounds += Object.keys(SWAPPED).length;
      if (rounds % 100 === 0) progress(`race: ${rounds} rounds`);
    }
    const counts = [...outcomes].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
    return [`${rounds} restores (${counts}), no file outside, none half done`];
  },
};
