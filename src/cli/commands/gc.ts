// holdfast gc: frees the space of expired captures and of blobs that nothing refers to.
import type { GcReport } from "../../contracts/blobs.ts";
import type { CapturesRemoved } from "../../contracts/captures.ts";
import { sweptWords } from "../captures/tables.ts";
import type { Command } from "../command-line.ts";
import { type Frame, facts } from "../table.ts";
import { wrap } from "../terminal.ts";
import { formatBytes, formatCount, plural } from "../units.ts";

export const gc: Command = {
  name: "gc",
  summary: "delete what has expired, and blobs that nothing refers to",
  usage: ["gc [--dry-run | --vacuum]"],
  description:
    "Deletes expired captures, as holdfast captures sweep does, and expired memories. Then it " +
    "frees expired blobs that are not pinned and that no row refers to. The third gc after a blob expired frees it, " +
    "so that a writer that stores the same bytes meanwhile never loses them. gc is safe while writers run; run it regularly. " +
    "A dry run shows what later runs can free. " +
    "--vacuum then rewrites the whole database, which also removes copies of erased rows from the engine's unused " +
    "pages. That needs space for a second copy, on SQLite up to two, and all writers wait until it is " +
    "done; do it after erasing content that must leave no trace, or now and then.",
  options: {
    "dry-run": { type: "flag", short: "n", summary: "show what can be reclaimed, delete nothing" },
    vacuum: { type: "flag", summary: "then rewrite the whole database; writers wait" },
  },
  operands: [],
  examples: [
    { command: "holdfast gc --dry-run", does: "what can be reclaimed?" },
    { command: "holdfast gc", does: "the third one frees what has expired before the first" },
    { command: "holdfast gc --vacuum", does: "also remove all traces of erased rows" },
  ],
  next: "holdfast stats shows the size of the store.",
  run: async (context) => {
    const { args, output } = context;
    const vacuum = args.flag("vacuum");
    const dryRun = args.flag("dry-run");
    const holdfast = await context.open();
    const captures = await holdfast.captures.deleteExpired({ dryRun });
    const memories = (await holdfast.memory.deleteExpired({ dryRun })).removed.memories ?? 0;
    const report = await holdfast.blobs.gc({ dryRun, vacuum });
    const text = vacuum ? `The database was rewritten. ${WHEN_FREED}` : WHEN_FREED;
    await output.answer({ ...report, captures, memories }, () => [
      ...lines(report, { captures, memories }, { ...output.frame, indent: 2 }),
      "",
      ...wrap(text, Math.min(WIDEST, output.width)),
    ]);
    return undefined;
  },
};

const WIDEST = 80;
const WHEN_FREED = "The third gc after a blob expired frees it.";

interface ExpiredRows {
  readonly captures: CapturesRemoved;
  readonly memories: number;
}

function lines(report: GcReport, { captures, memories }: ExpiredRows, frame: Frame): string[] {
  const swept: [string, string][] = [
    ["captures", captures.removed.length === 0 ? "" : sweptWords(captures)],
    ["memories", memories === 0 ? "" : formatCount(memories)],
  ];
  const freed = `${plural(report.deleted, "blob")}, ${formatBytes(report.bytes)}`;
  const orphans: [string, string] = ["orphans", report.orphans === 0 ? "" : formatCount(report.orphans)];
  if (report.dryRun)
    return ["dry run: nothing was changed", ...facts([["can be reclaimed:", freed], ...swept, orphans], frame)];
  const pairs: [string, string][] = [
    ...swept,
    ["deleted", freed],
    ["condemned", `${plural(report.condemned, "blob")}; the next run frees them unless used`],
    ["sealed", report.sealed === 0 ? "" : formatCount(report.sealed)],
    orphans,
  ];
  return [`collected, epoch ${report.epoch}`, ...facts(pairs, frame)];
}
