// The real environment: the machine's clock, randomness and timers. Ids are made here and nowhere else.
import { randomFillSync } from "node:crypto";
import type { Environment } from "../contracts/environment.ts";
import { machineProcesses } from "./processes.ts";

const POOL_BYTES = 16_384;

/** Random bytes come from a pool, because a system call per salt would be felt in every append. */
function pooledRandom(): (bytes: number) => Uint8Array {
  const pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  return (bytes) => {
    if (bytes > POOL_BYTES) return randomFillSync(new Uint8Array(bytes));
    if (used + bytes > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const taken = pool.slice(used, used + bytes);
    used += bytes;
    return taken;
  };
}

export function realEnvironment(): Environment {
  return {
    now: () => Date.now(),
    monotonic: () => {
      // Not performance.now(): its module takes longer to load than everything else here.
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1000 + nanoseconds / 1e6;
    },
    random: pooledRandom(),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const done = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", done, { once: true });
      }),
    defer: (run) => {
      setImmediate(run);
    },
    log: () => {},
    processes: machineProcesses(),
  };
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** `<prefix>_` and 100 random bits in Crockford's letters: opaque, safe in a URL and in a file name. */
export function newId(environment: Environment, prefix: string): string {
  let text = `${prefix}_`;
  for (const byte of environment.random(20)) text += ALPHABET[byte & 31];
  return text;
}
