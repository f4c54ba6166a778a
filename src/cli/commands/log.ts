// holdfast log: prints a session's events in order, follows them live, and prints chain heads as anchors.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Locator } from "../../contracts/locators.ts";
import type { Anchor, LogEvent } from "../../contracts/log.ts";
import type { Session } from "../../contracts/session.ts";
import { rowId } from "../../core/row-id.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { follow } from "../follow.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import type { Output } from "../output.ts";
import { noteRest, type Range, rangeOptions, readRange } from "../range.ts";
import { needRun } from "../runs.ts";
import { eachSession } from "../session-walk.ts";
import { needSession } from "../sessions.ts";
import { type Column, EVENT_ID, table } from "../table.ts";
import { displayWidth, quoted, safeLine, truncate } from "../terminal.ts";
import { formatTime } from "../units.ts";

/** At most so many events per table: a longer answer is printed in pieces, so that it needs little memory. */
const PIECE = 1000;

const show: Command = {
  name: "show",
  aliases: ["list", "ls"],
  summary: "print a session's events in order",
  usage: [
    "log [show] SESSION [--last N | --after SEQ] [--type TYPE]… [--follow]",
    "log [show] SESSION [--after SEQ] --limit N [--type TYPE]…",
    "log [show] SESSION@HEAD [--last N | --after SEQ] [--type TYPE]…",
    "log [show] SESSION --run RUN [--last N | --after SEQ] [--type TYPE]…",
  ],
  description:
    "Prints the events of a session, oldest first: by default the last 50. Events are " +
    "compact: they name what was written and never repeat it; holdfast messages SESSION --follow prints the messages, live. " +
    "The hash of an event covers it and everything before it. At a " +
    `head: the events on the branch that leads to it. ${LOCATOR_HELP}`,
  options: {
    type: { type: "list", value: "TYPE", summary: "only events of this type, such as message/added" },
    run: { type: "text", value: "RUN", summary: "only events of this run; the beginning of its id is enough" },
    ...rangeOptions("events"),
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast log chat-1", does: "the last 50 events" },
    { command: "holdfast log chat-1 --after 0 --type task/updated", does: "every change of a task" },
    { command: "holdfast log chat-1 --follow", does: "watch it live, also what other processes write" },
  ],
  next: "holdfast verify SESSION checks the chain; holdfast log anchor SESSION prints its head, to keep elsewhere.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    const session = await needSession(holdfast, at.session);
    const range = readRange(args, session.id);
    const types = args.list("type");
    const named = args.text("run");
    if (named !== undefined) {
      if (args.flag("follow") || at.head !== undefined)
        throw new UsageError("--run cannot be combined with --follow or a head");
      return await showRun(holdfast, session, named, range, context);
    }
    if (args.flag("follow")) {
      if (at.head !== undefined)
        throw new UsageError("--follow needs a session without a head: nothing is added at a head");
      return await watch(holdfast, session, range, context);
    }
    if (at.head !== undefined) return await showAt(holdfast, at, range, context);
    const events = await readEvents(holdfast, session, range, types);
    const { id, seq, chain } = session;
    await output.answer({ session: id, seq, chain, events }, () => eventLines(events, output));
    if (types.length === 0) await noteRest(output, range, events.length, session.seq);
    else if (events.length === 0) await noteTypes(holdfast, session, context);
    return undefined;
  },
};

/** Prints the events of one run. */
async function showRun(
  holdfast: Holdfast,
  session: Session,
  named: string,
  range: Range,
  { args, output }: Context,
): Promise<undefined> {
  const { after = 0, limit = Number.POSITIVE_INFINITY, last } = range;
  const run = await needRun(holdfast, named);
  if (run.session !== session.id) throw new UsageError(`run "${run.id}" belongs to session "${run.session}"`);
  const types = new Set(args.list("type"));
  const found: LogEvent[] = [];
  for (let seen = after; ; ) {
    const page = await holdfast.runs.events(run.id, { after: seen, limit: LIMITS.eventsPage });
    found.push(...page.filter(({ type }) => types.size === 0 || types.has(type)));
    seen = page.at(-1)?.seq ?? seen;
    if (page.length < LIMITS.eventsPage || found.length >= limit) break;
  }
  const events = last === undefined ? found.slice(0, limit) : last === 0 ? [] : found.slice(-last);
  await output.answer({ session: session.id, run: run.id, events }, () => eventLines(events, output));
  await noteRest(output, range, events.length, found.length);
  return undefined;
}

