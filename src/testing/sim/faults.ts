// The faults of a simulation: kinds, rates and places. Each kind of fault uses its own stream of
// random numbers, so that changing one rate changes the order of events as little as possible.
import { HoldfastError } from "../../contracts/errors.ts";
import { rng } from "./scheduler.ts";

export type FaultKind =
  /** Nothing was written, and the writer gets an error that it may retry. */
  | "writeFail"
  | "readFail"
  | "diskFull"
  /** A delay of up to `ms`, mostly much less. */
  | "latency"
  /** The process dies before its commit, in the middle of it (rolled back), or after it without having heard of it. */
  | "crashBefore"
  | "crashDuring"
  | "crashAfter"
  /** The commit happened, but the process gets the error that the outcome is unknown. */
  | "errorAfter"
  /** The process dies at any step. */
  | "death"
  /**
   * The process freezes at any step for up to `ms`: its timers do not fire, answers do not reach it, and it releases
   * nothing.
   */
  | "freeze"
  /** A commit takes so long to reach the disk: up to `ms`, for all concurrent commits. */
  | "slowDisk"
  /**
   * With `engine: "postgres"`: the connection breaks before or after the server did what was asked, and both sides
   * know.
   */
  | "connectionLost"
  /** The connection breaks and neither side knows: no answer comes, and the server waits for the next statement. */
  | "connectionHung"
  /** A blob backend stores only a part of the bytes, returns other bytes, or reports that it has none. */
  | "blobTorn"
  | "blobCorrupted"
  | "blobMissing"
  /** A change notification is lost. */
  | "lostWakeup"
  /** A start, a signal or an answer is delivered twice. */
  | "duplicate"
  /** Another process takes over a run that is alive and working. */
  | "leaseStolen"
  /** The wall clock of the process jumps by up to `ms`, forward or back. */
  | "clockJump"
  | "modelTimeout"
  | "modelRateLimit"
  | "modelGarbage"
  | "toolFail";

export interface Opportunity {
  /** The process: "worker-1", "client", "person". */
  readonly process: string;
  /**
   * "commit", "read", "tool", "model", "blob", "hint", "call", "timer", "macrotask"; "disk" when a commit is written.
   * With
   * `engine: "postgres"` also "trip" (something is sent in a transaction) and "answer" (inside of a transaction that is
   * open).
   */
  readonly what: string;
  /** Types of the events of a commit; the name of the tool, the model or the call. */
  readonly names: readonly string[];
}

export interface Fault {
  readonly kind: FaultKind;
  /** The rate per opportunity, 0 to 1. */
  readonly probability: number;
  readonly filter?: (at: Opportunity) => boolean;
  /** Skips so many opportunities first. */
  readonly afterN?: number;
  readonly maxTriggers?: number;
  /** The longest latency, freeze, slow commit or clock jump. */
  readonly ms?: number;
}

export class Faults {
  readonly #faults: readonly { readonly fault: Fault; seen: number; fired: number }[];
  readonly #rng: () => number;
  #isOver = false;

  constructor(seed: number, faults: readonly Fault[]) {
    this.#faults = faults.map((fault) => ({ fault, seen: 0, fired: 0 }));
    this.#rng = rng(seed, "faults");
  }

  /** Returns the first of these kinds that happens here; null if none does. */
  strike(kinds: readonly FaultKind[], at: Opportunity): Fault | null {
    if (this.#isOver) return null;
    let struck: Fault | null = null;
    for (const one of this.#faults) {
      const { kind, probability, filter, afterN = 0, maxTriggers = Number.POSITIVE_INFINITY } = one.fault;
      if (!kinds.includes(kind) || (filter !== undefined && !filter(at))) continue;
      one.seen++;
      const isHit = this.#rng() < probability;
      if (struck !== null || !isHit || one.seen <= afterN || one.fired >= maxTriggers) continue;
      one.fired++;
      struck = one.fault;
    }
    return struck;
  }

  /** A duration that is mostly short and sometimes very long. */
  length({ ms = 1000 }: Fault): number {
    return ms * this.#rng() ** 4;
  }

  /** A clock jump, forward or back. */
  jump({ ms = 3_600_000 }: Fault): number {
    return Math.round(ms * (2 * this.#rng() - 1));
  }

  part(bytes: number): number {
    return Math.floor(this.#rng() * bytes);
  }

  /** How often each kind happened. */
  fired(): Readonly<Partial<Record<FaultKind, number>>> {
    const counts: Partial<Record<FaultKind, number>> = {};
    for (const { fault, fired } of this.#faults) counts[fault.kind] = (counts[fault.kind] ?? 0) + fired;
    return counts;
  }

  /** Ends all faults. */
  end(): void {
    this.#isOver = true;
  }
}

export function unreachable(what: string): HoldfastError {
  return new HoldfastError("StoreUnreachable", `simulated: ${what}`, {
    retryable: true,
    hint: "Try again: the simulator made it fail.",
  });
}

export function full(): HoldfastError {
  return new HoldfastError("StoreFull", "simulated: no space left; nothing of this change was written", {
    retryable: true,
    hint: "Try again: the simulator made it fail.",
  });
}
