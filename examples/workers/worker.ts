// Workers on PostgreSQL: any number of processes, on any machines, work on the runs of one store. When one is killed, the
// others continue its runs: at once on the same machine, after the run's lease (10 s) on another one.
//
// Run it in two terminals, and start.ts in a third; then kill one of the two:
//
//   export DATABASE_URL=postgres://user:password@localhost:5432/database
//   node workers/worker.ts
import { open } from "holdfast";
import { reporter } from "./report-agent.ts";

const hf = await open(process.env.DATABASE_URL ?? "postgres://localhost/holdfast");
const worker = hf.runs.createWorker({
  agents: [reporter],
  concurrency: 4,
  watch: ({ kind, run }) => console.log(`process ${process.pid}: ${kind} ${run.id}, ${run.status}`),
});
worker.start();

// SIGTERM: this worker completes the pages that it works on, and releases its runs for the other workers.

process.once("SIGTERM", async () => {
  await worker.stop();
  await hf.close();
});
