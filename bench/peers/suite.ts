// The peers suite: Holdfast side by side with LangGraph's checkpointers, DBOS and Restate, in one run on one machine. Every
// system runs as a process of its own, with its own defaults but equal durability.
import { PRAGMAS } from "../foundation/floor.ts";
import { SharedServer } from "../foundation/postgres.ts";
import type { Bench, Suite } from "../suite.ts";
import { conversation } from "./conversation.ts";
import { buildHoldfast, installPeers, peerVersions } from "./install.ts";
import { concurrentSteps, recovery, sequentialSteps } from "./steps.ts";

export function peers(): Suite {
  const server = new SharedServer();
  let entry: string | undefined;
  const built = () => entry ?? "";
  /** The setup that every bench needs; the first one does it. */
  const prepared = (bench: Bench): Bench => ({
    ...bench,
    run: (setting) => {
      installPeers(setting.say);
      entry ??= buildHoldfast(setting.say);
      return bench.run(setting);
    },
  });
  return {
    about: "durable steps, conversations and recovery beside LangGraph, DBOS and Restate",
    benches: [
      sequentialSteps(built, server),
      concurrentSteps(built, server),
      conversation(built, server),
      recovery(built, server),
    ].map(prepared),
    pragmas: PRAGMAS.map((pragma) => pragma.replace(" = ", "=")).join(" "),
    peers: peerVersions(),
    postgresVersion: () => server.version,
    close: () => server.stop(),
  };
}
