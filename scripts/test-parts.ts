// The parts of `npm run test:long`. Every test that does more in the long form (test/scale.ts) belongs to one of them.

export interface Part {
  readonly name: string;
  /** The part's line in --help. */
  readonly about: string;
  /** Path prefixes of the part's tests. */
  readonly tests: readonly string[];
  /** A program to run instead of tests, with its arguments. */
  readonly program?: readonly string[];
}

export const PARTS: readonly Part[] = [
  {
    name: "sim",
    about:
      "every simulator scenario with 200 seeds (npm test: 1 to 4), at its own rate and at 50 %; every commit failed in all ways (two)",
    tests: ["test/sim/", "test/loop/"],
  },
  {
    name: "damage",
    about:
      "damage to every column on both engines, 2,000 changed bits of a whole file, and 10,000 random changes of what a run resumes from",
    tests: ["test/check/", "test/runs/"],
  },
  {
    name: "random",
    about: "long random sequences against the models, on every backend (npm test: 4 to 12); 2,000 random queries (80)",
    tests: ["src/", "test/query/", "test/search/", "test/lineage/", "test/bad-input", "test/package"],
  },
  { name: "kills", about: "processes and servers killed with -9, and power cuts", tests: ["test/real/"] },
  {
    name: "agents",
    about: "the real Claude Code and OpenCode, with the rare cases too",
    tests: ["test/agents/"],
  },
  {
    name: "torture",
    about:
      "every part of npm run torture, in 20 minutes: kills, freezes, poolers, hostile files, races, modes, changed bits",
    tests: [],
    program: ["scripts/torture.ts", "--minutes", "20"],
  },
];
