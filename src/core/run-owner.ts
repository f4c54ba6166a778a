// The owner of a run's lease: a worker's id, and the worker's process where the platform knows it. The row and the log keep both as
// one text, `worker_…@process`. A run that came with an archive is held: it may still be running where it came from, so no worker
// claims it here until resume() or unpause().

import type { Environment, Processes } from "../contracts/environment.ts";
import type { RunWait } from "../contracts/run-waits.ts";

import type { RunRow } from "../contracts/storage/run-queries.ts";
import { describeProcess } from "./process-name.ts";

const SEPARATOR = "@";

export function ownerText({ processes }: Environment, worker: string): string {
  const process = processes?.self() ?? null;
  return process === null ? worker : `${worker}${SEPARATOR}${process}`;
}

export function describeOwner(owner: string): NonNullable<RunWait["owner"]> {
  const [worker, process] = split(owner);
  const known = process === null ? null : describeProcess(process);
  return { worker, host: known?.host ?? null, pid: known?.pid ?? null };
}

/** "worker_7 (process 812 on host a)". */
export function ownerWords(owner: string): string {
  const { worker, host, pid } = describeOwner(owner);
  return pid === null ? worker : `${worker} (process ${pid} on ${host})`;
}

export function ownerLiveness({ processes }: Environment, owner: string): ReturnType<Processes["liveness"]> {
  const [, process] = split(owner);
  return process === null || processes === undefined ? "unknown" : processes.liveness(process);
}

/** Its process has ended, as far as the platform tells. */
export function isOwnerGone(environment: Environment, { owner }: Pick<RunRow, "owner">): boolean {
  return owner !== null && ownerLiveness(environment, owner) === "gone";
}

function split(owner: string): readonly [worker: string, process: string | null] {
  const at = owner.indexOf(SEPARATOR);
  return at === -1 ? [owner, null] : [owner.slice(0, at), owner.slice(at + 1)];
}

// A run that came with an archive is held: it may still be running where it came from, so no worker claims it here
// until resume() or unpause(). The log is the same in both stores; the mark is a heartbeat count below 0, which no
// event contains.

/** The log is the same in both stores; the mark is a heartbeat count below 0, which no event contains. */
export function isHeldRun({ beat }: { readonly beat: number }): boolean {
  return beat < 0;
}

/** The count with the mark and without it, each made from the other. */
export function toggleHold(beat: number): number {
  return -1 - beat;
}
