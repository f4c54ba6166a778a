// holdfast embeddings: how far the embeddings of a store are, and making those that are missing.
import type { EmbeddedKind, EmbeddingStatus, FailedEmbedding } from "../../contracts/embeddings.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { EXIT } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { interruption } from "../io.ts";
import { EMBEDDER_OPTION } from "../option.ts";
import { type Column, facts, table } from "../table.ts";
import { formatAge } from "../units.ts";

const KINDS: readonly EmbeddedKind[] = ["documents", "memories", "messages"];
const RUN = "holdfast embeddings run --embedder openai:http://127.0.0.1:11434/v1#nomic-embed-text";
const EMBEDDER = {
  embedder: {
    ...EMBEDDER_OPTION.embedder,
    summary: EMBEDDER_OPTION.embedder.summary.replace("find by meaning too: ", ""),
  },
} as const;

const FAILURES_SHOWN = 20;

const status: Command = {
  name: "status",
  summary: "show how far the embeddings are",
  usage: ["embeddings [status]"],
  description:
    "Shows which embedder the store's embeddings are of, how many texts wait for theirs, and which texts failed and why: a text " +
    "is tried again later, or is parked until `holdfast embeddings retry`. A text without an embedding is found by words.",
  options: {},
  operands: [],
  examples: [{ command: "holdfast embeddings", does: "what waits, and what failed" }],
  next: "holdfast embeddings run makes the embeddings that are missing.",
  run: async ({ open, output }) => {
    const { embeddings } = await open();
    const { describeEmbeddings } = await import("../embedding-status.ts");
    const [now, failures] = [await embeddings.status(), await embeddings.failures({ limit: FAILURES_SHOWN })];
    await output.answer({ ...now, failures }, () => [
      ...(now.model === null
        ? ["no embedder yet: everything is found by words"]
        : facts(describeEmbeddings(now), output.frame)),
      ...(failures.length === 0 ? [] : ["", ...table(failureColumns(Date.now()), failures, output.frame)]),
    ]);
    if (now.model === null) await output.note(`\`${RUN}\` embeds what the store has, with a model on this machine`);
    return undefined;
  },
};

const failureColumns = (now: number): readonly Column<FailedEmbedding>[] => [
  {
    title: "TEXT",
    cell: ({ kind, collection, id }) => [kind, collection, id].filter((part) => part !== "").join(" "),
    shrink: 2,
    min: 12,
  },
  { title: "WHY", cell: ({ reason }) => reason, shrink: 1, min: 12, wrap: true },
  { title: "FAILED", cell: ({ at }) => formatAge(at, now), drop: 2 },
  { title: "", cell: ({ nextTryAt }) => (nextTryAt === null ? "parked" : ""), drop: 1 },
];

const run: Command = {
  name: "run",
  summary: "embed everything that waits",
  usage: ["embeddings run --embedder E"],
  description:
    "Embeds the messages, memories and documents that have no embedding yet, so that searches with the same embedder find them by " +
    "meaning too. What is embedded is kept at once: Ctrl-C loses nothing, and the next run goes on. Parked texts stay parked.",
  options: EMBEDDER,
  operands: [],
  examples: [{ command: RUN, does: "with a model on this machine" }],
  next: "holdfast search WORD --embedder E finds by words and by meaning.",
  run: (context) => embedAll(context, false),
};

const retry: Command = {
  name: "retry",
  summary: "embed everything that waits, also what failed for good",
  usage: ["embeddings retry --embedder E"],
  description: "As embeddings run. Texts that failed for good are tried again too.",
  options: EMBEDDER,
  operands: [],
  examples: [{ command: RUN.replace(" run ", " retry "), does: "after the model or its limits have changed" }],
  run: (context) => embedAll(context, true),
};

const adopt: Command = {
  name: "adopt",
  summary: "switch the store to another embedder",
  usage: ["embeddings adopt --embedder E"],
  description:
    "Makes the embedder the store's, also one that the store has left, and embeds everything again with it. The old embeddings answer " +
    "searches of their embedder until the new ones are complete. Other commands switch no store.",
  options: EMBEDDER,
  operands: [],
  switchesEmbedder: true,
  examples: [{ command: RUN.replace(" run ", " adopt "), does: "switch to this model" }],
  run: async (context) => {
    const { embeddings } = await openEmbedding(context);
    await embeddings.adopt();
    return embedAll(context, false);
  },
};

async function openEmbedding({ open }: Context) {
  const holdfast = await open();
  if ((await holdfast.embeddings.status()).embedder !== null) return holdfast;
  throw new UsageError(`name an embedder with --embedder or HOLDFAST_EMBEDDER: ${RUN}`);
}

async function embedAll(context: Context, withParked: boolean): Promise<number> {
  const { io, output } = context;
  const holdfast = await openEmbedding(context);
  const stop = interruption(io);
  try {
    const work = { kinds: KINDS, withParked, signal: stop.signal };
    const { awaitEmbeddings, describeLeft } = await import("../embedding-progress.ts");
    const { status: end, stopped } = await awaitEmbeddings(holdfast, work, output);
    await output.clearProgress();
    const left = describeLeft(end, KINDS);
    await output.answer({ ...end, stopped }, () => [endText(end, left)]);
    if (stopped) await output.note("stopped; the next `holdfast embeddings run` goes on from here");
    else if (left !== null) await output.note(left);
    return left === null || stopped ? EXIT.ok : EXIT.error;
  } finally {
    stop.release();
  }
}

function endText({ embedder }: EmbeddingStatus, left: string | null): string {
  return left === null ? `everything is embedded by ${embedder?.id ?? ""}` : "not everything is embedded";
}

export const embeddings: CommandGroup = {
  name: "embeddings",
  summary: "find by meaning: embed what waits, and see what failed",
  usage: [status, run, retry, adopt].flatMap(({ usage }) => usage),
  description:
    "With an embedder, searches find texts by meaning, beside their words. Programs that open the store with one embed new texts in the " +
    "background; with --embedder, commands embed what they add. Everything else that waits, such as messages, " +
    "`embeddings run` embeds.",
  commands: [status, run, retry, adopt],
  fallback: "status",
  examples: [...run.examples, ...status.examples],
};
