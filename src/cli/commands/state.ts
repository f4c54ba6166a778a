// holdfast state: reads and changes the key/value state of a session.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Json } from "../../contracts/json.ts";
import type { Versioned } from "../../contracts/state.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate, shortHead } from "../locate.ts";
import { findSession, needSession } from "../sessions.ts";
import { type Column, table } from "../table.ts";
import { quoted, safe } from "../terminal.ts";
import { parseDurationOrNever } from "../units.ts";

const get: Command = {
  name: "get",
  aliases: ["show", "list", "ls"],
  summary: "print a session's state, or one key of it",
  usage: ["state [get] SESSION[@HEAD] [KEY]"],
  description: `Prints the whole state with its version, or the value of one key as JSON; now, or as it was at a head. ${LOCATOR_HELP}`,
  options: {},
  operands: [
    { name: "SESSION", need: "required" },
    { name: "KEY", need: "optional" },
  ],
  examples: [
    { command: "holdfast state chat-1", does: "all keys" },
    { command: "holdfast state chat-1 cart", does: "one value, as JSON" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const { session: id } = at;
    const key = args.operands[1];
    const snapshot = at.head === undefined ? null : await holdfast.sessions.at(at);
    if (key === undefined) {
      const then = snapshot === null ? null : { value: await snapshot.state(), head: at.head ?? "" };
      await answerWithState(then ?? (await holdfast.state.getVersioned(id)), id, context);
      return undefined;
    }
    const value = snapshot === null ? await holdfast.state.getKey(id, key) : (await snapshot.state())[key];
    if (value === undefined) throw noKey(id, key, at.head);
    // JSON escapes most control characters; safe\`\` escapes the rest.
    await output.answer(value, () =>
      JSON.stringify(value, null, 2)
        .split("\n")
        .map((line) => safe`${line}`),
    );
    // The note goes to stderr, so that a script reads only the value from stdout.
    if (at.head !== undefined) await output.note(`at head ${shortHead(at.head)}`);
    return undefined;
  },
};

function noKey(session: string, key: string, head?: string): HoldfastError {
  const named = head === undefined ? session : `${session}@${head.slice(0, 11)}`;
  const then = head === undefined ? "has" : `had at head ${shortHead(head)}`;
  return new HoldfastError("NotFound", `session "${session}" ${then} no state "${key}"`, {
    hint: `\`holdfast state ${quoted(named)}\` shows the keys there ${head === undefined ? "are" : "were"}`,
    details: { session, key, ...(head === undefined ? {} : { head }) },
  });
}

async function answerWithState(
  state: Versioned | { readonly value: Versioned["value"]; readonly head: string },
  session: string,
  { output }: Context,
  change: { readonly created?: boolean } = {},
): Promise<void> {
  const entries = Object.entries(state.value);
  const version =
    "head" in state
      ? `at head ${shortHead(state.head)}`
      : `version ${state.version}${change.created === true ? " (a new session)" : ""}`;
  await output.answer({ session, ...state, ...change }, () => {
    if (entries.length === 0) return [`no state (${version})`];
    const columns: readonly Column<[string, Json]>[] = [
      { title: "KEY", cell: ([key]) => key, shrink: 1, keep: true },
      { title: "VALUE", cell: ([, value]) => JSON.stringify(value), shrink: 2, keep: true },
    ];
    return [...table(columns, entries, output.frame), "", output.style.faint(version)];
  });
}

const TTL = { type: "text", value: "TIME", summary: "how long to keep these keys: 90s, 15m, 12h, 7d" } as const;

const set: Command = {
  name: "set",
  summary: "set keys, leaving the others as they are",
  usage: ["state set SESSION KEY=JSON… [--text] [--ttl TIME]"],
  description:
    "Sets the given keys in one commit and keeps the others; writers of different keys never lose each " +
    "other's changes. A missing session is created. A value is JSON: 3, true, '\"text\"', '{\"a\":1}'. With " +
    "--text every value is plain text.",
  options: { text: { type: "flag", summary: "values are text, not JSON" }, ttl: TTL },
  operands: [
    { name: "SESSION", need: "required" },
    { name: "KEY=JSON", need: "one-or-more" },
  ],
  examples: [
    { command: "holdfast state set chat-1 step=3 'cart={\"items\":[]}'", does: "two keys at once" },
    { command: "holdfast state set chat-1 --text name=Ada --ttl 1h", does: "a text, for an hour" },
  ],
  next: "holdfast state SESSION prints it; holdfast log SESSION --type state/patched lists its changes.",
  run: async (context) => {
    const { args } = context;
    const patch = Object.fromEntries(args.operands.slice(1).map((pair) => readAssignment(pair, args.flag("text"))));
    const ttl = args.text("ttl");
    const ttlMs = ttl === undefined ? null : parseDurationOrNever(ttl, "--ttl");
    const options = ttlMs === null ? {} : { ttlMs };
    const holdfast = await context.open();
    const session = await findSession(holdfast, args.operand(0));
    const id = session?.id ?? args.operand(0);
    await answerWithState(await holdfast.state.patch(id, patch, options), id, context, { created: session === null });
    return undefined;
  },
};

function readAssignment(pair: string, isText: boolean): [string, Json] {
  const at = pair.indexOf("=");
  if (at < 1) throw new UsageError(`"${pair}" is not KEY=JSON`);
  const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
  if (isText) return [key, value];
  try {
    return [key, JSON.parse(value) as Json];
  } catch {
    throw new UsageError(
      `the value of ${key} is not JSON; for a text write '${key}=${JSON.stringify(value)}' or --text`,
    );
  }
}

const rm: Command = {
  name: "rm",
  summary: "remove keys, or all of them",
  usage: ["state rm SESSION KEY…", "state rm SESSION --all"],
  description:
    "Removes the given keys in one commit, or the whole state with --all. If one of them does not exist, none is removed.",
  options: { all: { type: "flag", summary: "the whole state" } },
  operands: [
    { name: "SESSION", need: "required" },
    { name: "KEY", need: "zero-or-more" },
  ],
  examples: [{ command: "holdfast state rm chat-1 cart", does: "one key" }],
  run: async (context) => {
    const { args } = context;
    const keys = args.operands.slice(1);
    if (args.flag("all") === keys.length > 0) throw new UsageError("name the KEYs to remove, or pass --all");
    const holdfast = await context.open();
    const { id } = await needSession(holdfast, args.operand(0));
    const { value } = await holdfast.state.getVersioned(id);
    const absent = keys.find((key) => !Object.hasOwn(value, key));
    if (absent !== undefined) throw noKey(id, absent);
    if (args.flag("all")) await holdfast.state.clear(id);
    else await holdfast.state.patch(id, {}, { remove: keys });
    await answerWithState(await holdfast.state.getVersioned(id), id, context);
    return undefined;
  },
};

export const state: CommandGroup = {
  name: "state",
  summary: "read and set a session's state",
  usage: [...get.usage, ...set.usage, ...rm.usage],
  description:
    "A session's state is a set of keys with JSON values, which is erased with the session. Every change is " +
    "an event in its log.",
  commands: [get, set, rm],
  fallback: "get",
  examples: [...get.examples, ...set.examples.slice(0, 1)],
};
