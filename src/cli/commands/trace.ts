// holdfast trace: prints a session's events with a summary and the causes of each, or all causes of one event.
import { LIMITS } from "../../contracts/limits.ts";
import type { Causes, TraceEvent } from "../../contracts/trace.ts";
import type { Command } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate, locateEvent } from "../locate.ts";
import type { Output } from "../output.ts";
import { readAfterSeq } from "../range.ts";
import { needSession } from "../sessions.ts";
import { type Column, EVENT_ID, table } from "../table.ts";
import { displayWidth, safe, wrapWhole } from "../terminal.ts";
import { formatTime } from "../units.ts";
import { noteTypes } from "./log.ts";

const DEFAULT_LIMIT = 1000;

export const trace: Command = {
  name: "trace",
  summary: "print what happened and what caused it",
  usage: ["trace SESSION[@HEAD] [--after SEQ] [--limit N] [--type TYPE]…", "trace --causes SESSION#SEQ [--limit N]"],
  description:
    "Prints a session's events, oldest first, each with a one-line summary and the events that caused " +
    "it, also those of other sessions. With --causes it walks back from one event: the nearest causes come " +
    "first, and among equally near ones the newest. It never shows text of " +
    "messages or other payloads. At a head: the events on the branch that leads to it. " +
    LOCATOR_HELP,
  options: {
    after: {
      type: "text",
      value: "SEQ",
      summary: "only events after this seq, or after the event with this id (chat-1#7)",
    },
    limit: {
      type: "number",
      min: 1,
      max: LIMITS.eventsPage,
      summary: `at most N (default ${DEFAULT_LIMIT}; 100 causes)`,
    },
    type: { type: "list", value: "TYPE", summary: "only events of this type, such as head/created" },
    causes: { type: "text", value: "EVENT", summary: "the causes of this event, such as chat-1#42" },
  },
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast trace chat-1", does: "everything that happened" },
    { command: "holdfast trace chat-1 --type head/created --json", does: "its heads and their causes, for a program" },
    { command: "holdfast trace --causes chat-1#42", does: "the causes of event 42" },
  ],
  next: "holdfast log SESSION prints the events with their data; holdfast query searches all sessions.",
  run: async (context) => {
    const { args, output } = context;
    const [named] = args.operands;
    const event = args.text("causes");
    if ((named === undefined) === (event === undefined))
      throw new UsageError("name a SESSION, or an event with --causes");
    const [limit, types] = [args.number("limit"), args.list("type")];
    const atMost = limit === undefined ? {} : { limit };
    const holdfast = await context.open();
    if (event !== undefined) {
      if (args.text("after") !== undefined || types.length > 0)
        throw new UsageError("--causes cannot be combined with --after or --type");
      const found = await holdfast.causes(await locateEvent(holdfast, event), atMost);
      const events = [found.event, ...found.causes].toSorted(nearestFirst(found));
      await output.answer(found, () => traceLines(events, found.event.session, output));
      if (found.causes.length > 1) await output.note("nearest causes first, and among equally near ones the newest");
      if (found.more) await output.note(`there are more causes; --limit shows up to ${LIMITS.causes}`);
      return undefined;
    }
    const at = await locate(holdfast, named ?? "");
    const session = await needSession(holdfast, at.session);
    const after = readAfterSeq(args, session.id);
    const end = at.head === undefined ? session.seq : ((await holdfast.heads.get(at.head))?.seq ?? session.seq);
    const events = await holdfast.trace(at, {
      ...(after === undefined ? {} : { after }),
      ...atMost,
      ...(types.length === 0 ? {} : { types }),
    });
    await output.answer({ ...at, session: session.id, seq: end, events }, () =>
      events.length === 0 ? ["no events"] : traceLines(events, session.id, output),
    );
    if (events.length === 0 && types.length > 0) await noteTypes(holdfast, session, context);
    const last = events.at(-1)?.seq ?? end;
    if (events.length === (limit ?? DEFAULT_LIMIT) && last < end) {
      await output.note(`there is more; --after ${last} continues`);
    }
    return undefined;
  },
};

/**
 * On a terminal the session is named once, above the table, so that lines have more room for the summary. A file gets
 * whole ids.
 */
function traceLines(events: readonly TraceEvent[], session: string, output: Output): string[] {
  if (!output.interactive)
    return table(
      columns(output, events, (id) => id),
      events,
      output.frame,
    );
  const own = `${session}#`;
  const nameOf = (id: string) => (id.startsWith(own) ? id.slice(session.length) : id);
  const [last] = events.slice(-1);
  const heading = safe`session ${session}; its event ${nameOf(last?.id ?? own)} is ${last?.id ?? own}`;
  return [
    ...wrapWhole(heading, output.width).map((line) => output.style.faint(line)),
    ...table(columns(output, events, nameOf), events, output.frame),
  ];
}

/** Sorts by the shortest path back from the event, and equally near causes newest first. */
function nearestFirst({ event, causes }: Causes): (a: TraceEvent, b: TraceEvent) => number {
  const walked = new Map([[event.id, 0]]);
  // Causes come nearest first, so the distance of an event is known before those of its causes.
  for (const { id, causeEventIds } of [event, ...causes]) {
    for (const cause of causeEventIds) if (!walked.has(cause)) walked.set(cause, (walked.get(id) ?? 0) + 1);
  }
  const far = ({ id }: TraceEvent) => walked.get(id) ?? 0;
  return (a, b) => far(a) - far(b) || b.at - a.at || b.seq - a.seq;
}

/**
 * A terminal leaves out a date that all events share, to have more room for the summary. A file gets the whole time.
 */
function columns(
  { interactive }: Output,
  events: readonly TraceEvent[],
  nameOf: (id: string) => string,
): readonly Column<TraceEvent>[] {
  // Users cannot copy an id that is split over lines.
  const longest = Math.max(
    9,
    ...events.flatMap(({ causeEventIds }) => causeEventIds.map((id) => displayWidth(nameOf(id)))),
  );
  const days = new Set(events.map(({ at }) => formatTime(at).slice(0, DAY)));
  const time = (at: number) =>
    interactive
      ? formatTime(at)
          .slice(days.size === 1 ? DAY : 0)
          .replace(/Z$/, "")
      : formatTime(at);
  return [
    { title: "EVENT", ...EVENT_ID, cell: ({ id }) => nameOf(id), colour: (text, _, style) => style.name(text) },
    { title: "TIME", cell: ({ at }) => time(at), colour: (text, _, style) => style.faint(text) },
    {
      title: "TYPE",
      keep: true,
      cell: ({ type }) => type,
      colour: (text, _, style) => style.strong(text),
    },
    { title: "WHAT", cell: ({ summary }) => summary, shrink: 3, min: 24, keep: true, wrap: true },
    {
      title: "CAUSED BY",
      shrink: 4,
      min: longest,
      keep: true,
      wrap: true,
      cell: ({ causeEventIds }) => sortBySeq(causeEventIds).map(nameOf).join(" "),
    },
  ];
}

/** The length of "2026-11-16 ". */
const DAY = 11;

/** Sorts ids by seq within each session and keeps the order of the sessions. */
function sortBySeq(ids: readonly string[]): readonly string[] {
  const sessionOf = (id: string) => id.slice(0, id.lastIndexOf("#"));
  const seqOf = (id: string) => Number(id.slice(id.lastIndexOf("#") + 1));
  const bySession = Map.groupBy(ids, sessionOf);
  return [...bySession.values()].flatMap((some) => some.toSorted((a, b) => seqOf(a) - seqOf(b)));
}
