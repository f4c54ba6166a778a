// Workers stopped with SIGSTOP, at any moment and between two round trips of a commit, for less and for more than their lease, and
// processes of the PostgreSQL server likewise. A bystander that shares nothing with them goes on within the bound of ST12.
import { type PostgresServer, startPostgres } from "../../scripts/postgres.ts";
import { type BystanderOptions, bystander } from "../real/bystander.ts";
import { schemaOn, TestStores } from "../real/stores.ts";
import { LEASE_MS, type Torture } from "../real/torture.ts";
import { freezeBackends, freezeWorkers, LONGEST_FREEZE_MS } from "../real/torture-faults.ts";
import { describeTally, tortureRounds } from "./load.ts";
import type { TortureContext, TorturePart } from "./part.ts";

const BUSY_MS = 3000;
/** What a server may take to answer a commit beyond the wait for locks (ST12), and how often a handle looks. */
const ANSWER_MS = 11_000;
/** For a machine that is busy with this very torture. */
const SLACK_MS = 5000;
const COMMIT_FREEZES = 0.02;

type Kind = "sqlite" | "workers" | "backends";

/** A call of the bystander: its locks and its answer; where the server stands still, also the read before the commit. */
const BOUNDS: Readonly<Record<Kind, Pick<BystanderOptions, "boundMs" | "mayFail">>> = {
  // A process that stops while it holds the file's lock keeps every writer waiting, and ST12 promises nothing of that.
  sqlite: { boundMs: BUSY_MS + LONGEST_FREEZE_MS + SLACK_MS, mayFail: true },
  workers: { boundMs: BUSY_MS + SLACK_MS, mayFail: false },
  backends: { boundMs: LONGEST_FREEZE_MS + BUSY_MS + ANSWER_MS + SLACK_MS, mayFail: true },
};

export const freeze: TorturePart = {
  name: "freeze",
  about: "workers and PostgreSQL backends stopped (SIGSTOP) and continued; unrelated sessions go on",
  async run(context) {
    const kinds: readonly Kind[] = context.engines.flatMap((engine) =>
      engine === "sqlite" ? (["sqlite"] as const) : (["workers", "backends"] as const),
    );
    const lines: string[] = [];
    for (const kind of kinds) lines.push(await freezeKind(kind, context, context.ms / kinds.length));
    return lines;
  },
};

async function freezeKind(kind: Kind, context: TortureContext, ms: number): Promise<string> {
  const places = new TestStores();
  const server = kind === "sqlite" ? null : await startPostgres();
  const label = kind === "sqlite" ? "sqlite" : `postgres, ${kind}`;
  try {
    const url = server === null ? places.file("freeze") : schemaOn(server.url);
    let rounds = 0;
    const tally = await tortureRounds(context, ms, `freeze, ${label}`, (torture) => {
      rounds++;
      return roundOf(kind, url, server, `bystander-${rounds}`, torture);
    });
    return `${label}: ${describeTally(tally)}`;
  } finally {
    await server?.stop();
    await places.remove();
  }
}

function roundOf(
  kind: Kind,
  url: string,
  server: PostgresServer | null,
  session: string,
  torture: () => Torture | null,
) {
  const contended = () => [...(torture()?.begun.values() ?? [])].map((begun) => begun.session);
  const beside = bystander({ session, contended, busyMs: BUSY_MS, ...BOUNDS[kind] });
  const faults = [
    ...(server !== null && kind === "backends" ? [freezeBackends(server)] : [freezeWorkers(LEASE_MS)]),
    beside,
  ];
  return { url, faults, commitFreezes: kind === "workers" ? COMMIT_FREEZES : 0 };
}
