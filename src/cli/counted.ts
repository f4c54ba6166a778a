// What a check looked at, in words.
import { plural } from "./units.ts";

const WORDS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  branches: ["branch", "branches"],
  deletedSessions: ["deleted session", "deleted sessions"],
  partialSessions: ["session in part", "sessions in part"],
  state: ["value of state", "values of state"],
};

/** "2 sessions, 1 branch": what there was none of is left out, and what nobody needs is told elsewhere. */
export function countedWords(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .filter(([name, n]) => n > 0 && name !== "orphanBlobs")
    .map(([name, n]) => plural(n, ...(WORDS[name] ?? ([name.replace(/s$/, ""), name] as const))))
    .join(", ");
}
