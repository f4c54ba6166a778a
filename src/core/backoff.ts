// How long to wait before the next attempt. Waits double. A random share of each wait spreads writers that failed
// together, so that they do not collide again.
import type { Environment } from "../contracts/environment.ts";

/** `attempt` counts from 0: the first wait is `firstMs`. */
export function exponentialBackoff(attempt: number, firstMs: number, mostMs = Number.POSITIVE_INFINITY): number {
  return Math.min(mostMs, firstMs * 2 ** attempt);
}

/** At least 0 and below 1. */
export function randomShare(environment: Environment): number {
  const [byte = 0] = environment.random(1);
  return byte / 256;
}
