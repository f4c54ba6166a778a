// A PostgreSQL store whose process stops itself (SIGSTOP) in the middle of commits: the first trip has locked rows, the next is
// not sent yet. It says "frozen" before; another process continues it.
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { openOn } from "../../src/open.ts";
import { type Plan, StaleFence } from "../../src/storage/sql/driver.ts";
import { openPostgres } from "../../src/storage/sql/postgres/driver.ts";
import { bound } from "../../src/testing/sim/driver.ts";
import { say } from "./say.ts";

export interface Freezes {
  /** Asked after each trip that is not the last. */
  readonly stops: () => boolean;
  /** Asked before each commit: whether what the handle knows of its sessions counts as outdated, so that it takes more round trips. */
  readonly isStale: () => boolean;
  readonly busyMs?: number;
}

export async function openFreezing(place: string, { stops, isStale, busyMs = 30_000 }: Freezes): Promise<Holdfast> {
  const url = new URL(place);
  const schema = url.searchParams.get("schema") ?? "";
  url.searchParams.delete("schema");
  const driver = await openPostgres({
    url: url.href,
    schema,
    durability: "full",
    poolSize: 3,
    busyMs,
    environment: realEnvironment(),
  });
  return openOn(
    {
      ...bound(driver),
      transact: (plan, ...rest) =>
        isStale() ? Promise.reject(new StaleFence()) : driver.transact(() => freezing(plan(), stops), ...rest),
    },
    {},
  );
}

function* freezing<T>(plan: Plan<T>, stops: () => boolean): Plan<T> {
  let next = plan.next();
  while (!next.done) {
    const { last } = next.value;
    const rows = yield next.value;
    if (!last && stops()) {
      say("frozen");
      process.kill(process.pid, "SIGSTOP");
    }
    next = plan.next(rows);
  }
  return next.value;
}
