// Finds the transaction that holds the lock a commit waits for, as far as the server shows it to this role.
import { HoldfastError } from "../../../contracts/errors.ts";
import type { Row } from "../driver.ts";
import { sqlState } from "./errors.ts";

export const BLOCKERS =
  "SELECT pid, coalesce(application_name, '') AS name, coalesce(host(client_addr), '') AS address, " +
  "coalesce(state, 'unknown') AS state, " +
  "coalesce(extract(epoch FROM clock_timestamp() - state_change) * 1000, 0)::bigint AS ms " +
  "FROM pg_stat_activity WHERE pid = ANY(pg_blocking_pids($1::int)) ORDER BY pid LIMIT 5";

export interface Blocker {
  readonly pid: number;
  readonly name: string;
  readonly address: string;
  readonly state: string;
  readonly ms: number;
}

export function blockerOf({ pid, name, address, state, ms }: Row): Blocker {
  return { pid: Number(pid), name: String(name), address: String(address), state: String(state), ms: Number(ms) };
}

export function lockedError(
  target: string,
  waitedMs: number,
  blockers: readonly Blocker[],
  cause: unknown,
): HoldfastError {
  const waited = `a commit to ${target} waited ${Math.round(waitedMs)} ms for a lock`;
  const holders = blockers.map(
    ({ pid, name, address, state, ms }) =>
      `process ${pid}${name === "" ? "" : ` of ${name}`}${address === "" ? "" : ` at ${address}`} (${state} for ${ms} ms)`,
  );
  return new HoldfastError(
    "StoreBusy",
    holders.length === 0
      ? `${waited}; nothing was written`
      : `${waited} that ${holders.join(", ")} holds; nothing was written`,
    {
      details: { target, code: sqlState(cause), waitedMs: Math.round(waitedMs), blockers },
      retryable: true,
      hint: "Try again. The server ends a transaction of Holdfast that was idle for 5 s; pg_terminate_backend(pid) ends any other.",
      cause,
    },
  );
}
