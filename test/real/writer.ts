// A child that appends and says "ack <session> <seq> <writer> <n>" for each message only after its promise resolved.
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError } from "../../src/contracts/errors.ts";
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { Message } from "../../src/contracts/messages.ts";
import { open } from "../../src/open.ts";
import { textOf } from "./examine.ts";
import { say } from "./say.ts";

export interface WriterArguments {
  readonly url: string;
  readonly writer: string;
  readonly session: string;
  /** Messages to write; as many as it can until it is killed, when not given. */
  readonly count?: number;
  /** So many at a time. */
  readonly window?: number;
  /** Each call is an appendMany of so many. */
  readonly many?: number;
  readonly pauseMs?: number;
  /** Says "ask <writer> <n>" before each call. */
  readonly asks?: boolean;
  /** Caller keys, and trying again whatever may succeed later. */
  readonly keyed?: boolean;
  readonly durability?: "full" | "normal";
  /** More writers on the same handle, each with its own session and way. */
  readonly beside?: readonly Omit<WriterArguments, "url" | "beside">[];
}

async function write(store: Holdfast, args: Omit<WriterArguments, "url">): Promise<void> {
  const { writer, count = Number.POSITIVE_INFINITY, window = 1, many = 1, pauseMs = 0 } = args;
  const one = async (first: number): Promise<void> => {
    if (args.asks) say(`ask ${writer} ${first}`);
    const written = await retried(args, () => call(store, args, first, Math.min(many, count - first)));
    say(written.map(({ session, seq }, i) => `ack ${session} ${seq} ${writer} ${first + i}`).join("\n"));
  };
  for (let n = 0; n < count; n += window * many) {
    const firsts = Array.from({ length: window }, (_, i) => n + i * many).filter((first) => first < count);
    await Promise.all(firsts.map(one));
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

async function call(
  store: Holdfast,
  args: Omit<WriterArguments, "url">,
  first: number,
  many: number,
): Promise<readonly Message[]> {
  const { writer, session, keyed = false } = args;
  const scope = { session, agent: writer };
  const messages = Array.from({ length: many }, (_, i) => ({
    role: "user" as const,
    content: textOf(writer, first + i),
    ...(keyed ? { key: `${writer}-${first + i}` } : {}),
  }));
  const [only] = messages;
  if (many === 1 && only !== undefined) return [await store.history.append(scope, only)];
  return store.history.appendMany(scope, messages);
}

async function retried<T>({ keyed = false }: { readonly keyed?: boolean }, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!keyed || !isHoldfastError(error) || !error.retryable) throw error;
      await sleep(20);
    }
  }
}

const { beside = [], url, ...args }: WriterArguments = JSON.parse(process.argv[2] ?? "{}");
const store = await open(url, args.durability === undefined ? {} : { durability: args.durability });
say("ready");
await Promise.all([args, ...beside].map((one) => write(store, one)));
await store.close();
say("done");
