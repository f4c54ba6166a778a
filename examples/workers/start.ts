// Starts six reports for the workers (see worker.ts), and prints each when it has ended. Start it again at any time: a run
// that exists is not begun a second time.
//
//   node workers/start.ts
import { open } from "holdfast";
import { reporter } from "./report-agent.ts";

const hf = await open(process.env.DATABASE_URL ?? "postgres://localhost/holdfast");
const runs = ["report-1", "report-2", "report-3", "report-4", "report-5", "report-6"];
for (const id of runs) await hf.runs.start(reporter, { id, session: id, input: { pages: 5 } });

for (const id of runs) {
  // The live tail of the log shows what any worker commits.
  for await (const _ of hf.log.tail(id, { types: ["run/completed", "run/failed", "run/cancelled"] })) break;
  const result = await hf.runs.result(id);
  console.log(id, result?.status, result?.value);
}
await hf.close();
