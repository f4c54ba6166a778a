// holdfast gc: gives back the space of blobs that nothing refers to.
import type { Command } from "../command.ts";
import { facts } from "../table.ts";
import { formatBytes, formatCount, plural } from "../units.ts";

export const gc: Command = {
  name: "gc",
  summary: "delete blobs that nothing refers to",
  usage: ["gc [--dry-run]"],
  description:
    "Deletes expired blobs that are not pinned and that no row refers to. It is careful: one run condemns a blob, a " +
    "later run deletes it, so that a writer that needs it in between can save it. It runs safely beside writers.",
  options: { "dry-run": { type: "flag", short: "n", summary: "tell what would go, delete nothing" } },
  operands: [],
  examples: [
    { command: "holdfast gc --dry-run", does: "what would go?" },
    { command: "holdfast gc", does: "one step of it; run it regularly" },
  ],
  next: "holdfast stats shows what the store takes.",
  run: async (context) => {
    const { args, output } = context;
    const report = await (await context.open()).blobs.gc({ dryRun: args.flag("dry-run") });
    const would = report.dryRun ? "would be " : "";
    await output.answer(report, () => [
      report.dryRun ? "dry run: nothing was changed" : `collected, epoch ${report.epoch}`,
      ...facts(
        [
          [`${would}deleted`, `${plural(report.deleted, "blob")}, ${formatBytes(report.bytes)}`],
          [`${would}condemned`, `${plural(report.condemned, "blob")}, deleted by a later run unless used meanwhile`],
          [`${would}sealed`, report.sealed === 0 ? "" : formatCount(report.sealed)],
          ["orphans", report.orphans === 0 ? "" : formatCount(report.orphans)],
        ],
        { ...output.frame, indent: 2 },
      ),
    ]);
    return undefined;
  },
};
