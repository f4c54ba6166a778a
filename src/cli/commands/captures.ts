// holdfast captures: the saved sessions of coding agents, how long they are kept, and what goes.

import {
  describeExpiry,
  expiredCaptures,
  isExpired,
  matchesSelector,
  requireCapture,
} from "../../coding/find-capture.ts";
import type { Capture, CaptureFilter, CapturesRemoved } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Page } from "../../contracts/json.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { AGENT_OPTION, agentGiven, SESSION_ID_OPTION } from "../captures/agent.ts";
import { captureFacts, captureTable, expiry, fileTable, sweptWords } from "../captures/tables.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { quoted, safe, wrapWords } from "../terminal.ts";
import { formatBytes, parseDurationOrNever, plural } from "../units.ts";

const CAPTURE = [{ name: "CAPTURE", need: "one" }] as const;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list captures, newest first",
  usage: [
    "captures [ls] [--request ID] [--session-id ID] [--agent A] [--beside] [--limit N] [--cursor C]",
    "captures [ls] --expired [--request ID] [--session-id ID] [--agent A] [--limit N]",
  ],
  description:
    "Lists what was captured, newest first, a page at a time, without what has expired; --expired lists that, as long as it was " +
    "not swept: holdfast captures keep CAPTURE keeps it after all. SIZE is what the files have, STORED what " +
    "they took in the store: what they share with other captures is counted in each. Those that are kept beside the newest, " +
    "because two machines went on from the same one, are listed with --beside.",
  options: {
    request: { type: "text", value: "ID", summary: "only captures of this request" },
    "session-id": SESSION_ID_OPTION,
    agent: { ...AGENT_OPTION, summary: "only captures of this coding agent" },
    beside: { type: "flag", summary: "also those that are kept beside the newest" },
    expired: { type: "flag", summary: "those whose time is over and which were not swept yet" },
    limit: { type: "number", min: 1, max: LIMITS.page, summary: "at most so many (default 50)" },
    cursor: { type: "text", summary: "the page that begins here; printed below a page that is not the last" },
  },
  operands: [],
  examples: [
    { command: "holdfast captures", does: "the 50 newest" },
    { command: "holdfast captures --request issue-7 --json", does: "of one request, for a program" },
  ],
  next: "holdfast captures show CAPTURE lists its files; holdfast restore --capture CAPTURE puts it back.",
  run: async (context) => {
    const { args, output } = context;
    const filter = filterOf(context);
    const holdfast = await context.open();
    const page = args.flag("expired") ? await expiredPage(holdfast, filter) : await holdfast.captures.list(filter);
    const none = args.flag("expired") ? "no captures that have expired" : "no captures";
    await output.answer(page, () =>
      page.items.length === 0 ? [none] : captureTable(page.items, holdfast.clock().now, output.frame),
    );
    if (page.next !== null) await output.note(`more: add --cursor '${page.next}'`);
    else if (!args.flag("expired") && !output.json) await noteOthers(holdfast, filter, context);
    return undefined;
  },
};

/** One page is enough: a sweep keeps their number small. */
async function expiredPage(holdfast: Holdfast, filter: CaptureFilter): Promise<Page<Capture>> {
  const { request, sessionId, agent, limit } = filter;
  const all = (await expiredCaptures(holdfast)).filter(matchesSelector({ request, sessionId }, agent));
  return { items: all.slice(0, limit), next: null };
}

/** Notes captures that the list does not show, because users may not know of them. */
async function noteOthers(holdfast: Holdfast, filter: CaptureFilter, { output }: Context): Promise<void> {
  const { cursor: _, ...all } = filter;
  const given = optionsOf(filter);
  const { items } = await holdfast.captures.list({ ...all, diverged: true, limit: LIMITS.page });
  const beside = filter.diverged ? 0 : items.filter(({ diverged }) => diverged).length;
  if (beside > 0) {
    await output.note(
      `${beside} more ${beside === 1 ? "is" : "are"} kept beside: \`holdfast captures --beside${given}\``,
    );
  }
  const expired = (await expiredPage(holdfast, { ...all, limit: LIMITS.page })).items.length;
  if (expired > 0) {
    await output.note(
      `${plural(expired, "has", "have")} expired and can still be kept: \`holdfast captures --expired${given}\``,
    );
  }
}

/** As they stand on a command line, so that the next one asks for the same captures. */
function optionsOf({ request, sessionId, agent }: CaptureFilter): string {
  const options = { request, "session-id": sessionId, agent };
  return Object.entries(options)
    .flatMap(([name, value]) => (value === undefined ? [] : [` --${name} ${quoted(value)}`]))
    .join("");
}

