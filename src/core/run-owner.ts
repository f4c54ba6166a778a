// The owner of a run's lease: a worker's id, and the name of the worker's process where the platform knows it. The row and the log
// keep both as one text, `worker_…@process`.
import type { Environment, Processes } from "../contracts/environment.ts";
import type { RunWait } from "../contracts/run-waits.ts";
import type { RunRow } from "../contracts/storage/run-queries.ts";

const OWNER_SEPARATOR = "@";

export function ownerText({ processes }: Environment, worker: string): string {
  const process = processes?.self() ?? null;
  return process === null ? worker : `${worker}${OWNER_SEPARATOR}${process}`;
}

export function describeOwner(owner: string): NonNullable<RunWait["owner"]> {
  const [worker, process] = split(owner);
  const known = process === null ? null : describeProcess(process);
  return { worker, host: known?.host ?? null, pid: known?.pid ?? null };
}

/** For messages: "worker_7 (process 812 on host a)". */
export function formatOwner(owner: string): string {
  const { worker, host, pid } = describeOwner(owner);
  return pid === null ? worker : `${worker} (process ${pid} on ${host})`;
}

export function ownerLiveness({ processes }: Environment, owner: string): ReturnType<Processes["liveness"]> {
  const [, process] = split(owner);
  return process === null || processes === undefined ? "unknown" : processes.liveness(process);
}

/** Whether the owner's process has ended, as far as the platform reports it. */
export function isOwnerGone(environment: Environment, { owner }: Pick<RunRow, "owner">): boolean {
  return owner !== null && ownerLiveness(environment, owner) === "gone";
}

function split(owner: string): readonly [worker: string, process: string | null] {
  const at = owner.indexOf(OWNER_SEPARATOR);
  return at === -1 ? [owner, null] : [owner.slice(0, at), owner.slice(at + 1)];
}

/**
 * A run is held if its heartbeat count is below 0. This is the mark that counts; the column `runs.held` repeats it for
 * readers of the table, and the checker compares the two. No event contains the mark, because the log must stay the
 * same in both stores.
 */
export function isHeldRun({ beat }: { readonly beat: number }): boolean {
  return beat < 0;
}

/** Adds the mark to a heartbeat count, or removes it. */
export function toggleHold(beat: number): number {
  return -1 - beat;
}

/** What must be equal before one process can tell whether the other is alive. */
export interface Machine {
  readonly host: string;
  /** The id of the boot: every boot has a new one. */
  readonly boot: string;
  /** Pids have a meaning only within their namespace. */
  readonly pidNamespace: string;
  /** Start times depend on the clock of the reader's time namespace. */
  readonly timeNamespace: string;
}

export interface ProcessName {
  readonly machine: Machine;
  readonly pid: number;
  readonly startTime: string;
}

const NAME_SEPARATOR = "/";
const FIELDS = 5;

export function formatProcessName({ machine, pid, startTime }: ProcessName): string {
  const { host, boot, pidNamespace, timeNamespace } = machine;
  return [host, pid, startTime, pidNamespace, timeNamespace, boot].join(NAME_SEPARATOR);
}

/** null if the text is no process name. */
export function parseProcessName(text: string): ProcessName | null {
  const parts = text.split(NAME_SEPARATOR);
  if (parts.length <= FIELDS) return null;
  const [pid = "", startTime = "", pidNamespace = "", timeNamespace = "", boot = ""] = parts.slice(-FIELDS);
  if (!/^[1-9]\d{0,9}$/.test(pid)) return null;
  const host = parts.slice(0, -FIELDS).join(NAME_SEPARATOR);
  return { machine: { host, boot, pidNamespace, timeNamespace }, pid: Number(pid), startTime };
}

/** The host and the pid of a process that self() named, for messages. */
export function describeProcess(process: string): { readonly host: string; readonly pid: number } | null {
  const named = parseProcessName(process);
  return named === null ? null : { host: named.machine.host, pid: named.pid };
}
