// Workers killed with -9 at random moments and started again, and on PostgreSQL the server under them too.
import { startPostgres } from "../../scripts/postgres.ts";
import { schemaOn, TestStores } from "../real/stores.ts";
import { killServer, killWorkers } from "../real/torture-faults.ts";
import { describeTally, tortureRounds } from "./load.ts";
import type { TorturePart } from "./part.ts";

export const kill: TorturePart = {
  name: "kill",
  about: "workers and PostgreSQL servers killed with -9 under real runs",
  async run(context) {
    const lines: string[] = [];
    const ms = context.ms / context.engines.length;
    for (const engine of context.engines) {
      const places = new TestStores();
      const server = engine === "postgres" ? await startPostgres() : null;
      try {
        const url = server === null ? places.file("kill") : schemaOn(server.url);
        const faults = server === null ? [killWorkers] : [killWorkers, killServer(server)];
        const tally = await tortureRounds(context, ms, `kill, ${engine}`, () => ({ url, faults }));
        lines.push(`${engine}: ${describeTally(tally)}`);
      } finally {
        await server?.stop();
        await places.remove();
      }
    }
    return lines;
  },
};
