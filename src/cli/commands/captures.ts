// holdfast captures: lists, keeps and deletes the saved sessions of coding agents.
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
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { quoted, safe, wrapWords } from "../terminal.ts";
import { formatBytes, parseDurationOrNever, plural } from "../units.ts";

const CAPTURE = [{ name: "CAPTURE", need: "required" }] as const;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list captures, newest first",
  usage: [
    "captures [ls] [--request ID] [--session-id ID] [--agent A] [--beside] [--limit N] [--cursor C]",
    "captures [ls] --expired [--request ID] [--session-id ID] [--agent A] [--limit N]",
  ],
  description:
    "Lists captures that have not expired, newest first, a page at a time. --expired lists the expired ones that no sweep has deleted " +
    "yet; holdfast captures keep CAPTURE keeps such a capture. SIZE is the size of the files, STORED the space that " +
    "they take in the store; content shared by several captures is counted in each. When two machines continued the same " +
    "capture, one result is the newest and --beside also lists the other.",
  options: {
    request: { type: "text", value: "ID", summary: "only captures of this request" },
    "session-id": SESSION_ID_OPTION,
    agent: { ...AGENT_OPTION, summary: "only captures of this coding agent" },
    beside: { type: "flag", summary: "also list captures that are kept beside the newest" },
    expired: { type: "flag", summary: "list expired captures that no sweep has deleted yet" },
    limit: { type: "number", min: 1, max: LIMITS.page, summary: "list at most N captures (default 50)" },
    cursor: { type: "text", summary: "print the next page; the note below a page shows its cursor" },
  },
  operands: [],
  examples: [
    { command: "holdfast captures", does: "the 50 newest" },
    { command: "holdfast captures --request issue-7 --json", does: "of one request, for a program" },
  ],
  next: "holdfast captures show CAPTURE lists its files; holdfast restore --capture CAPTURE restores it.",
  run: async (context) => {
    const { args, output } = context;
    const filter = filterOf(context);
    const holdfast = await context.open();
    const page = args.flag("expired") ? await expiredPage(holdfast, filter) : await holdfast.captures.list(filter);
    const none = args.flag("expired") ? "no expired captures" : "no captures";
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

/** Mentions captures that the list does not show, because users may not expect them. */
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

/** The filter as command-line options, so that the suggested command lists the same captures. */
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
    throw new UsageError("--expired lists all expired captures: leave out --beside and --cursor");
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
  summary: "show a capture and its files",
  usage: ["captures show CAPTURE"],
  description:
    "Shows where and when a session was captured, how long the capture is kept, and its files with their roles in the " +
    "session. The files of an expired capture cannot be read.",
  options: {},
  operands: CAPTURE,
  examples: [
    { command: "holdfast captures show cap_3k9x…", does: "the first 8 characters are enough if they are unique" },
  ],
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
    "Deletes captures now instead of at their expiry: those you name, or all captures of a request, with those beside the newest " +
    "and the expired ones. The conversations stay in their sessions; holdfast sessions rm erases those.",
  options: { request: { type: "text", value: "ID", summary: "all captures of this request" }, yes: YES_OPTION },
  operands: [{ name: "CAPTURE", need: "zero-or-more" }],
  examples: [
    { command: "holdfast captures rm cap_3k9x… --yes", does: "the first 8 characters are enough if they are unique" },
    { command: "holdfast captures rm --request issue-7", does: "asks first" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const request = args.text("request");
    if ((request === undefined) === (args.operands.length === 0)) {
      throw new UsageError("name the captures, or delete all captures of a request with --request ID");
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
  summary: "delete expired captures",
  usage: ["captures sweep [--dry-run]"],
  description:
    "Deletes expired captures and lists them. holdfast worker does this every hour, and holdfast gc does it first. The " +
    "conversations stay in their sessions.",
  options: { "dry-run": { type: "flag", short: "n", summary: "list expired captures, delete nothing" } },
  operands: [],
  examples: [
    { command: "holdfast captures sweep --dry-run", does: "what has expired?" },
    { command: "holdfast captures sweep", does: "delete it" },
  ],
  next: "holdfast gc frees the space.",
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
  summary: "make a diverged capture the newest one",
  usage: ["captures prefer CAPTURE"],
  description:
    "When two machines continued the same capture, the one that saved last is kept beside the newest. prefer makes it the newest, which " +
    "holdfast restore uses; the other is kept beside it and can be preferred again. prefer chooses within one session of the " +
    "agent: if the request has a newer session, holdfast run resumes that one, unless the agent's own --resume ID names this one.",
  options: {},
  operands: CAPTURE,
  examples: [
    { command: "holdfast captures prefer cap_3k9x…", does: "the first 8 characters are enough if they are unique" },
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
    "Changes how long a capture is kept: for ever, or for the time of --ttl from now, or until the date of --until. An expired capture " +
    "can be kept until a sweep deletes it.",
  options: {
    ttl: { type: "text", value: "TIME", summary: "how long to keep it from now: 12h, 30d or never (default never)" },
    until: {
      type: "text",
      value: "DATE",
      summary: "keep it until this date, such as 2027-01-31 or 2027-01-31T12:00:00Z",
    },
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

/** Returns a function that computes the expiry from the store's clock. */
function expiryGiven({ args }: Context): (now: number) => number | null {
  const [ttl, until] = [args.text("ttl"), args.text("until")];
  if (ttl !== undefined && until !== undefined)
    throw new UsageError("--ttl and --until both set the expiry: give one of them");
  if (until !== undefined) {
    const at = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(until) ? Date.parse(until) : Number.NaN;
    if (Number.isNaN(at)) throw new UsageError(`--until takes a date such as 2027-01-31 (UTC), not "${until}"`);
    return (now) => {
      if (at > now) return at;
      throw new UsageError(
        `--until ${until} is in the past: nothing was changed; \`holdfast captures rm\` deletes one at once`,
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
    "A capture is a coding agent's session as it was on a machine: all of its files, under the id of a request. It " +
    "expires 7 days after its last save, unless you choose another time; its conversation stays in a session.",
  commands: ALL,
  fallback: "ls",
  examples: [...ls.examples.slice(0, 1), ...show.examples, ...keep.examples.slice(1)],
  next: "holdfast capture saves a session, holdfast restore restores it.",
};
