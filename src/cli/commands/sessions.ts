// holdfast sessions: lists, draws, shows, creates and erases the conversation threads of a store.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Erasure } from "../../contracts/history.ts";
import type { Session, SessionFilter, SessionInput } from "../../contracts/session.ts";
import { SESSION_VERBS } from "../../contracts/verbs/sessions.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { readObject } from "../input.ts";
import { choiceOption, pageOptions } from "../option.ts";
import { type HeadAdvice, needSession } from "../sessions.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { safe, safeLine, truncate } from "../terminal.ts";
import { formatAge, formatCount, formatCounts, plural } from "../units.ts";
import { show, tree } from "./sessions-graph.ts";

const STATUS = SESSION_VERBS.list.params[0].schema.fields.status;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list sessions, newest first",
  usage: ["sessions [ls] [--agent A] [--tag T] [--status open|closed] [--request R] [--limit N] [--cursor C]"],
  description:
    "Lists sessions, newest first, a page at a time; the line below the table says how to print the next page. MESSAGES " +
    "counts the messages that a session shows, including those that a fork inherits.",
  options: {
    agent: { type: "text", value: "ID", summary: "only sessions of this agent" },
    tag: { type: "text", value: "TAG", summary: "only sessions with this tag" },
    status: { ...choiceOption(STATUS), value: STATUS.of.join("|"), summary: "only sessions with this status" },
    request: { type: "text", value: "ID", summary: "only sessions of this request" },
    ...pageOptions(50),
  },
  operands: [],
  examples: [
    { command: "holdfast sessions", does: "the newest 50" },
    { command: "holdfast sessions --agent helper --status open", does: "one agent's open sessions" },
    { command: "holdfast sessions --json | jq -r '.items[].id'", does: "ids for a script" },
  ],
  next: "holdfast messages ID prints a session's messages; holdfast log ID prints its events.",
  run: async (context) => {
    const holdfast = await context.open();
    const page = await holdfast.sessions.list(readFilter(context));
    const now = holdfast.clock().now;
    await context.output.answer(page, () => {
      if (page.items.length === 0) return ["no sessions"];
      return table(columns(now), page.items, context.output.frame);
    });
    await context.output.noteNextPage(page.next);
    return undefined;
  },
};

function readFilter({ args }: Context): SessionFilter {
  const filter: { -readonly [K in keyof SessionFilter]: SessionFilter[K] } = { limit: args.number("limit") ?? 50 };
  const [agent, request, cursor] = [args.text("agent"), args.text("request"), args.text("cursor")];
  const [tag, status] = [args.text("tag"), args.choice("status", STATUS.of)];
  if (agent !== undefined) filter.agent = agent;
  if (tag !== undefined) filter.tag = tag;
  if (status !== undefined) filter.status = status;
  if (request !== undefined) filter.request = request;
  if (cursor !== undefined) filter.cursor = cursor;
  return filter;
}

/** As wide as a generated id: a longer id gets its own line, so that the other columns keep their width. */
const SESSION_ID = { ...ID, min: 24 } as const;

/** Columns that `sessions show` also prints are left out first if there is no room for all. */
const columns = (now: number): readonly Column<Session>[] => [
  { title: "SESSION", cell: ({ id }) => id, ...SESSION_ID, colour: (text, _, style) => style.name(text) },
  { title: "AGENT", cell: ({ agent }) => agent ?? "", shrink: 2, drop: 4 },
  { title: "STATUS", cell: ({ status }) => status, drop: 3 },
  { title: "MESSAGES", align: "right", cell: ({ messages }) => formatCount(messages), drop: 1 },
  { title: "EVENTS", align: "right", cell: ({ seq }) => formatCount(seq), drop: 5 },
  { title: "CHANGED", cell: ({ updatedAt }) => formatAge(updatedAt, now) },
  { title: "REQUEST", cell: ({ request }) => request ?? "", shrink: 3, min: 20, drop: 2 },
  // Programs may set long tags, and many of them.
  { title: "TAGS", cell: ({ tags }) => truncate(safeLine(tags.join(" ")), 40), shrink: 5, min: 0, drop: 6 },
  { title: "TITLE", cell: ({ title }) => title ?? "", shrink: 4, min: 16 },
];

