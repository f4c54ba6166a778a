// holdfast sessions tree and show: shows a session with its branches, heads, forks and invocations.
import type { TreeSession } from "../../contracts/archive.ts";
import type { Head } from "../../contracts/heads.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { Locator } from "../../contracts/locators.ts";
import type { Session } from "../../contracts/session.ts";
import { rowId } from "../../core/row-id.ts";
import type { Command, Context } from "../command-line.ts";
import { LOCATOR_HELP, locate, shortHead } from "../locate.ts";
import { needSession } from "../sessions.ts";
import { facts } from "../table.ts";
import { treeLines } from "../tree.ts";
import { formatCount, formatTime, plural } from "../units.ts";

export const tree: Command = {
  name: "tree",
  summary: "draw sessions with their heads, branches, forks and invocations",
  usage: ["sessions tree [SESSION[@HEAD]] [--heads N] [--limit N]"],
  description:
    "Draws a session and all sessions linked with it: its forks, the sessions that it invoked or that invoked it, and the " +
    "branches that resume and rewind began. A ● is a head, a ○ an aborted head, and ← marks the SESSION or head that you named. " +
    "Without SESSION the newest sessions are " +
    `drawn, and with SESSION@HEAD only the history that leads to that head. ${LOCATOR_HELP}`,
  options: {
    heads: {
      type: "number",
      min: 0,
      summary: "draw the newest N heads of a branch (default 5), and always the current one",
    },
    limit: { type: "number", min: 1, max: LIMITS.page, summary: "show at most N sessions (default 100)" },
  },
  operands: [{ name: "SESSION", need: "optional" }],
  examples: [
    { command: "holdfast sessions tree", does: "the newest sessions" },
    { command: "holdfast sessions tree chat-1 --heads 20", does: "one session and those linked with it" },
  ],
  next: "holdfast diff A B compares two sessions; holdfast fork SESSION@HEAD creates another.",
  run: async (context) => {
    const { args, output } = context;
    const holdfast = await context.open();
    const [name] = args.operands;
    const limit = args.number("limit") ?? 100;
    const at = name === undefined ? undefined : await locate(holdfast, name);
    const found = await holdfast.sessions.tree(at, { limit });
    await output.answer(found, () => {
      if (found.sessions.length === 0) return ["no sessions"];
      const drawing = { marked: at?.session ?? null, head: at?.head ?? null, heads: args.number("heads") ?? 5 };
      return treeLines(found, drawing, output.frame);
    });
    if (found.more) await output.note(`only ${plural(limit, "session")}; --limit shows more`);
    return undefined;
  },
};

export const show: Command = {
  name: "show",
  summary: "show one session by id or alias",
  usage: ["sessions show SESSION[@HEAD]"],
  description:
    "Shows all fields of a session, the length and the head of its hash-chained log, its heads and " +
    `branches, and the session it was derived from; with @HEAD as they were at that head. ${LOCATOR_HELP}`,
  options: {},
  operands: [{ name: "SESSION", need: "required" }],
  examples: [{ command: "holdfast sessions show chat-1", does: "one session" }],
  next: "holdfast messages ID, holdfast log ID, holdfast tasks ID and holdfast state ID show its content.",
  run: async (context) => {
    const holdfast = await context.open();
    const at = await locate(holdfast, context.args.operand(0));
    const session = await needSession(holdfast, at.session);
    const lineage = await lineageOf(holdfast, at);
    const head = at.head === undefined ? null : await holdfast.heads.get(at.head);
    if (head === null) {
      await context.output.answer({ ...session, lineage }, () => describe(session, null, lineage, context));
      return undefined;
    }
    // Fields of the present are left out; chain and seq are those of the head's event, so that users can keep them as
    // an anchor.
    const { head: _, updatedAt: __, version: ___, ...then } = session;
    const { seq, hash: chain } = await holdfast.log.anchor(at);
    const { messages } = head.counts;
    await context.output.answer({ ...then, seq, chain, messages, at: head, lineage }, () =>
      describe({ ...session, seq, chain, messages }, head, lineage, context),
    );
    return undefined;
  },
};

interface Lineage {
  readonly from: TreeSession["from"];
  readonly branch: number;
  readonly branches: number;
  readonly heads: number;
  readonly invocations: number;
  readonly forks: readonly string[];
  /** Sessions that were attached to this one as a branch. */
  readonly attached: readonly string[];
  /** The invocations that call this session, oldest first. */
  readonly callers: readonly { readonly session: string; readonly type: string; readonly invocation: string }[];
}

async function lineageOf(holdfast: Holdfast, at: Locator): Promise<Lineage> {
  const { sessions } = await holdfast.sessions.tree(at, { limit: LIMITS.page });
  const { session: id } = at;
  const own = sessions.find((session) => session.id === id);
  const derived = (type: string) =>
    sessions.filter(({ from }) => from?.session === id && from.type === type).map((session) => session.id);
  return {
    from: own?.from ?? null,
    branch: own?.branch ?? 1,
    branches: own?.branches.length ?? 1,
    heads: own?.branches.reduce((sum, { heads }) => sum + heads.length, 0) ?? 0,
    invocations: own?.invocations.length ?? 0,
    forks: derived("fork"),
    attached: derived("attach"),
    callers: sessions.flatMap(({ id: session, invocations }) =>
      invocations
        .filter(({ callee }) => callee === id)
        .map(({ id: invocation, type }) => ({ session, type, invocation })),
    ),
  };
}

function describe(session: Session, head: Head | null, lineage: Lineage, { output }: Context): string[] {
  const { metadata } = session;
  const { from, forks, attached, callers } = lineage;
  const source =
    from === null
      ? ""
      : from.head === null
        ? rowId(from.session, from.seq)
        : `${from.session} at head ${shortHead(from.head)}`;
  return facts(
    [
      ["session", session.id],
      ["title", session.title ?? ""],
      ["agent", session.agent ?? ""],
      ["status", session.status],
      ["kind", session.kind === "entry" ? "" : session.kind],
      ["origin", session.origin ?? ""],
      ["request", session.request ?? ""],
      ["tags", session.tags.join(" ")],
      ["aliases", session.aliases.join(" ")],
      ["metadata", Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata)],
      ["at head", head === null ? "" : `${head.id}${head.status === "complete" ? "" : ` (${head.status})`}`],
      ["published", head === null ? "" : formatTime(head.at)],
      ["summary", head?.finalSummary ?? ""],
      ["messages", formatCount(session.messages)],
      ["calls", head === null ? "" : formatCount(head.counts.calls)],
      ["events", formatCount(session.seq)],
      ["chain head", session.chain],
      ["head", head === null ? (session.head ?? "") : ""],
      ["heads", lineage.heads === 0 ? "" : formatCount(lineage.heads)],
      ["branches", lineage.branches === 1 ? "" : `${formatCount(lineage.branches)}, on branch ${lineage.branch}`],
      ["derived from", source],
      ["forks", forks.join(" ")],
      ["attached", attached.join(" ")],
      ["invoked by", callers.map(({ type, invocation }) => `${invocation} (${type})`).join(" ")],
      ["invoked", lineage.invocations === 0 ? "" : plural(lineage.invocations, "session")],
      ["created", formatTime(session.createdAt)],
      ["changed", head === null ? formatTime(session.updatedAt) : ""],
      ["version", head === null ? String(session.version) : ""],
    ],
    output.frame,
  );
}
