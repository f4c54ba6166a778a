// Which real agents the tests of this folder run. `npm test` has installed them (scripts/agents.ts); where that was not
// possible the tests are left out by name, and in CI they fail.
import { beforeEach, describe } from "vitest";
import { type AgentPaths, installedAgents } from "../../scripts/agents.ts";

/** Registers the tests; their paths may be used inside of tests and hooks only. */
export function withAgents(title: string, tests: (agents: AgentPaths) => void): void {
  const found = installedAgents();
  if (typeof found !== "string") {
    describe(title, () => tests(found));
    return;
  }
  const trouble = process.env.HOLDFAST_TEST_AGENTS_TROUBLE || found;
  const nowhere: AgentPaths = { claude: "", sdk: "", opencode: "" };
  const inCi = !["", "0", "false", undefined].includes(process.env.CI);
  describe.skipIf(!inCi)(inCi ? title : `${title} (skipped: ${trouble})`, () => {
    beforeEach(() => {
      throw new Error(trouble);
    });
    tests(nowhere);
  });
}
