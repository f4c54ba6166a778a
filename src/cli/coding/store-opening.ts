// Opens the store of `holdfast run`. The agent is not started without it: what it did would be lost. A store that does not
// answer is given up after the grace time, or waited for as long as --wait-store says.
import type { Environment } from "../../contracts/environment.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context } from "../command.ts";
import { createStore, openIfThere } from "../store.ts";
import { formatSpan } from "../units.ts";
import { exitCodeOf } from "./child.ts";

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;
/** How often it is said that the store is still waited for. */
const TOLD_EVERY_MS = 10_000;

export interface OpenPatience {
  /** How long one attempt may take. */
  readonly graceMs: number;
  /** How long to try again; undefined: once. */
  readonly waitMs: number | undefined;
}

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/** A signal ended the waiting. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  /** As shells tell it. */
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`ended by ${signal}`);
    this.exitCode = exitCodeOf(signal);
  }
}

/** Runs what waits before there is an agent; a signal ends it with Interrupted. */
export async function untilSignal<T>(act: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const interrupted = Promise.withResolvers<never>();
  interrupted.promise.catch(() => {});
  const listen = (signal: NodeJS.Signals) => {
    interrupted.reject(new Interrupted(signal));
    stop.abort();
  };
  for (const signal of SIGNALS) process.once(signal, listen);
  try {
    return await Promise.race([act(stop.signal), interrupted.promise]);
  } finally {
    for (const signal of SIGNALS) process.removeListener(signal, listen);
  }
}

export interface OpenedStore {
  readonly store: Holdfast;
  /** There was none: it was created now. */
  readonly isNew: boolean;
}

export async function openPatiently(
  context: Context,
  environment: Environment,
  { graceMs, waitMs }: OpenPatience,
): Promise<OpenedStore> {
  const attempt = () => openWithin(context, environment, graceMs);
  if (waitMs === undefined) {
    return attempt().catch((error: unknown) => {
      throw agentNotStarted(error);
    });
  }
  return untilSignal((stop) => openAgain(context, environment, waitMs, attempt, stop));
}

async function openAgain(
  { output, storeName }: Context,
  environment: Environment,
  waitMs: number,
  attempt: () => Promise<OpenedStore>,
  signal: AbortSignal,
): Promise<OpenedStore> {
  const from = environment.monotonic();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    const given = await attempt().catch((error: unknown) => ({ error }));
    if (!("error" in given)) return given;
    const { error } = given;
    const left = from + waitMs - environment.monotonic();
    if (!isUnavailable(error) || left <= 0 || signal.aborted) throw agentNotStarted(error);
    if (environment.monotonic() - toldAt >= TOLD_EVERY_MS) {
      toldAt = environment.monotonic();
      await output.note(
        `holdfast: waiting for the store ${storeName}, for up to ${formatSpan(left)} more: ${error.message}`,
      );
    }
    await environment.sleep(Math.min(pause, left), signal);
  }
}

async function openWithin(context: Context, environment: Environment, graceMs: number): Promise<OpenedStore> {
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

/** What was created is said before the agent starts: a slip in --store would cost a session of work otherwise. */
async function openOrCreate(context: Context, environment: Environment): Promise<OpenedStore> {
  const there = await openIfThere(context, { environment });
  if (there !== null) return { store: there, isNew: false };
  return { store: await createStore(context, { environment }, "holdfast: "), isNew: true };
}

function isUnavailable(error: unknown): error is HoldfastError {
  return isHoldfastError(error) && (error.code === "StoreUnreachable" || error.code === "StoreBusy");
}

/** The same failure, which came before the agent could start. Waiting is advised only where it can help. */
export function agentNotStarted(error: unknown): unknown {
  if (!isHoldfastError(error)) return error;
  const { code, message, details, retryable, cause, hint: own } = error;
  const waiting =
    "Start the store and try again, or wait for it with --wait-store 60s. To run the agent without a store, leave --store " +
    "and HOLDFAST_STORE out and give --out FILE.";
  const hint = isUnavailable(error) ? waiting : own;
  return new HoldfastError(code, `${message}; the agent was not started`, {
    ...{ details, retryable, cause },
    ...(hint === undefined ? {} : { hint }),
  });
}
