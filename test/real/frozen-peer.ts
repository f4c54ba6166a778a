// A child that stops itself (SIGSTOP) in the middle of a commit: the first trip has locked the session's row, the second is
// not sent yet. When it is continued it says how its call ended: "ended ok", or "ended" and the code of the error.

import { isHoldfastError } from "../../src/contracts/errors.ts";
import { realEnvironment } from "../../src/core/environment.ts";
import { openOn } from "../../src/open.ts";
import { type Plan, StaleFence } from "../../src/storage/sql/driver.ts";
import { openPostgres } from "../../src/storage/sql/postgres/driver.ts";
import { bound } from "../../src/testing/sim/driver.ts";
import { slow } from "./agents.ts";
import { textOf } from "./examine.ts";
import { say } from "./say.ts";

export interface FrozenTold {
  readonly url: string;
  /** append: to that session. run: executes the run "job" there and freezes in a commit of its first step. */
  readonly what: "append" | "run";
  readonly session: string;
  readonly leaseMs?: number;
}

const told: FrozenTold = JSON.parse(process.argv[2] ?? "{}");
const environment = realEnvironment();
const url = new URL(told.url);
const schema = url.searchParams.get("schema") ?? "";
url.searchParams.delete("schema");
const driver = await openPostgres({
  ...{ url: url.href, schema, durability: "full", poolSize: 3, busyMs: 30_000, environment },
});
let isArmed = false;

/** As the plan, but the process stops once the first trip is answered. */
function* freezing<T>(plan: Plan<T>): Plan<T> {
  let next = plan.next();
  while (!next.done) {
    const { last } = next.value;
    const rows = yield next.value;
    if (isArmed && !last) {
      isArmed = false;
      say("frozen");
      process.kill(process.pid, "SIGSTOP");
    }
    next = plan.next(rows);
  }
  return next.value;
}

let isStale = false;
const store = await openOn(
  {
    ...bound(driver),
    transact: (plan, ...rest) => {
      // A commit of one trip holds no lock between trips: it must read its sessions again.
      if (isArmed && !isStale) {
        isStale = true;
        return Promise.reject(new StaleFence());
      }
      return driver.transact(() => freezing(plan()), ...rest);
    },
  },
  {},
);
const arm = () => {
  isArmed = true;
};
try {
  if (told.what === "append") {
    isStale = true;
    arm();
    const scope = { session: told.session, agent: "frozen" };
    await store.history.append(scope, { role: "user", content: textOf("frozen", 0), key: "frozen-0" });
  } else {
    const agent = slow(1);
    const run = { session: told.session, id: "job", leaseMs: told.leaseMs ?? 2000 };
    const armed: typeof agent = {
      ...agent,
      iterate: (it, state) => {
        arm();
        return agent.iterate(it, state);
      },
    };
    await store.runs.execute(armed, run);
  }
  say("ended ok");
} catch (error) {
  say(`ended ${isHoldfastError(error) ? error.code : String(error)}`);
}
await store.close();
say("closed");