/** Prints the events up to a head. Their seqs have gaps where other branches are. */
async function showAt(holdfast: Holdfast, at: Locator, range: Range, { args, output }: Context): Promise<undefined> {
  const { seq, hash } = await holdfast.log.anchor(at);
  const { after = 0, limit = Number.POSITIVE_INFINITY, last } = range;
  const found = await collect(holdfast, at, after, limit, args.list("type"));
  const events = last === undefined ? found : last === 0 ? [] : found.slice(-last);
  await output.answer({ ...at, seq, chain: hash, events }, () => eventLines(events, output));
  await noteRest(output, range, events.length, found.length);
  return undefined;
}

function eventLines(events: readonly LogEvent[], output: Output): string[] {
  if (events.length === 0) return ["no events"];
  return splitIntoTables(events).flatMap((piece) => table(columns(output), piece, output.frame));
}

/** Prints one event per line without a table, because the width of later events is unknown. */
function eventLine(event: LogEvent, { style, width }: Output): string {
  const origin = [event.agent, event.run].filter((name) => name !== undefined).join(", run ");
  const head = safeLine(`${formatTime(event.at)} ${event.type}${origin === "" ? "" : ` (${origin})`}`);
  const seq = safeLine(rowId(event.session, event.seq));
  const data = safeLine(JSON.stringify(event.data));
  const room = width - displayWidth(`${seq} ${head}  `) - 8;
  return `${style.name(seq)} ${head} ${style.faint(event.hash.slice(0, 8))} ${truncate(data, Math.max(0, room))}`;
}

/** A terminal leaves out today's date, so that there is more room. */
function columns({ interactive }: Output): readonly Column<LogEvent>[] {
  const today = interactive ? formatTime(Date.now()).slice(0, 11) : "always";
  return [
    {
      title: "EVENT",
      ...EVENT_ID,
      cell: ({ session, seq }) => rowId(session, seq),
      colour: (text, _, style) => style.name(text),
    },
    {
      title: "TIME",
      cell: ({ at }) => formatTime(at).replace(today, ""),
      colour: (text, _, style) => style.faint(text),
    },
    {
      title: "TYPE",
      cell: ({ type }) => type,
      colour: (text, _, style) => style.strong(text),
      shrink: 1,
      min: 15,
      keep: true,
    },
    { title: "AGENT", cell: ({ agent }) => agent ?? "", shrink: 2 },
    { title: "RUN", cell: ({ run }) => run ?? "", shrink: 4 },
    { title: "HASH", cell: ({ hash }) => hash.slice(0, 8), colour: (text, _, style) => style.faint(text) },
    { title: "DATA", cell: ({ data }) => JSON.stringify(data), shrink: 5, min: 16 },
  ];
}

function splitIntoTables(events: readonly LogEvent[]): (readonly LogEvent[])[] {
  return Array.from({ length: Math.ceil(events.length / PIECE) }, (_, i) => events.slice(i * PIECE, (i + 1) * PIECE));
}

async function readEvents(
  holdfast: Holdfast,
  session: Session,
  { after = 0, limit = Number.POSITIVE_INFINITY, last }: Range,
  types: readonly string[],
): Promise<readonly LogEvent[]> {
  if (last === undefined) return await collect(holdfast, { session: session.id }, after, limit, types);
  // Seqs are contiguous, so only a filter needs to read from the start.
  const from = types.length === 0 ? Math.max(0, session.seq - last) : 0;
  const events = await collect(holdfast, { session: session.id }, from, Number.POSITIVE_INFINITY, types);
  return last === 0 ? [] : events.slice(-last);
}

