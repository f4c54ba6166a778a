// A child that stops itself (SIGSTOP) in the middle of a commit: the first trip has locked the session's row, the second is
// not sent yet. When it is continued it says how its call ended: "ended ok", or "ended" and the code of the error.
import { isHoldfastError } from "../../src/contracts/errors.ts";
import { slow } from "./agents.ts";
import { textOf } from "./examine.ts";
import { openFreezing } from "./freezing-store.ts";
import { say } from "./say.ts";

export interface FrozenPeerArguments {
  readonly url: string;
  /** append: to that session. run: executes the run "job" there and freezes in a commit of its first step. */
  readonly what: "append" | "run";
  readonly session: string;
  readonly leaseMs?: number;
  /** Of its handle; 30 s when not given. */
  readonly busyMs?: number;
}

const args: FrozenPeerArguments = JSON.parse(process.argv[2] ?? "{}");
let isArmed = false;
let isStale = false;
const store = await openFreezing(args.url, {
  ...(args.busyMs === undefined ? {} : { busyMs: args.busyMs }),
  // A commit of one trip holds no lock between round trips: it must read its sessions again.
  isStale: () => {
    if (!isArmed || isStale) return false;
    isStale = true;
    return true;
  },
  stops: () => {
    if (!isArmed) return false;
    isArmed = false;
    return true;
  },
});
const arm = () => {
  isArmed = true;
};
try {
  if (args.what === "append") {
    isStale = true;
    arm();
    const scope = { session: args.session, agent: "frozen" };
    await store.history.append(scope, { role: "user", content: textOf("frozen", 0), key: "frozen-0" });
  } else {
    const agent = slow(1);
    const run = { session: args.session, id: "job", leaseMs: args.leaseMs ?? 2000 };
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
