// holdfast captures: the saved sessions of coding agents, how long they are kept, and what goes.
import type { Capture, CaptureFilter, CapturesRemoved } from "../../contracts/captures.ts";
import { isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { AGENT_OPTION, agentGiven, SESSION_ID_OPTION } from "../captures/agent.ts";
import { sweptWords } from "../captures/sweep.ts";
import { captureFacts, captureTable, expiry, fileTable } from "../captures/tables.ts";
import { findCapture } from "../captures/which.ts";
import type { Command, CommandGroup, Context } from "../command.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { safe } from "../terminal.ts";
import { formatBytes, parseDuration, plural } from "../units.ts";

const CAPTURE = [{ name: "CAPTURE", need: "one" }] as const;

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list captures, newest first",
  usage: ["captures [ls] [--request ID] [--session-id ID] [--agent A] [--beside] [--limit N] [--cursor C]"],
  description:
    "Lists what was captured, newest first, a page at a time, without what has expired. SIZE is what the files have, STORED what " +
    "they took in the store: what they share with other captures is counted in each. Those that are kept beside the newest, " +
    "because two machines went on from the same one, are listed with --beside.",
  options: {
    request: { type: "text", value: "ID", summary: "only captures of this request" },
    "session-id": SESSION_ID_OPTION,
    agent: { ...AGENT_OPTION, summary: "only captures of this coding agent" },
    beside: { type: "flag", summary: "also those that are kept beside the newest" },
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
    const { output } = context;
    const filter = filterOf(context);
    const page = await (await context.open()).captures.list(filter);
    await output.answer(page, () =>
      page.items.length === 0 ? ["no captures"] : captureTable(page.items, Date.now(), output.frame),
    );
    if (page.next !== null) await output.note(`more: add --cursor '${page.next}'`);
    return undefined;
  },
};

function filterOf(context: Context): CaptureFilter {
  const { args } = context;
  const [request, sessionId, cursor] = [args.text("request"), args.text("session-id"), args.text("cursor")];
  const agent = agentGiven(context);
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
  examples: [{ command: "holdfast captures show cap_3k9x…", does: "give the whole id" }],
  next: "holdfast captures keep CAPTURE keeps it longer.",
  run: async (context) => {
    const { output } = context;
    const holdfast = await context.open();
    const capture = await needCapture(holdfast, context.args.operand(0));
    const files = await filesOf(holdfast, capture);
    await output.answer({ ...capture, files }, () => [
      ...captureFacts(capture, Date.now(), output.frame),
      ...(files === null ? [] : ["", ...fileTable(files, output.frame)]),
    ]);
    if (files === null) {
      await output.note(
        `it has expired: its files can be read again once \`holdfast captures keep ${capture.id}\` keeps it, unless it is swept before`,
      );
    }
    return undefined;
  },
};

/** null when its time is over. */
async function filesOf({ captures }: Holdfast, { id }: Capture) {
  try {
    return await captures.files(id);
  } catch (error) {
    if (isHoldfastError(error) && error.code === "CaptureExpired") return null;
    throw error;
  }
}

async function needCapture(holdfast: Holdfast, capture: string): Promise<Capture> {
  const found = await findCapture(holdfast, { capture, request: undefined, sessionId: undefined }, undefined);
  if (found === null) throw new Error("bug: a capture that is named is there, or is not found");
  return found;
}

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
    { command: "holdfast captures rm cap_3k9x… --yes", does: "give the whole id" },
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
    await output.answer(gone, () => removedLines(gone));
    return undefined;
  },
};

async function removeNamed(holdfast: Holdfast, context: Context): Promise<CapturesRemoved> {
  const ids = [...new Set(context.args.operands)];
  for (const id of ids) await needCapture(holdfast, id);
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

function removedLines({ removed, bytes }: CapturesRemoved): string[] {
  if (removed.length === 0) return ["there were no captures to delete"];
  return [
    ...removed.map(({ id, request, sessionId }) => safe`deleted ${id} (${sessionId} of request ${request})`),
    ...(removed.length === 1 ? [] : [`${plural(removed.length, "capture")}, ${formatBytes(bytes)}`]),
  ];
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
      ...swept.removed.map(
        ({ id, request, sessionId }) =>
          safe`${dryRun ? "expired" : "deleted"} ${id} (${sessionId} of request ${request})`,
      ),
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
    "holdfast restore takes; the other is kept beside it, and can be preferred again.",
  options: {},
  operands: CAPTURE,
  examples: [{ command: "holdfast captures prefer cap_3k9x…", does: "give the whole id" }],
  next: "holdfast captures --beside lists both.",
  run: async (context) => {
    const capture = await (await context.open()).captures.prefer(context.args.operand(0));
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
    const expiresAt = untilGiven(context);
    const capture = await (await context.open()).captures.expire(context.args.operand(0), expiresAt);
    await context.output.answer(capture, () => [
      isOver(capture) ? safe`${capture.id} has expired` : safe`${capture.id} expires ${expiry(capture, Date.now())}`,
    ]);
    return undefined;
  },
};

function isOver({ expiresAt }: Capture): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}

function untilGiven({ args }: Context): number | null {
  const [ttl, until] = [args.text("ttl"), args.text("until")];
  if (ttl !== undefined && until !== undefined)
    throw new UsageError("--ttl and --until say the same: give one of them");
  if (until !== undefined) {
    const at = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(until) ? Date.parse(until) : Number.NaN;
    if (Number.isNaN(at)) throw new UsageError(`--until takes a date such as 2027-01-31 (UTC), not "${until}"`);
    return at;
  }
  return ttl === undefined || ttl === "never" ? null : Date.now() + parseDuration(ttl, "--ttl");
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