const create: Command = {
  name: "create",
  summary: "create a session",
  usage: ["sessions create [ID] [--agent A] [--title T] [--tag T]… [--request R] [--metadata JSON]"],
  description:
    "Creates a session; without an ID, Holdfast generates one. Appending a message also creates a missing session, so this command " +
    "is for sessions that need a title, tags or metadata. An id is never used twice, not even after the session was " +
    "erased.",
  options: {
    agent: { type: "text", value: "ID", summary: "the agent it belongs to" },
    title: { type: "text", summary: "a title for people" },
    tag: { type: "list", value: "TAG", summary: "a tag to find it by" },
    request: { type: "text", value: "ID", summary: "your id that groups sessions" },
    metadata: { type: "text", value: "JSON", summary: "a JSON object to keep with it" },
  },
  operands: [{ name: "ID", need: "optional" }],
  examples: [
    { command: "holdfast sessions create", does: "a session with a generated id" },
    {
      command: "holdfast sessions create chat-1 --agent helper --tag billing",
      does: "with your id, an agent and a tag",
    },
  ],
  next: "holdfast messages add ID --agent A 'hello' writes to it.",
  run: async (context) => {
    const input = readInput(context);
    const session = await (await context.open()).sessions.create(input);
    await context.output.answer(session, () => [safe`created session ${session.id}`]);
    return undefined;
  },
};

function readInput({ args }: Context): SessionInput {
  const input: { -readonly [K in keyof SessionInput]: SessionInput[K] } = { tags: args.list("tag") };
  const [id] = args.operands;
  const [agent, title, request] = [args.text("agent"), args.text("title"), args.text("request")];
  const metadata = args.text("metadata");
  if (id !== undefined) input.id = id;
  if (agent !== undefined) input.agent = agent;
  if (title !== undefined) input.title = title;
  if (request !== undefined) input.request = request;
  if (metadata !== undefined) input.metadata = readObject(metadata, "--metadata");
  return input;
}

const rm: Command = {
  name: "rm",
  summary: "erase a session and all of its content",
  usage: ["sessions rm ID [--yes]"],
  description:
    "Erases a session: messages, state, tasks and log, for good. A tombstone stays, so that its id is not used " +
    "again. It asks first, and prints what was erased and what was kept.",
  options: { yes: YES_OPTION },
  operands: [{ name: "ID", need: "required" }],
  examples: [
    { command: "holdfast sessions rm chat-1", does: "asks, then erases" },
    { command: "holdfast sessions rm chat-1 --yes", does: "for scripts" },
  ],
  next: "holdfast gc frees the space of blobs without references.",
  run: async (context) => {
    const holdfast = await context.open();
    const session = await needSession(holdfast, context.args.operand(0), REWIND_ADVICE);
    const content = `${plural(session.messages, "message")}, ${plural(session.seq, "event")}`;
    await confirm(context, `This erases session ${session.id} (${content}) for good.`);
    const erasure = await holdfast.sessions.delete(session.id);
    if (erasure === null) {
      throw new HoldfastError("NotFound", `session "${session.id}" was erased by another process meanwhile`);
    }
    await context.output.answer({ session: session.id, ...erasure }, () => [
      safe`erased session ${session.id}`,
      ...erasureLines(erasure, context),
    ]);
    return undefined;
  },
};

const REWIND_ADVICE: HeadAdvice = (named) =>
  `a head cannot be erased alone; \`holdfast rewind ${named}\` goes back to it and erases nothing`;

function erasureLines({ removed, kept }: Erasure, { output }: Context): string[] {
  const pairs: [string, string][] = [
    ["removed", formatCounts(removed) || "nothing"],
    ["kept", formatCounts(kept) || "nothing"],
  ];
  return facts(pairs, { ...output.frame, indent: 2 });
}

export const sessions: CommandGroup = {
  name: "sessions",
  summary: "list, draw, show, create and erase sessions",
  usage: [...ls.usage, ...tree.usage, ...show.usage, ...create.usage, ...rm.usage],
  description:
    "A session is a long-lived conversation thread. It owns a log, and messages, state and task boards belong to it.",
  commands: [ls, tree, show, create, rm],
  fallback: "ls",
  examples: [...ls.examples.slice(0, 2), ...rm.examples.slice(0, 1)],
  next: "holdfast messages ID prints a session's messages; holdfast verify ID checks its log.",
};
