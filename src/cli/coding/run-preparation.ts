// What `holdfast run` acquires before it starts the agent: the store, and the claim on the request. It does not start
// the agent without them, because the agent's work would be lost, or would diverge from that of another run.
// --wait-store and --wait make it wait for them.
import { stat } from "node:fs/promises";
import * as path from "node:path";
import { exitCodeOf } from "../../coding/supervisor/agent-process.ts";
import type { ClaimedRequest } from "../../coding/supervisor/session-start.ts";
import type { ClaimOwner, CodingAgent } from "../../contracts/captures.ts";
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context } from "../command-line.ts";
import { createStore, openIfThere } from "../store.ts";
import { formatAge, formatSpan, formatTime } from "../units.ts";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
/** How often a message says that the run still waits for the store. */
const NOTE_EVERY_MS = 10_000;

export interface OpenLimits {
  /** How long one attempt may take. */
  readonly graceMs: number;
  /** How long to retry; undefined: one attempt. */
  readonly waitMs: number | undefined;
}

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A signal ended the waiting. */
export class InterruptedWait extends Error {
  override readonly name = "InterruptedWait";
  /** The exit code that shells use for the signal. */
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.exitCode = exitCodeOf(signal);
  }
}

/** Runs a wait before the agent is started; a signal ends it with InterruptedWait. */
async function abortOnSignal<T>(work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const interrupted = Promise.withResolvers<never>();
  interrupted.promise.catch(() => {});
  const listen = (signal: NodeJS.Signals) => {
    interrupted.reject(new InterruptedWait(signal));
    stop.abort();
  };
  for (const signal of SIGNALS) process.once(signal, listen);
  try {
    return await Promise.race([work(stop.signal), interrupted.promise]);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, listen);
  }
}

export interface OpenedStore {
  readonly store: Holdfast;
  /** This run created the store. */
  readonly isNew: boolean;
}

export async function openStore(
  context: Context,
  environment: Environment,
  { graceMs, waitMs }: OpenLimits,
): Promise<OpenedStore> {
  const attempt = () => openWithTimeout(context, environment, graceMs);
  if (waitMs === undefined) {
    return attempt().catch((error: unknown) => {
      throw agentNotStarted(error);
    });
  }
  return abortOnSignal((stop) => openWithRetry(context, environment, waitMs, attempt, stop));
}

async function openWithRetry(
  { output, storeName }: Context,
  environment: Environment,
  waitMs: number,
  attempt: () => Promise<OpenedStore>,
  signal: AbortSignal,
): Promise<OpenedStore> {
  const from = environment.monotonic();
  let notedAt = Number.NEGATIVE_INFINITY;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const opened = await attempt().catch((error: unknown) => ({ error }));
    if (!("error" in opened)) return opened;
    const { error } = opened;
    const left = from + waitMs - environment.monotonic();
    if (!isUnavailable(error) || left <= 0 || signal.aborted) throw agentNotStarted(error);
    if (environment.monotonic() - notedAt >= NOTE_EVERY_MS) {
      notedAt = environment.monotonic();
      await output.note(
        `holdfast: waiting for the store ${storeName}, for up to ${formatSpan(left)} more: ${error.message}`,
      );
    }
    await environment.sleep(Math.min(pause, left), signal);
  }
}

async function openWithTimeout(context: Context, environment: Environment, graceMs: number): Promise<OpenedStore> {
  const isOpen = new AbortController();
  const late = environment.sleep(graceMs, isOpen.signal).then((): never => {
    throw new HoldfastError("StoreUnreachable", `${context.storeName} gave no answer within ${formatSpan(graceMs)}`, {
      details: { target: context.storeName, code: "NO_ANSWER" },
      retryable: true,
    });
  });
  late.catch(() => {});
  try {
    return await Promise.race([openOrCreate(context, environment), late]);
  } finally {
    isOpen.abort();
  }
}

/**
 * Creating a store prints a message before the agent starts, because a typo in --store would cost a session of work.
 */
async function openOrCreate(context: Context, environment: Environment): Promise<OpenedStore> {
  const existing = await openIfThere(context, { environment });
  if (existing !== null) return { store: existing, isNew: false };
  return { store: await createStore(context, { environment }, "holdfast: "), isNew: true };
}

function isUnavailable(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && (error.code === "StoreUnreachable" || error.code === "StoreBusy");
}

