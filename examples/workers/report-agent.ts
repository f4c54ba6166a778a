// The agent that the workers run: it writes a report page by page.
import { setTimeout as sleep } from "node:timers/promises";
import { defineAgent } from "holdfast";

export const reporter = defineAgent<{ page: number }, { pages: number }>({
  id: "reporter",
  version: "1",
  initial: () => ({ page: 1 }),
  tools: {
    // The tool is declared idempotent, because writing a page again does no harm. Otherwise a person would decide about
    // a page after a crash.
    writePage: {
      effect: "idempotent",
      async execute(page, { run, signal }) {
        await sleep(200, undefined, { signal }); // your slow work
        console.log(`process ${process.pid}: ${run} page ${page}`);
        return `${run}, page ${page}`;
      },
    },
  },
  async iterate(it, { page }) {
    await it.tool("writePage", page);
    // Every iteration ends in a checkpoint: another worker continues there.
    return page < it.input.pages ? it.next({ page: page + 1 }) : it.done({ pages: page });
  },
});
