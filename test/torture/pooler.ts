// Two stores, each a schema of one database, behind one real PgBouncer: the load of torture runs on both at once, while workers
// and PgBouncer itself are killed and started again. Each store holds its own runs and no others.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { obtainPgBouncer, type PgBouncerProgram, startPgBouncer } from "../../scripts/pgbouncer.ts";
import { startPostgres } from "../../scripts/postgres.ts";
import { open } from "../../src/open.ts";
import { withPostgres } from "../real/stores.ts";
import type { Torture } from "../real/torture.ts";
import { addTally, emptyTally, type Fault, killPooler, killWorkers } from "../real/torture-faults.ts";
import { describeTally, tortureRounds } from "./load.ts";
import type { TortureContext, TorturePart } from "./part.ts";

const MODES = ["transaction", "session"] as const;

export const pooler: TorturePart = {
  name: "pooler",
  about: "the same load on two schemas behind one PgBouncer, which is killed too; transaction and session mode",
  async run(context) {
    const program = obtainPgBouncer();
    if (typeof program === "string") return [`left out: ${program}`];
    const lines: string[] = [];
    for (const mode of MODES) lines.push(await pool(program, mode, context, context.ms / MODES.length));
    return lines;
  },
};

async function pool(program: PgBouncerProgram, mode: string, context: TortureContext, ms: number): Promise<string> {
  const server = await startPostgres();
  // In session mode each client keeps a connection of the server.
  const settings = { pool_mode: mode, default_pool_size: mode === "session" ? "80" : "8", max_client_conn: "400" };
  const bouncer = await startPgBouncer(program, server.url, settings);
  try {
    const schemas = ["A", "b"].map((letter) => `Pool_${letter}_${randomBytes(4).toString("hex")}`);
    const sum = emptyTally();
    const half = {
      ...context,
      workers: Math.max(1, Math.ceil(context.workers / 2)),
      runs: Math.ceil(context.runs / 2),
    };
    await Promise.all(
      schemas.map(async (schema, i) => {
        const url = new URL(bouncer.url);
        url.searchParams.set("schema", schema);
        const rounds: (() => Torture | null)[] = [];
        // One of the loads kills what both use.
        const faults: readonly Fault[] = i === 0 ? [killWorkers, killPooler(bouncer)] : [killWorkers];
        const tally = await tortureRounds(half, ms, `pooler, ${mode}, ${schema}`, (torture) => {
          rounds.push(torture);
          return { url: url.href, faults };
        });
        addTally(sum, tally);
        await requireOwnRuns(url.href, new Set(rounds.flatMap((torture) => [...(torture()?.begun.keys() ?? [])])));
      }),
    );
    await requireSchemas(server.url, schemas);
    return `${mode} mode: ${describeTally(sum)}; two schemas, nothing mixed`;
  } finally {
    await bouncer.stop();
    await server.stop();
  }
}

/** Every run of the store was begun there, or is the child of one that was. */
async function requireOwnRuns(url: string, begun: ReadonlySet<string>): Promise<void> {
  const store = await open(url);
  try {
    for (let cursor: string | undefined; ; ) {
      const { items, next } = await store.runs.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
      const strange = items.filter(({ id, parent }) => !begun.has(id) && !begun.has(parent ?? "")).map(({ id }) => id);
      assert.deepEqual(strange, [], "runs of the other store");
      if (next === null) return;
      cursor = next;
    }
  } finally {
    await store.close();
  }
}

async function requireSchemas(server: string, schemas: readonly string[]): Promise<void> {
  await withPostgres(server, async (sql) => {
    const rows = await sql`SELECT schemaname AS name FROM pg_tables WHERE tablename = 'holdfast_meta' ORDER BY 1`;
    assert.deepEqual(rows.map(({ name }) => String(name)).toSorted(), schemas.toSorted());
  });
}
