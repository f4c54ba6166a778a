// holdfast stats: how big the store is, what takes the room, and what sharing and compression saved.
import type { Stats, StoreClock } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { STATS_VERBS } from "../../contracts/verbs/store.ts";
import type { Command, Context } from "../command.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { formatBytes, formatCount, formatPercent, formatSpan } from "../units.ts";

const SESSIONS = STATS_VERBS.stats.params[0].schema.fields.sessions;

export const stats: Command = {
  name: "stats",
  summary: "sizes, largest sessions, savings",
  usage: ["stats [--sessions N]"],
  description:
    "Shows which clock the store uses, its size in the database and in blobs outside of it, how many rows each kind of " +
    "thing has (on all branches; what a fork inherits is counted in its source), which sessions are the " +
    "largest, with their attachments, state, calls, steps and captures (SHARED is what other sessions refer to as well), and what was " +
    "saved by keeping the same bytes once and by compression.",
  options: {
    sessions: {
      type: "number",
      min: 1,
      max: LIMITS[SESSIONS.limit],
      summary: `how many of the largest sessions (default ${SESSIONS.fallback})`,
    },
  },
  warnsOfExposedFiles: true,
  operands: [],
  examples: [
    { command: "holdfast stats", does: "the whole picture" },
    { command: "holdfast stats --sessions 3 --json", does: "for a monitor" },
  ],
  next:
    "holdfast blobs ls --sort size lists the largest contents; holdfast gc gives back what nothing refers to; " +
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

/** Clocks that differ by less agree. */
const SAME_MS = 500;

type SessionSize = Stats["sessions"][number];

const COLUMNS: readonly Column<SessionSize>[] = [
  { title: "LARGEST SESSIONS", cell: ({ id }) => id, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "EVENTS", align: "right", cell: ({ events }) => formatCount(events) },
  { title: "MESSAGES", align: "right", cell: ({ messages }) => formatCount(messages) },
  { title: "CONTENT", align: "right", cell: ({ bytes }) => formatBytes(bytes) },
  { title: "SHARED", align: "right", cell: ({ sharedBytes }) => (sharedBytes === 0 ? "" : formatBytes(sharedBytes)) },
];

/** Names of rows that the noun does not describe. */
const ROW_NAMES: Readonly<Record<string, string>> = {
  state: "state versions",
  blobs: "payloads with a row of their own",
};

function lines(
  { bytesOnDisk, nouns, blobs, sessions }: Stats,
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
        ["outside it", blobs.outsideBytes === 0 ? "" : `${formatBytes(blobs.outsideBytes)} of blobs`],
      ],
      frame,
    ),
    "",
    ...(counts.length === 0 ? [] : [...table(rows, counts, frame), ""]),
    style.faint("BLOBS"),
    ...facts(
      [
        ["count", `${formatCount(blobs.count)}, with the short texts that stand in messages' rows`],
        ["content", `${formatBytes(blobs.referencedBytes)} referred to, ${formatBytes(blobs.bytes)} kept once each`],
        ["stored", formatBytes(blobs.storedBytes)],
        [
          "saved",
          `${describeSavings(blobs.dedupSavings)} by keeping one copy, ${describeSavings(blobs.compressionSavings)} by compression`,
        ],
      ],
      frame,
    ),
    ...(sessions.length === 0 ? [] : ["", ...table(COLUMNS, sessions, frame)]),
  ];
}

/** Empty for the machine's own clock: there is nothing to compare it with. */
export function describeClock({ source, machineAheadMs, uncertaintyMs }: StoreClock): string {
  if (source === "machine") return "";
  const difference =
    Math.abs(machineAheadMs) <= uncertaintyMs + SAME_MS
      ? "agrees with it"
      : `is ${formatSpan(Math.abs(machineAheadMs))} ${machineAheadMs > 0 ? "ahead of" : "behind"} it`;
  return `the database server's; this machine's ${difference} (measured to ${uncertaintyMs} ms)`;
}

/** Small blobs can take a little more space than their content: that is no saving, not one of "-3 %". */
function describeSavings(share: number): string {
  return share > 0 ? formatPercent(share) : "nothing";
}
