// holdfast verify: recomputes hash chains. It names the first bad event and exits with 5 if there is damage.
import { rowId } from "../../core/row-id.ts";
import type { Command, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { type Column, ID, table } from "../table.ts";
import { safe, wrapWords } from "../terminal.ts";
import { formatCount, formatCounts, plural } from "../units.ts";
import { type Finding, readAnchors, verifyAll } from "../verification.ts";

/** If there are more sessions than this, only damaged ones are listed. */
const LISTED_MAX = 20;

export const verify: Command = {
  name: "verify",
  summary: "check the hash chains of sessions",
  usage: ["verify [SESSION[@HEAD]…] [--anchor FILE] [--from FILE] [--blobs]"],
  description:
    "Verifies the hash chain of each session's log (all sessions, or those named): every event, its columns, and the end of the log " +
    "that the session row records; for a fork also the inherited part. " +
    "--blobs also verifies that every blob named by its rows can be read and has its hash: messages with their attachments, " +
    "values of state, payloads of calls, evals, snapshots, heads and annotations, on all branches. " +
    "SESSION@HEAD also verifies that the log still has everything that the head " +
    "commits to. It does not compare the rows of messages, state and tasks with the log.\n\n" +
    "Damage is reported with the first bad event, and the exit code is 5. Without an anchor the chain finds corruption " +
    "and careless editing; only --anchor finds an edit after which all hashes were recomputed.",
  options: {
    anchor: {
      type: "text",
      value: "FILE",
      summary: "also require the log to have these anchors, printed by `holdfast log anchor`",
    },
    from: { type: "text", value: "FILE", summary: "trust these anchors and check only the events after them" },
    blobs: {
      type: "flag",
      summary: "also check that every message, state value, attachment and payload can be read and has its hash",
    },
  },
  operands: [{ name: "SESSION", need: "zero-or-more" }],
  examples: [
    { command: "holdfast verify", does: "all sessions" },
    { command: "holdfast verify chat-1 --blobs", does: "one session, with the content of its messages" },
    { command: "holdfast verify --anchor anchors.json", does: "compare with anchors kept elsewhere" },
  ],
  next:
    "Damage? Keep the file and its -wal as they are and compare a copy of both with a backup; holdfast log ID " +
    "--after 0 shows the events.",
  run: async (context) => {
    const { args, output, io } = context;
    const anchors = await readAnchors(args.text("anchor"), io);
    const from = await readAnchors(args.text("from"), io);
    const holdfast = await context.open();
    const findings = await verifyAll(holdfast, {
      sessions: args.operands,
      anchors,
      from,
      content: args.flag("blobs"),
      progress: (done, events) => output.progress(`verified ${plural(done, "session")}, ${plural(events, "event")} …`),
    });
    await output.clearProgress();
    const bad = findings.filter(({ ok }) => !ok);
    const events = findings.reduce((sum, finding) => sum + finding.events, 0);
    const value = { ok: bad.length === 0, sessions: findings.length, events, damaged: bad.length, findings };
    await output.answer(value, () => lines(findings, bad, events, context));
    return bad.length === 0 ? EXIT.ok : EXIT.damage;
  },
};

const COLUMNS: readonly Column<Finding>[] = [
  {
    title: "",
    keep: true,
    cell: ({ ok }) => (ok ? "ok" : "DAMAGED"),
    colour: (text, { ok }, style) => (ok ? style.good(text) : style.bad(text)),
  },
  { title: "SESSION", cell: ({ session }) => session, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "EVENTS", align: "right", cell: ({ events }) => formatCount(events) },
  { title: "CHAIN HEAD", cell: ({ hash }) => hash?.slice(0, 16) ?? "", colour: (text, _, style) => style.faint(text) },
  { title: "NOTE", cell: ({ note }) => note ?? "", shrink: 2 },
];

function lines(findings: readonly Finding[], bad: readonly Finding[], events: number, { output }: Context): string[] {
  const { style } = output;
  if (findings.length === 0) return ["no sessions to verify"];
  const listed = findings.length <= LISTED_MAX ? findings : bad;
  const counted = `${plural(findings.length, "session")}, ${plural(events, "event")}`;
  const wrapped = (text: string) => wrapWords(text, output.width);
  const verdict =
    bad.length === 0
      ? wrapped(`all good: ${counted}${describeContent(findings)} verified`).map(style.good)
      : wrapped(`damage in ${bad.length} of ${plural(findings.length, "session")}`).map(style.bad);
  return [
    ...(listed.length === 0 ? [] : [...table(COLUMNS, listed, output.frame), ""]),
    ...bad.flatMap(({ session, badSeq, source, reason }) => {
      const where = badSeq === undefined ? "" : `first bad event ${rowId(source ?? session, badSeq)}: `;
      return wrapped(safe`${session}: ${where}${reason ?? "damaged"}`);
    }),
    ...verdict,
  ];
}

/** The counts of content that --blobs has read; empty without --blobs. */
function describeContent(findings: readonly Finding[]): string {
  const sum: Record<string, number> = {};
  for (const { content = {} } of findings) {
    for (const [name, n] of Object.entries(content)) sum[name] = (sum[name] ?? 0) + n;
  }
  const { orphanBlobs: _, ...checked } = sum;
  const text = formatCounts(checked);
  return text === "" ? "" : `, ${text}`;
}
