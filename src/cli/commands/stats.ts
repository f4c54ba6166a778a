// holdfast stats: shows the size of the store, its largest sessions, and the savings by sharing and compression.
import type { Stats, StoreClock } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { STATS_VERBS } from "../../contracts/verbs/store.ts";
import type { Command, Context } from "../command-line.ts";
import { describeEmbeddings } from "../embedding-status.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { formatBytes, formatCount, formatPercent, formatSpan, plural } from "../units.ts";

const SESSIONS = STATS_VERBS.stats.params[0].schema.fields.sessions;

export const stats: Command = {
  name: "stats",
  summary: "sizes, largest sessions, savings",
  usage: ["stats [--sessions N]"],
  description:
    "Shows which clock the store uses, its size in the database and in blobs outside of it, how many rows each table " +
    "has (on all branches; inherited rows are counted in the source of a fork), which sessions are the " +
    "largest, with their attachments, state, calls, steps and captures (SHARED is content that other sessions also refer to), " +
    "how many texts wait for their vectors or could not get any, and the space saved by storing the same bytes once and by compression.",
  options: {
    sessions: {
      type: "number",
      min: 1,
      max: LIMITS[SESSIONS.limit],
      summary: `how many of the largest sessions to list (default ${SESSIONS.fallback})`,
    },
  },
  warnsOfExposedFiles: true,
  operands: [],
  examples: [
    { command: "holdfast stats", does: "all sizes" },
    { command: "holdfast stats --sessions 3 --json", does: "for a monitor" },
  ],
  next:
    "holdfast blobs ls --sort size lists the largest blobs; holdfast gc frees blobs that nothing refers to; " +
    "holdfast sessions rm ID erases a session.",
  run: async (context) => {
    const holdfast = await context.open();
    const found = await holdfast.stats({ sessions: context.args.number("sessions") ?? SESSIONS.fallback });
    const { engine, schemaVersion, storeId } = holdfast.info;
    const clock = holdfast.clock();
    const value = { store: context.storeName, engine, schemaVersion, storeId, clock, ...found };
    await context.output.answer(value, () => lines(found, clock, context));
    return undefined;
  },
};

/** Clocks that differ by less than this count as equal. */
const SAME_MS = 500;

type SessionSize = Stats["sessions"][number];

const COLUMNS: readonly Column<SessionSize>[] = [
  { title: "LARGEST SESSIONS", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "EVENTS", align: "right", cell: ({ events }) => formatCount(events) },
  { title: "MESSAGES", align: "right", cell: ({ messages }) => formatCount(messages) },
  { title: "CONTENT", align: "right", cell: ({ bytes }) => formatBytes(bytes) },
  { title: "SHARED", align: "right", cell: ({ sharedBytes }) => (sharedBytes === 0 ? "" : formatBytes(sharedBytes)) },
];

/** Labels for rows that the noun alone would not describe. */
const ROW_NAMES: Readonly<Record<string, string>> = {
  state: "state versions",
  blobs: "payloads with a row of their own",
};

function lines(
  { bytesOnDisk, nouns, blobs, sessions, textIndex, embeddings }: Stats,
  clock: StoreClock,
  { output, storeName }: Context,
): string[] {
  const { frame, style } = output;
  const counts = Object.entries(nouns)
    .flatMap(([noun, { rows, deleted = 0, partial = 0 }]): [string, number][] => [
      [ROW_NAMES[noun] ?? noun.replaceAll("_", " "), rows],
      [`${noun} deleted`, deleted],
      [`${noun} in part`, partial],
    ])
    .filter(([, count]) => count > 0);
  const rows: readonly Column<[string, number]>[] = [
    { title: "ROWS", cell: ([noun]) => noun },
    { title: "", align: "right", cell: ([, count]) => formatCount(count) },
  ];
  return [
    ...facts(
      [
        ["store", storeName],
        ["clock", describeClock(clock)],
        ["database", formatBytes(bytesOnDisk)],
        ["text index", describeIndex(textIndex)],
        ...describeEmbeddings(embeddings),
        ["outside it", blobs.outsideBytes === 0 ? "" : `${formatBytes(blobs.outsideBytes)} of blobs`],
      ],
      frame,
    ),
    "",
    ...(counts.length === 0 ? [] : [...table(rows, counts, frame), ""]),
    style.faint("BLOBS"),
    ...facts(
      [
        ["count", `${formatCount(blobs.count)}, including short texts in messages' rows`],
        ["content", `${formatBytes(blobs.referencedBytes)} referred to, ${formatBytes(blobs.bytes)} without repeats`],
        ["stored", formatBytes(blobs.storedBytes)],
        [
          "saved",
          `${describeSavings(blobs.dedupSavings)} by sharing, ${describeSavings(blobs.compressionSavings)} by compression`,
        ],
      ],
      frame,
    ),
    ...(sessions.length === 0 ? [] : ["", ...table(COLUMNS, sessions, frame)]),
  ];
}

/** Empty if nothing is in it. */
function describeIndex({ items, bytes, pending }: Stats["textIndex"]): string {
  if (items === 0) return "";
  const rest = pending === 0 ? "" : `; ${formatCount(pending)} are not in it yet`;
  return `${formatBytes(bytes)} for ${plural(items, "message")}${rest}`;
}

/** Empty if the store uses the machine's own clock, because there is nothing to compare it with. */
export function describeClock({ source, machineAheadMs, uncertaintyMs }: StoreClock): string {
  if (source === "machine") return "";
  const difference =
    Math.abs(machineAheadMs) <= uncertaintyMs + SAME_MS
      ? "agrees with it"
      : `is ${formatSpan(Math.abs(machineAheadMs))} ${machineAheadMs > 0 ? "ahead of" : "behind"} it`;
  return `the database server's; this machine's ${difference} (measured to ${uncertaintyMs} ms)`;
}

/** Small blobs can take more space than their content: the text is then "nothing", not "-3 %". */
function describeSavings(share: number): string {
  return share > 0 ? formatPercent(share) : "nothing";
}
