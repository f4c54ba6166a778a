// Faults together, as a share of all that processes do.
import type { Fault, FaultKind, Opportunity } from "../../src/testing/sim/faults.ts";

/** Damage is told to a client as it is; a worker has to live with it. */
const isWorker = ({ process }: Opportunity) => process.startsWith("worker");

function shareOf(rate: number) {
  return (kind: FaultKind, part: number, more: Partial<Fault> = {}): Fault => ({
    kind,
    probability: rate * part,
    ...more,
  });
}

/** Everything that can happen to a commit, so that this share of them meets something; the rest in proportion. */
export function mixed(rate: number): readonly Fault[] {
  const share = shareOf(rate);
  return [
    share("writeFail", 0.3),
    share("diskFull", 0.1),
    share("errorAfter", 0.2),
    share("crashBefore", 0.1),
    share("crashDuring", 0.1),
    share("crashAfter", 0.1),
    share("readFail", 0.05),
    share("latency", 0.15, { ms: 30_000 }),
    share("death", 0.005),
    share("clockJump", 0.05, { ms: 60_000 }),
    share("leaseStolen", 0.1),
    share("lostWakeup", 1),
    share("duplicate", 1),
    share("toolFail", 0.5),
    share("modelTimeout", 0.2),
    share("modelRateLimit", 0.3),
    share("modelGarbage", 0.3),
    share("blobTorn", 0.3),
    share("blobCorrupted", 0.1, { filter: isWorker }),
    share("blobMissing", 0.1, { filter: isWorker }),
  ];
}

/** Processes, connections and disks that stand still; beside the others, whose seeds stay what they were without these. */
export function stalling(rate: number): readonly Fault[] {
  const share = shareOf(rate);
  return [
    share("freeze", 0.02, { ms: 300_000 }),
    share("slowDisk", 0.1, { ms: 30_000 }),
    share("connectionLost", 0.1),
    share("connectionHung", 0.05),
  ];
}

/** A scenario opens other processes once: only the client, which is replaced, may die. */
export function onlyClientDies(rate: number): readonly Fault[] {
  const deadly = new Set<FaultKind>(["crashBefore", "crashDuring", "crashAfter", "death"]);
  return mixed(rate).map((fault) =>
    deadly.has(fault.kind) ? { ...fault, filter: ({ process }) => process === "client", maxTriggers: 12 } : fault,
  );
}
