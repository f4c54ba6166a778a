// Which part of a session's list is shown: the options that `log` and `messages` share, what they mean, and how a list
// is followed live.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { LogEvent, TailOptions } from "../contracts/log.ts";
import type { Arguments } from "./arguments.ts";
import type { Options } from "./command.ts";
import { EXIT } from "./exit.ts";
import { UsageError } from "./failure.ts";
import { type Io, interruption } from "./io.ts";
import type { Output } from "./output.ts";
import { formatCount } from "./units.ts";

const DEFAULT_LAST = 50;

/** `noun` is what is listed, in the plural. */
export function rangeOptions(noun: string, most?: number): Options {
  return {
    last: { type: "number", summary: `the last N (default ${DEFAULT_LAST})` },
    after: { type: "number", value: "SEQ", summary: `only ${noun} behind this seq; 0 is from the start` },
    limit: {
      type: "number",
      ...(most === undefined ? {} : { max: most }),
      summary: "at most N, counted from the start",
    },
    follow: { type: "flag", short: "f", summary: `go on with new ${noun} until Ctrl-C (--json: one document a line)` },
  };
}

export type Range =
  /** From a point on. */
  | { readonly after?: number; readonly limit?: number; readonly last?: never }
  /** The end of it. */
  | { readonly last: number; readonly after?: never; readonly limit?: never };

export function readRange(args: Arguments): Range {
  const [last, after, limit] = [args.number("last"), args.number("after"), args.number("limit")];
  const isForward = after !== undefined || limit !== undefined;
  if (last !== undefined && isForward) throw new UsageError("--last goes without --after and --limit");
  if (args.flag("follow") && limit !== undefined) throw new UsageError("--follow goes without --limit: it has no end");
  if (!isForward) return { last: last ?? DEFAULT_LAST };
  return { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
}

/** Says that there is more than was shown, unless the user chose where to begin. */
export async function noteRest(
  output: Output,
  range: Range,
  shown: number,
  total: number,
  all = "--after 0",
): Promise<void> {
  if (range.last === undefined || shown >= total) return;
  await output.note(`the last ${shown} of ${formatCount(total)}; ${all} shows all`);
}

/**
 * Events as they come, until the user has enough; answers with the exit code. A reader of ours that goes away (`| head`) is
 * noticed when the next event is written: Node cannot watch a pipe that it only writes to.
 */
export async function follow(
  holdfast: Holdfast,
  session: string,
  options: TailOptions,
  io: Io,
  see: (event: LogEvent) => Promise<void>,
): Promise<number> {
  const { signal, release } = interruption(io);
  try {
    for await (const event of holdfast.log.tail(session, { ...options, signal })) await see(event);
  } finally {
    release();
  }
  // Nothing else ends it while the store is open.
  if (!signal.aborted)
    throw new HoldfastError("SessionDeleted", `session "${session}" was erased`, { details: { session } });
  return EXIT.ok;
}