function filterOf(context: Context): CaptureFilter {
  const { args } = context;
  const [request, sessionId, cursor] = [args.text("request"), args.text("session-id"), args.text("cursor")];
  const agent = agentGiven(context);
  if (args.flag("expired") && (args.flag("beside") || cursor !== undefined)) {
    throw new UsageError("--expired lists all of them: leave out --beside and --cursor");
  }
  return {
    limit: args.number("limit") ?? 50,
    diverged: args.flag("beside"),
    ...(request === undefined ? {} : { request }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(agent === undefined ? {} : { agent }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const show: Command = {
  name: "show",
  summary: "tell what a capture is, and list its files",
  usage: ["captures show CAPTURE"],
  description:
    "Tells where and when a session was captured, how long it is kept, and which files it has, by what they are to the " +
    "session. Of one that has expired the files cannot be read any more.",
  options: {},
  operands: CAPTURE,
  examples: [{ command: "holdfast captures show cap_3k9x…", does: "its first 8 characters do, if no other has them" }],
  next: "holdfast captures keep CAPTURE keeps it longer.",
  run: async (context) => {
    const { output } = context;
    const holdfast = await context.open();
    const capture = await requireCapture(holdfast, context.args.operand(0));
    const files = isExpired(holdfast, capture) ? null : await holdfast.captures.files(capture.id);
    await output.answer({ ...capture, files }, () => [
      ...captureFacts(capture, holdfast.clock().now, output.frame),
      ...(files === null ? [] : ["", ...fileTable(files, output.frame)]),
    ]);
    if (files === null) {
      await output.note(`${describeExpiry(holdfast, capture)}: \`holdfast captures keep ${capture.id}\` keeps it`);
    }
    return undefined;
  },
};

const rm: Command = {
  name: "rm",
  summary: "delete captures at once",
  usage: ["captures rm CAPTURE… [--yes]", "captures rm --request ID [--yes]"],
  description:
    "Deletes captures now instead of waiting for their time: those named, or all of a request, what is kept beside the newest " +
    "and what has expired too. The conversations stay in their sessions; holdfast sessions rm erases those.",
  options: { request: { type: "text", value: "ID", summary: "all captures of this request" }, yes: YES_OPTION },
  operands: [{ name: "CAPTURE", need: "any" }],
  examples: [
    { command: "holdfast captures rm cap_3k9x… --yes", does: "its first 8 characters do, if no other has them" },
    { command: "holdfast captures rm --request issue-7", does: "asks first" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const request = args.text("request");
    if ((request === undefined) === (args.operands.length === 0)) {
      throw new UsageError("name captures, or all of a request with --request ID");
    }
    const holdfast = await context.open();
    const gone =
      request === undefined ? await removeNamed(holdfast, context) : await removeAll(holdfast, request, context);
    await output.answer(gone, () => removedLines(gone, output.width));
    return undefined;
  },
};

async function removeNamed(holdfast: Holdfast, context: Context): Promise<CapturesRemoved> {
  const found: string[] = [];
  for (const named of context.args.operands) found.push((await requireCapture(holdfast, named)).id);
  const ids = [...new Set(found)];
  await confirm(
    context,
    `This deletes ${ids.length === 1 ? `the capture ${ids[0]}` : `${ids.length} captures`} for good.`,
  );
  const all: CapturesRemoved[] = [];
  for (const id of ids) all.push(await holdfast.captures.delete(id));
  return { removed: all.flatMap(({ removed }) => removed), bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
}

async function removeAll(holdfast: Holdfast, request: string, context: Context): Promise<CapturesRemoved> {
  await confirm(context, `This deletes all captures of request "${request}" for good.`);
  return holdfast.captures.deleteForRequest(request);
}

function removedLines(gone: CapturesRemoved, width: number): string[] {
  const { removed, bytes } = gone;
  if (removed.length === 0) return ["there were no captures to delete"];
  return [
    ...goneLines("deleted", gone, width),
    ...(removed.length === 1 ? [] : [`${plural(removed.length, "capture")}, ${formatBytes(bytes)}`]),
  ];
}

function goneLines(what: string, { removed }: CapturesRemoved, width: number): string[] {
  return removed.flatMap(({ id, request, sessionId }) => {
    const lines = wrapWords(safe`${what} ${id} of request ${request} (${sessionId})`, width);
    return lines.map((line, i) => (i === 0 ? line : `  ${line}`));
  });
}

const sweep: Command = {
  name: "sweep",
  summary: "delete captures whose time is over",
  usage: ["captures sweep [--dry-run]"],
  description:
    "Deletes what has expired, and says what that was. holdfast worker does it every hour, holdfast gc before it collects. The " +
    "conversations stay in their sessions.",
  options: { "dry-run": { type: "flag", short: "n", summary: "tell what has expired, delete nothing" } },
  operands: [],
  examples: [
    { command: "holdfast captures sweep --dry-run", does: "what has expired?" },
    { command: "holdfast captures sweep", does: "delete it" },
  ],
  next: "holdfast gc gives back the space.",
  run: async (context) => {
    const { args, output } = context;
    const dryRun = args.flag("dry-run");
    const swept = await (await context.open()).captures.deleteExpired({ dryRun });
    await output.answer({ dryRun, ...swept }, () => [
      ...(dryRun ? ["dry run: nothing was changed"] : []),
      ...goneLines(dryRun ? "expired" : "deleted", swept, output.width),
      `${dryRun ? "can be deleted" : "deleted"}: ${sweptWords(swept)}`,
    ]);
    return undefined;
  },
};

const prefer: Command = {
  name: "prefer",
  summary: "make one that is kept beside the newest the newest",
  usage: ["captures prefer CAPTURE"],
  description:
    "When two machines went on from the same capture, the one that saved last is kept beside the other. This makes it the one that " +
    "holdfast restore takes; the other is kept beside it, and can be preferred again. It chooses within one session of the " +
    "agent: where the request has a newer session, holdfast run resumes that one, unless the agent's own --resume ID names this.",
  options: {},
  operands: CAPTURE,
  examples: [
    { command: "holdfast captures prefer cap_3k9x…", does: "its first 8 characters do, if no other has them" },
  ],
  next: "holdfast captures --beside lists both.",
  run: async (context) => {
    const holdfast = await context.open();
    const { id } = await requireCapture(holdfast, context.args.operand(0));
    const capture = await holdfast.captures.prefer(id);
    await context.output.answer(capture, () => [safe`${capture.id} is the newest of ${capture.sessionId} now`]);
    return undefined;
  },
};

const keep: Command = {
  name: "keep",
  summary: "keep a capture longer, or for ever",
  usage: ["captures keep CAPTURE [--ttl TIME | --until DATE]"],
  description:
    "Says anew how long a capture is kept: for ever, unless --ttl says for how long from now on, or --until up to when. One that has " +
    "expired can be kept as long as it was not swept.",
  options: {
    ttl: { type: "text", value: "TIME", summary: "so long from now on: 12h, 30d or never (default never)" },
    until: { type: "text", value: "DATE", summary: "up to then, such as 2027-01-31 or 2027-01-31T12:00:00Z" },
  },
  operands: CAPTURE,
  examples: [
    { command: "holdfast captures keep cap_3k9x…", does: "for ever" },
    { command: "holdfast captures keep cap_3k9x… --ttl 30d", does: "for 30 days from now on" },
  ],
  run: async (context) => {
    const expiryAt = expiryGiven(context);
    const holdfast = await context.open();
    const expiresAt = expiryAt(holdfast.clock().now);
    const { id } = await requireCapture(holdfast, context.args.operand(0));
    const capture = await holdfast.captures.expire(id, expiresAt);
    await context.output.answer(capture, () => [safe`${capture.id} expires ${expiry(capture, holdfast.clock().now)}`]);
    return undefined;
  },
};

/** Until when, once it is known which time it is for the store. */
function expiryGiven({ args }: Context): (now: number) => number | null {
  const [ttl, until] = [args.text("ttl"), args.text("until")];
  if (ttl !== undefined && until !== undefined)
    throw new UsageError("--ttl and --until say the same: give one of them");
  if (until !== undefined) {
    const at = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(until) ? Date.parse(until) : Number.NaN;
    if (Number.isNaN(at)) throw new UsageError(`--until takes a date such as 2027-01-31 (UTC), not "${until}"`);
    return (now) => {
      if (at > now) return at;
      throw new UsageError(
        `--until ${until} is over: nothing was changed; \`holdfast captures rm\` deletes one at once`,
      );
    };
  }
  const ttlMs = ttl === undefined ? null : parseDurationOrNever(ttl, "--ttl");
  return (now) => (ttlMs === null ? null : now + ttlMs);
}

const ALL: readonly Command[] = [ls, show, rm, sweep, prefer, keep];

export const captures: CommandGroup = {
  name: "captures",
  summary: "list, keep and delete saved sessions of coding agents",
  usage: ALL.flatMap(({ usage }) => usage),
  description:
    "A capture is a coding agent's session as it was on a machine: all of its files, under the id of the request it was for. It " +
    "expires 7 days after it was saved last, unless it was said otherwise; its conversation stays in a session.",
  commands: ALL,
  fallback: "ls",
  examples: [...ls.examples.slice(0, 1), ...show.examples, ...keep.examples.slice(1)],
  next: "holdfast capture saves one, holdfast restore puts it back.",
};