/** Adds to the error that the agent was not started. The hint suggests waiting only if waiting can help. */
function agentNotStarted(error: unknown): unknown {
  if (!isHoldfastError(error)) return error;
  const { code, message, details, retryable, cause, hint: own } = error;
  const waiting =
    "Start the store and try again, or wait for it with --wait-store 60s. To run the agent without a store, leave out --store " +
    "and HOLDFAST_STORE and give --out FILE.";
  const hint = isUnavailable(error) ? waiting : own;
  return new HoldfastError(code, `${message}; the agent was not started`, {
    details,
    retryable,
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/**
 * Identifies the file that was opened as the store. An agent may clean up its directory and delete or replace a store
 * in it.
 */
export interface StoreFile {
  readonly path: string;
  readonly ino: number;
}

/** Returns null if the store is not a SQLite file. */
export async function storeFile({ io, storeName }: Context, store: Holdfast | null): Promise<StoreFile | null> {
  if (store === null || store.info.engine !== "sqlite") return null;
  const file = path.resolve(io.cwd, storeName);
  const { ino } = await stat(file).catch(() => ({ ino: null }));
  return ino === null ? null : { path: file, ino };
}

export async function isSameFile({ path: file, ino }: StoreFile): Promise<boolean> {
  return stat(file).then(
    (now) => now.ino === ino,
    () => false,
  );
}

/**
 * Only one run at a time works on a request: two would create two sessions, or continue one session differently. An
 * agent that keeps working after its run was killed counts as that run. Without --wait, a busy request fails with
 * RequestBusy.
 */
export async function claimWithMessages(
  { args, output }: Context,
  store: Holdfast,
  request: string,
  agent: CodingAgent,
): Promise<ClaimedRequest> {
  const wait = args.flag("wait");
  let hasWaited = false;
  const onWait = (owner: ClaimOwner) => {
    hasWaited = wait;
    const owned = describeOwner(owner, store.clock().now);
    const what = wait ? "waiting until it ends" : "waiting for its next heartbeat until its lease expires";
    void output.note(`holdfast: ${owned} works on request ${JSON.stringify(request)}; ${what}${howToEnd(owner)}`);
  };
  try {
    const claim = await abortOnSignal((signal) => store.captures.claim(request, agent, { wait, signal, onWait }));
    return { claim, hasWaited };
  } catch (error) {
    const isBusy = isHoldfastError(error) && error.code === "RequestBusy";
    throw isBusy ? requestBusy(error, store.clock().now) : agentNotStarted(error);
  }
}

function requestBusy({ message, details, retryable }: HoldfastError, now: number): HoldfastError {
  const { host, pid, orphan, isStalled } = details;
  const since = Number(details.since);
  const begun = `since ${formatTime(since)} (${formatAge(since, now)})`;
  const request = JSON.stringify(details.request);
  const busy = (what: string, ending: string) =>
    new HoldfastError("RequestBusy", `${what}; the agent was not started`, {
      details,
      retryable,
      hint: `Wait until it ends and resume its session with --wait, ${ending}or work in parallel with --beside: both results are kept.`,
    });
  if (typeof orphan === "number") {
    const killed = `the holdfast run of process ${pid} on ${host} was killed`;
    const works = `its agent, process ${orphan}, still works on request ${request} ${begun}`;
    return busy(`${killed}, and ${works}`, `end it with \`kill ${orphan}\`, `);
  }
  if (isStalled !== true) return busy(`${message} ${begun}`, "");
  const works = `process ${pid} on ${host} works on request ${request} ${begun}`;
  return busy(
    `${works}, and does not answer: it is stopped (Ctrl-Z), or it hangs`,
    `${continueCommand(Number(pid))}, `,
  );
}

function describeOwner({ host, pid, since, orphan, isStalled }: ClaimOwner, now: number): string {
  const begun = `begun ${formatAge(since, now)},`;
  if (orphan !== null) return `process ${orphan}, the agent of a holdfast run that was killed, ${begun}`;
  if (isStalled) return `process ${pid} on ${host}, which is stopped or hangs, ${begun}`;
  return `${pid === null ? "another process" : `process ${pid} on ${host}`}, ${begun}`;
}

function howToEnd({ pid, orphan, isStalled }: ClaimOwner): string {
  if (orphan !== null) return ` (end it with \`kill ${orphan}\`)`;
  return isStalled && pid !== null ? ` (${continueCommand(pid)})` : "";
}

/** A stopped process handles SIGTERM only after it continues. */
function continueCommand(pid: number): string {
  return `continue it with \`fg\` in its terminal or with \`kill -CONT ${pid}\`, end it with \`kill ${pid}; kill -CONT ${pid}\``;
}
