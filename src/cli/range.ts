// Which part of a session's log or messages a command prints: the options that `log` and `messages` share.
import type { Arguments } from "./command-line.ts";
import { UsageError } from "./failure.ts";
import type { Options } from "./option.ts";
import type { Output } from "./output.ts";
import { formatCount } from "./units.ts";

const DEFAULT_LAST = 50;

/** `noun` is the plural of the listed items. */
export function rangeOptions(noun: string, most?: number): Options {
  return {
    // 0 is for --follow: only what is new.
    last: { type: "number", summary: `the last N (default ${DEFAULT_LAST})` },
    after: {
      type: "text",
      value: "SEQ",
      summary: `only ${noun} after this seq, or after the event with this id (chat-1#7); 0 is from the start`,
    },
    limit: {
      type: "number",
      min: 1,
      ...(most === undefined ? {} : { max: most }),
      summary: "at most N, counted from the start",
    },
    follow: { type: "flag", short: "f", summary: `print new ${noun} until Ctrl-C (--json: one document per line)` },
  };
}

/** A log continues after a seq. Messages also continue after an id, because a fork shows messages of several logs. */
export type Range<After = number> =
  /** The items from a position on. */
  | { readonly after?: After; readonly limit?: number; readonly last?: never }
  /** The last items. */
  | { readonly last: number; readonly after?: never; readonly limit?: never };

/** The range of one session's log: an id in --after must be an event of that session. */
export function readRange(args: Arguments, session: string): Range {
  return rangeOf(args, readAfterSeq(args, session));
}

/** Reads `7` or `chat-1#7` as a seq of this session's log. */
export function readAfterSeq(args: Arguments, session: string): number | undefined {
  const after = readAfter(args);
  if (typeof after !== "string") return after;
  if (after.startsWith(`${session}#`)) return Number(after.slice(session.length + 1));
  throw new UsageError(`--after names an event of another session: "${after}" is not in "${session}"`);
}

const OWN = /^#?(\d{1,15})$/;
const ANY = /^.+#[1-9]\d{0,14}$/s;

/** Accepts `7`, or an id as `messages` prints it: `chat-1#7`, also of a session that this one inherits from. */
export function readMessageRange(args: Arguments): Range<number | string> {
  return rangeOf<number | string>(args, readAfter(args));
}

function readAfter(args: Arguments): number | string | undefined {
  const text = args.text("after");
  if (text === undefined) return undefined;
  const seq = OWN.exec(text)?.[1];
  if (seq !== undefined) return Number(seq);
  if (ANY.test(text)) return text;
  throw new UsageError(`--after takes a seq, or an id such as chat-1#7, not "${text}"`);
}

function rangeOf<After>(args: Arguments, after: After | undefined): Range<After> {
  const [last, limit] = [args.number("last"), args.number("limit")];
  const isForward = after !== undefined || limit !== undefined;
  if (last !== undefined && isForward) throw new UsageError("--last cannot be combined with --after or --limit");
  if (args.flag("follow") && limit !== undefined)
    throw new UsageError("--follow cannot be combined with --limit: it has no end");
  if (!isForward) return { last: last ?? DEFAULT_LAST };
  return { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
}

/** Notes that there is more than was printed, unless the user chose where to begin. */
export async function noteRest(
  output: Output,
  range: Range<number | string>,
  shown: number,
  total: number,
): Promise<void> {
  if (range.last === undefined || shown >= total) return;
  await output.note(`the last ${formatCount(shown)} of ${formatCount(total)}; --after 0 shows all`);
}
