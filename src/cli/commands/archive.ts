// holdfast export and import: writes sessions to files and reads them back.
import type { ImportReport } from "../../contracts/archive.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Locator } from "../../contracts/locators.ts";
import { FORCE_OPTION, fileIn, fileOut, refuseOverwrite } from "../bytes.ts";
import type { Command, Context } from "../command-line.ts";
import { UsageError } from "../failure.ts";
import { LOCATOR_HELP, locate } from "../locate.ts";
import { listWithInvoked } from "../session-walk.ts";
import { createStore, openIfThere } from "../store.ts";
import { facts } from "../table.ts";
import { quoted, safe, safeText } from "../terminal.ts";
import { formatBytes, formatCount, plural } from "../units.ts";
import { withVerifiedArchive } from "../verified-archive.ts";

export const exportSession: Command = {
  name: "export",
  summary: "write a session to one file, or as Markdown",
  usage: [
    "export SESSION [--out FILE [--force]] [--children] [--no-aliases]",
    "export SESSION[@HEAD] --markdown [--out FILE [--force]]",
  ],
  description:
    "Writes a session with everything it refers to: log, messages, state, tasks, heads, blobs, and the history that a fork " +
    "inherits. holdfast import reads the file into any store, SQLite or PostgreSQL, with the same ids and hashes. Without --out " +
    `it writes to standard output. --markdown writes the messages for people to read. ${LOCATOR_HELP}`,
  options: {
    out: {
      type: "text",
      short: "o",
      value: "FILE",
      summary: "write to this file, which appears when it is complete",
    },
    force: FORCE_OPTION,
    children: { type: "flag", summary: "export the sessions that it invoked as well" },
    "no-aliases": { type: "flag", summary: "leave out the session's aliases" },
    markdown: { type: "flag", summary: "write Markdown for people, which cannot be imported" },
  },
  operands: [{ name: "SESSION", need: "required" }],
  examples: [
    { command: "holdfast export chat-1 --out chat-1.holdfast", does: "write to a file" },
    { command: "holdfast export chat-1 | ssh host holdfast import -", does: "copy to another machine" },
    { command: "holdfast export chat-1@hd-1a2b3c --markdown -o chat.md", does: "write the messages up to a head" },
  ],
  next: "holdfast import FILE imports it into another store.",
  run: async (context) => {
    const { args, output } = context;
    await refuseOverwrite(context);
    const holdfast = await context.open();
    const at = await locate(holdfast, args.operand(0));
    if (args.flag("markdown")) {
      if (args.flag("children") || args.flag("no-aliases"))
        throw new UsageError("--markdown cannot be combined with --children or --no-aliases");
      return await writeMarkdown(await holdfast.sessions.markdown(at), at.session, context);
    }
    if (at.head !== undefined) throw notAtHead(args.operand(0));
    const options = { children: args.flag("children"), aliases: !args.flag("no-aliases") };
    const out = args.text("out");
    if (out === undefined) {
      if (output.interactive)
        throw new UsageError("an archive cannot be printed on a terminal; use --out FILE or a pipe");
      if (output.json) throw new UsageError("--json needs --out FILE: an archive is not JSON");
      for await (const piece of holdfast.sessions.export(at, options)) await output.bytes(piece);
      await noteLeftOut(await countLeftOut(holdfast, at, options.children), context);
      return undefined;
    }
    const size = await writeFile(holdfast.sessions.export(at, options), out, context);
    const leftOut = await countLeftOut(holdfast, at, options.children);
    const children = options.children ? (await listWithInvoked(holdfast, at.session)).length - 1 : 0;
    const invoked = options.children ? ` and ${plural(children, "session")} it invoked` : "";
    await output.answer({ session: at.session, file: out, size, children, leftOut }, () => [
      safe`wrote session ${at.session}${invoked} to ${out} (${formatBytes(size)})`,
    ]);
    await noteLeftOut(leftOut, context);
    await output.note(`next: \`holdfast import ${quoted(out)} --store OTHER\``);
    return undefined;
  },
};

/** An archive contains a whole session. To export a session up to a head, the user forks it there first. */
function notAtHead(named: string): UsageError {
  return new UsageError(
    `export writes a whole session, not a part up to a head; fork the session at the head first, which copies nothing: ` +
      `\`holdfast fork ${quoted(named)} NEW-ID\`, then \`holdfast export NEW-ID\`; or export the head with --markdown`,
  );
}