async function collect(
  holdfast: Holdfast,
  at: Locator,
  from: number,
  most: number,
  types: readonly string[],
): Promise<readonly LogEvent[]> {
  const found: LogEvent[] = [];
  for (let after = from; found.length < most; ) {
    const limit = Math.min(LIMITS.eventsPage, most - found.length);
    const page = await holdfast.log.read(at, { after, limit, ...(types.length === 0 ? {} : { types }) });
    for (const event of page) found.push(event);
    if (page.length < limit) break;
    after = page.at(-1)?.seq ?? after;
  }
  return found;
}

/** A type that no event has may be misspelt: the note lists the types that the session has. */
export async function noteTypes(holdfast: Holdfast, session: Session, { args, output }: Context): Promise<void> {
  const present = new Set<string>();
  for (let after = 0; after < session.seq; ) {
    const page = await holdfast.log.read(session.id, { after, limit: LIMITS.eventsPage });
    for (const { type } of page) present.add(type);
    after = page.at(-1)?.seq ?? session.seq;
  }
  const unknown = args.list("type").filter((type) => !present.has(type));
  if (unknown.length === 0) return;
  await output.note(safeLine(`no ${unknown.join(", ")} in this session; it has ${[...present].sort().join(", ")}`));
}

async function watch(holdfast: Holdfast, session: Session, range: Range, context: Context): Promise<number> {
  const { args, output, io } = context;
  const types = args.list("type");
  const after = range.last === undefined ? (range.after ?? 0) : Math.max(0, session.seq - range.last);
  if (output.interactive) {
    await output.note("data is cut to the width of the terminal; --json has all of it");
    await output.note(
      `events do not repeat texts: \`holdfast messages ${quoted(session.id)} --follow\` prints the messages`,
    );
  }
  return await follow(holdfast, session.id, { after, ...(types.length === 0 ? {} : { types }) }, io, async (event) => {
    if (output.json) await output.record(event);
    else await output.line(eventLine(event, output));
  });
}

const anchor: Command = {
  name: "anchor",
  summary: "print the heads of chains, to keep elsewhere",
  usage: ["log anchor SESSION…", "log anchor --all"],
  description:
    "Prints the chain head of a session as JSON, or the chain up to SESSION@HEAD. " +
    "The chain alone shows damage and careless editing; only an anchor " +
    "that is kept where the editor cannot write shows that a log and all its hashes were rewritten.",
  options: { all: { type: "flag", summary: "print the heads of every session of the store" } },
  operands: [{ name: "SESSION", need: "zero-or-more" }],
  examples: [
    { command: "holdfast log anchor chat-1 > chat-1.anchor.json", does: "keep this file in another place" },
    { command: "holdfast log anchor --all > anchors.json", does: "anchor every session" },
    { command: "holdfast verify --anchor anchors.json", does: "later: check that nothing is missing or changed" },
  ],
  next: "holdfast verify --anchor FILE checks the store against the anchors.",
  run: async (context) => {
    const { args, output } = context;
    const all = args.flag("all");
    if (all === args.operands.length > 0) throw new UsageError("name the SESSIONs to anchor, or pass --all");
    const holdfast = await context.open();
    const anchors: Anchor[] = [];
    for (const name of args.operands) anchors.push(await holdfast.log.anchor(await locate(holdfast, name)));
    if (all) await eachSession(holdfast, async ({ id }) => void anchors.push(await holdfast.log.anchor(id)));
    // The same with and without --json: a file to keep is always JSON.
    await output.document(all || anchors.length > 1 ? anchors : anchors[0]);
    return undefined;
  },
};

export const log: CommandGroup = {
  name: "log",
  summary: "print a session's events, follow them live, anchor the chain",
  usage: [...show.usage, ...anchor.usage],
  description: show.description,
  commands: [show, anchor],
  fallback: "show",
  examples: [...show.examples.slice(0, 1), ...show.examples.slice(2), ...anchor.examples.slice(0, 1)],
  ...(show.next === undefined ? {} : { next: show.next }),
};
