// Clock, randomness and timers of the platform: of Node, and of platforms with the same API.
import { randomFillSync } from "node:crypto";
import type { Environment } from "../contracts/environment.ts";

const POOL_BYTES = 16_384;

/** Takes random bytes from a pool, because a system call per salt would slow down every append. */
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

/**
 * Milliseconds on Node's monotonic clock. performance.now() is not used, because loading its module takes longer than
 * everything else here.
 */
export function hrtimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export function platformEnvironment(): Environment {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    random: pooledRandom(),
    sleep: (ms, signal) => sleep(ms, signal, true),
    idle: (ms, signal) => sleep(ms, signal, false),
    defer: (run) => {
      setImmediate(run);
    },
    log: () => {},
  };
}

function sleep(ms: number, signal: AbortSignal | undefined, keepsProcess: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    // Platforms without processes have numbers for timers.
    if (!keepsProcess && typeof timer === "object") timer.unref();
    signal?.addEventListener("abort", done, { once: true });
  });
}