/** How many invoked sessions are not in the file. */
async function countLeftOut(holdfast: Holdfast, { session }: Locator, children: boolean): Promise<number> {
  if (children) return 0;
  const { sessions } = await holdfast.sessions.tree({ session }, { limit: 1 });
  const invoked = sessions.find(({ id }) => id === session)?.invocations.map(({ callee }) => callee) ?? [];
  return new Set(invoked.filter((callee) => callee !== null && callee !== session)).size;
}

async function noteLeftOut(leftOut: number, { output }: Context): Promise<void> {
  if (leftOut === 0) return;
  await output.note(
    `${plural(leftOut, "invoked session")} left out; --children exports ${leftOut === 1 ? "it" : "them"} as well`,
  );
}

async function writeFile(pieces: AsyncIterable<Uint8Array>, file: string, { io, output }: Context): Promise<number> {
  const out = await fileOut(file, io);
  let size = 0;
  try {
    for await (const piece of pieces) {
      await out.write(piece);
      size += piece.byteLength;
      await output.progress(`${formatBytes(size)} written`);
    }
  } catch (error) {
    await out.discard();
    throw error;
  }
  await out.finish();
  await output.clearProgress();
  return size;
}

async function writeMarkdown(text: string, session: string, context: Context): Promise<undefined> {
  const { args, output } = context;
  const out = args.text("out");
  if (out === undefined) {
    if (output.json) await output.document({ session, markdown: text });
    else await output.bytes(output.interactive ? safeText(text) : text);
    return undefined;
  }
  const bytes = Buffer.from(text, "utf8");
  const size = await writeFile(
    (async function* () {
      yield bytes;
    })(),
    out,
    context,
  );
  await output.answer({ session, file: out, size }, () => [safe`wrote session ${session} to ${out} as Markdown`]);
  return undefined;
}

export const importArchive: Command = {
  name: "import",
  summary: "import the sessions of an exported file into this store",
  usage: ["import FILE|-"],
  description:
    "Imports a session from a file that holdfast export wrote: with the same ids, times, hashes and heads. Import verifies the " +
    "whole file before any of it becomes visible; a damaged file changes nothing. Import never overwrites a session that " +
    "the store already has. A fork's file contains only the inherited part of its source: to have both whole, import the source " +
    "first. With - import reads standard input. If there is no store, import creates one.",
  options: {},
  operands: [{ name: "FILE", need: "required" }],
  examples: [
    { command: "holdfast import chat-1.holdfast", does: "import from a file" },
    { command: "holdfast import chat-1.holdfast --store postgres://db.example/agents", does: "import into PostgreSQL" },
  ],
  next: "holdfast sessions show SESSION, holdfast messages SESSION and holdfast verify SESSION inspect it.",
  run: async (context) => {
    const existing = await openIfThere(context);
    const file = () => fileIn(context.args.operand(0), context.io);
    const report = existing === null ? await importIntoNew(context) : await existing.sessions.import(file());
    await context.output.answer(report, () => reportLines(report, context));
    for (const id of report.partial) {
      const heir = report.sessions.map((one) => one.id).join(", ");
      await context.output.note(
        safe`warning: the store has only the part of session ${id} that ${heir} inherits; import the archive of ${id} for the rest`,
      );
    }
    return undefined;
  },
};

/** Creates the store after the whole archive was verified, so that a damaged archive leaves no empty store behind. */
async function importIntoNew(context: Context): Promise<ImportReport> {
  return await withVerifiedArchive(context.args.operand(0), context.io, async (archive) => {
    const holdfast = await createStore(context);
    return await holdfast.sessions.import(archive);
  });
}

function reportLines(report: ImportReport, { output }: Context): string[] {
  const { sessions, inherited, aliasesTaken, rows, blobs } = report;
  const lines = sessions.map(({ id, outcome, seq }) =>
    outcome === "imported"
      ? safe`imported session ${id} (${plural(seq, "event")})`
      : safe`session ${id} exists already with the same content`,
  );
  if (rows === 0) return lines;
  return [
    ...lines,
    ...facts(
      [
        ["rows", formatCount(rows)],
        ["blobs", formatCount(blobs)],
        ["inherits from", inherited.join(", ")],
        [
          "aliases taken",
          aliasesTaken.length === 0 ? "" : `${aliasesTaken.join(", ")} (they name other sessions here)`,
        ],
      ],
      { ...output.frame, indent: 2 },
    ),
  ];
}
