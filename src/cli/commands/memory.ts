// holdfast memory: long-term facts of one scope, a namespace and an agent or none.

import { LIMITS } from "../../contracts/limits.ts";
import type { Memories, Memory, MemoryChange, MemoryHit } from "../../contracts/memory.ts";
import type { PromotionExplanation } from "../../contracts/promotion.ts";
import { MEMORY_VERBS } from "../../contracts/verbs/memory.ts";
import type { Arguments, Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { UsageError } from "../failure.ts";
import { readObject, readTextOperand } from "../input.ts";
import { ORDER_OPTION, readOrder } from "../list-order.ts";
import {
  memoryLines,
  needMemory,
  readScope,
  readSource,
  readTime,
  SCOPE_OPTIONS,
  SCOPE_USAGE,
  sourceText,
} from "../memories.ts";
import { EMBEDDER_OPTION, pageOptions } from "../option.ts";
import { type Column, facts, table } from "../table.ts";
import { safe } from "../terminal.ts";
import { formatAge, formatCount, parseDuration, plural } from "../units.ts";
import { pin, promote, unpin } from "./memory-promotion.ts";

const add: Command = {
  name: "add",
  aliases: ["save"],
  summary: "save a fact",
  usage: [
    `memory add TEXT ${SCOPE_USAGE} [--kind K] [--subject S [--attribute A [--value V]]] [--importance N] [--ttl D] [--from T] ` +
      "[--to T] [--metadata JSON] [--session ID] [--run ID] [--supersedes ID] [--embedder E]",
  ],
  description:
    "Saves a fact. The same fact is not saved twice: it is confirmed. A fact with a subject and an attribute takes the place of " +
    "those that have another value of this attribute; they stay readable, and memory undo brings one back. TEXT of - reads " +
    "standard input, @FILE a file.",
  options: {
    ...SCOPE_OPTIONS,
    kind: {
      type: "text",
      value: "WORD",
      summary: "fact (default), preference, goal, event, procedure, or a word of yours",
    },
    subject: { type: "text", summary: "what the fact is about" },
    attribute: { type: "text", summary: "which property of the subject it is" },
    value: { type: "text", summary: "the value of the property" },
    importance: { type: "text", value: "0..1", summary: "how important it is (default 0.5)" },
    ttl: { type: "text", value: "DURATION", summary: "forget it after this time, such as 12h or 30d" },
    from: {
      type: "text",
      value: "TIME",
      summary: "since when it holds, or when it happened: 2026-01-31, or 3d for three days ago",
    },
    to: { type: "text", value: "TIME", summary: "until when it holds" },
    metadata: { type: "text", value: "JSON", summary: "a JSON object to keep with it, which filters can use" },
    session: { type: "text", value: "ID", summary: "the session that it comes from" },
    run: { type: "text", value: "ID", summary: "the run that it comes from" },
    supersedes: { type: "text", value: "ID", summary: "the memory whose place it takes" },
    ...EMBEDDER_OPTION,
  },
  operands: [{ name: "TEXT", need: "required" }],
  examples: [
    { command: "holdfast memory add 'Ada prefers tea' --kind preference", does: "a fact of no agent" },
    {
      command: "holdfast memory add 'Ada lives in Rome' --subject Ada --attribute home",
      does: "takes the place of where she lived before",
    },
  ],
  next: "holdfast memory search finds it; holdfast memory why ID shows where it comes from.",
  run: async (context) => {
    const { args, io, output } = context;
    const now = Date.now();
    const text = await readTextOperand(args.operand(0), io);
    const holdfast = await context.open({ create: true });
    const saved = await holdfast.memory.save(text, { ...readScope(args), ...readFact(args, now) });
    const { finishEmbedding } = await import("../embedding-progress.ts");
    await finishEmbedding(holdfast, "memories", output);
    await output.answer(saved, () => [
      saved.isNew
        ? safe`saved ${saved.id}`
        : safe`confirmed ${saved.id}, saved ${plural(saved.confirmations + 1, "time")}`,
      ...saved.superseded.map((id) => safe`superseded ${id}`),
      ...(saved.supersededBy === null ? [] : [safe`it was superseded by ${saved.supersededBy}`]),
    ]);
    return undefined;
  },
};

function readFact(args: Arguments, now: number): NonNullable<Parameters<Memories["save"]>[1]> {
  const fact: Record<string, unknown> = {};
  for (const name of ["kind", "subject", "attribute", "value", "supersedes"]) {
    const value = args.text(name);
    if (value !== undefined) fact[name] = value;
  }
  const [ttl, from, to, metadata] = [args.text("ttl"), args.text("from"), args.text("to"), args.text("metadata")];
  const importance = args.text("importance");
  if (importance !== undefined) fact.importance = readImportance(importance);
  if (ttl !== undefined) fact.ttlMs = parseDuration(ttl, "--ttl");
  if (from !== undefined) fact.validFrom = readTime(from, "--from", now);
  if (to !== undefined) fact.validTo = readTime(to, "--to", now);
  if (typeof fact.validTo === "number" && fact.validTo <= Number(fact.validFrom ?? now)) {
    throw new UsageError(
      `--to must be later than --from${from === undefined ? ", which is now if it is not given" : ""}`,
    );
  }
  if (metadata !== undefined) fact.metadata = readObject(metadata, "--metadata");
  const source = readSource(args);
  if (source !== undefined) fact.source = source;
  return fact;
}

function readImportance(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= 0 && value <= 1) return value;
  throw new UsageError(`--importance takes a number from 0 to 1, not "${text}"`);
}

const SEARCH_LIMIT = MEMORY_VERBS.search.params[1].schema.fields.limit;

const search: Command = {
  name: "search",
  summary: "find memories by their words, and by meaning",
  usage: [
    `memory search QUERY… ${SCOPE_USAGE} [--kind K] [--subject S] [--filter JSON] [--at T] [--superseded] [--limit N] [--embedder E]`,
  ],
  description:
    'Finds memories of one scope, the best match first. A query has words, "phrases", prefix*, -words to leave out, ' +
    'kind:word and subject:"a name". By default it finds what has not ended, also what begins later; --at finds ' +
    "what held at a time.",
  options: {
    ...SCOPE_OPTIONS,
    kind: { type: "text", value: "WORD", summary: "only of this kind" },
    subject: { type: "text", summary: "only about this subject" },
    filter: {
      type: "text",
      value: "JSON",
      summary: 'only with this metadata, such as \'{"sure": true, "n": {"gt": 3}}\'',
    },
    at: { type: "text", value: "TIME", summary: "what held at this time: 2026-01-31, or 3d for three days ago" },
    superseded: { type: "flag", summary: "also what was superseded, or has ended" },
    ...EMBEDDER_OPTION,
    limit: { type: "number", min: 1, max: LIMITS.page, summary: `at most N (default ${SEARCH_LIMIT.fallback})` },
  },
  operands: [{ name: "QUERY", need: "one-or-more" }],
  takesQuery: true,
  examples: [
    { command: "holdfast memory search 'what does Ada drink?'", does: "the ten best" },
    { command: "holdfast memory search Ada home --at 2025-06-01", does: "where she lived then" },
  ],
  next: "holdfast memory show ID shows all of one; holdfast search finds messages of sessions.",
  run: async (context) => {
    const { args, output } = context;
    const now = Date.now();
    const scope = readScope(args);
    const [kind, subject, filter, at] = ["kind", "subject", "filter", "at"].map((name) => args.text(name));
    const query = args.operands.join(" ");
    if (query.trim() === "")
      throw new UsageError("the query is empty; give words of a memory, or the beginning of one (tea*)");
    const holdfast = await context.open();
    const hits = await holdfast.memory.search(query, {
      ...scope,
      ...(kind === undefined ? {} : { kind }),
      ...(subject === undefined ? {} : { subject }),
      ...(filter === undefined ? {} : { filter: readObject(filter, "--filter") as never }),
      ...(at === undefined ? {} : { at: readTime(at, "--at", now) }),
      superseded: args.flag("superseded"),
      limit: args.number("limit") ?? SEARCH_LIMIT.fallback,
    });
    const { mode, waiting, warning } = hits;
    await output.answer({ mode, waiting, warning, hits }, () =>
      hits.length === 0 ? ["no memory has these words"] : table(hitColumns(now), hits, output.frame),
    );
    const { noteMeaning } = await import("../embedding-progress.ts");
    await noteMeaning({ waiting, warning }, ["memory", "memories"], output);
    if (hits.length === 0) await hintScopes(context, scope);
    return undefined;
  },
};

/** A memory that is not found may be in another scope. */
async function hintScopes(context: Context, { namespace = "default", agent = null }: MemoryScopeNames): Promise<void> {
  const { items } = await (await context.open()).memory.scopes({ limit: 5 });
  const others = items.filter((one) => one.namespace !== namespace || one.agent !== agent);
  if (others.length === 0) return;
  await context.output.note("there are memories of other scopes: `holdfast memory status` lists them");
}

type MemoryScopeNames = { readonly namespace?: string; readonly agent?: string | null };

const ID_COLUMN = { shrink: 1, min: 24, keep: true } as const;

const memoryColumns = (now: number): readonly Column<Memory>[] => [
  { title: "MEMORY", cell: ({ id }) => id, ...ID_COLUMN, colour: (text, _, style) => style.name(text) },
  { title: "CONTENT", cell: ({ content }) => content, shrink: 3, min: 24, wrap: true },
  { title: "KIND", cell: ({ kind }) => kind, shrink: 2, min: 0 },
  { title: "SINCE", cell: ({ validFrom }) => formatAge(validFrom, now), drop: 1 },
  { title: "", cell: (one) => stateText(one, now), drop: 2 },
];

const hitColumns = (now: number): readonly Column<MemoryHit>[] => [
  { title: "SCORE", align: "right", cell: ({ score }) => score.toFixed(2), drop: 3 },
  ...memoryColumns(now),
];

/** Empty for a memory that holds. */
function stateText({ supersededBy, supersededFrom, validTo, expiresAt }: Memory, now: number): string {
  if (supersededBy !== null && (supersededFrom ?? 0) <= now) return "superseded";
  if (validTo !== null && validTo <= now) return "ended";
  return expiresAt === null ? "" : "expires";
}

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list memories, newest first",
  usage: [
    `memory [ls] ${SCOPE_USAGE} [--kind K] [--subject S [--attribute A]] [--superseded] [--order ORDER] [--limit N] [--cursor C]`,
  ],
  description:
    "Lists the memories of one scope that have not ended, newest first, a page at a time. With --subject, --attribute and " +
    "--superseded it lists all values that an attribute has had.",
  options: {
    ...SCOPE_OPTIONS,
    kind: { type: "text", value: "WORD", summary: "only of this kind" },
    subject: { type: "text", summary: "only about this subject" },
    attribute: { type: "text", summary: "only values of this attribute of the subject" },
    superseded: { type: "flag", summary: "also what was superseded, or has ended" },
    order: ORDER_OPTION,
    ...pageOptions(50),
  },
  operands: [],
  examples: [
    { command: "holdfast memory", does: "the newest 50 of no agent" },
    { command: "holdfast memory ls --subject Ada --attribute home --superseded", does: "where Ada has lived" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const scope = readScope(args);
    const [kind, subject, attribute] = [args.text("kind"), args.text("subject"), args.text("attribute")];
    const page = await (await context.open()).memory.list({
      ...scope,
      ...(kind === undefined ? {} : { kind }),
      ...(subject === undefined ? {} : { subject }),
      ...(attribute === undefined ? {} : { attribute }),
      superseded: args.flag("superseded"),
      order: readOrder(args),
      limit: args.number("limit") ?? 50,
      cursor: args.text("cursor"),
    });
    const now = Date.now();
    await output.answer(page, () =>
      page.items.length === 0 ? ["no memories"] : table(memoryColumns(now), page.items, output.frame),
    );
    await output.noteNextPage(page.next);
    if (page.items.length === 0) await hintScopes(context, scope);
    return undefined;
  },
};

const NAMED = [{ name: "ID", need: "required" }] as const;

const show: Command = {
  name: "show",
  summary: "show all of one memory",
  usage: [`memory show ID ${SCOPE_USAGE}`],
  description: "Shows one memory, also if it was superseded.",
  options: SCOPE_OPTIONS,
  operands: NAMED,
  examples: [{ command: "holdfast memory show mem_x7 --agent helper", does: "one memory of an agent" }],
  next: "holdfast memory why ID shows where it comes from, and what happened to it.",
  run: async (context) => {
    const { args, output } = context;
    const memory = await needMemory(await context.open(), args.operand(0), readScope(args));
    await output.answer(memory, () => memoryLines(memory, output));
    return undefined;
  },
};

/** Changes that one page shows; why is about one fact. */
const CHANGES = 200;

const why: Command = {
  name: "why",
  aliases: ["history"],
  summary: "show where a memory comes from, and what happened to it",
  usage: [`memory why ID ${SCOPE_USAGE}`],
  description:
    "Shows every save of a fact with its session, message and run, what superseded it or what it superseded, and what " +
    "was brought back, oldest first; for a fact of an agent also why it is in a core block or in none.",
  options: SCOPE_OPTIONS,
  operands: NAMED,
  examples: [{ command: "holdfast memory why mem_x7", does: "the history of one fact" }],
  next: "holdfast memory undo ID brings a superseded memory back.",
  run: async (context) => {
    const { args, output } = context;
    const scope = readScope(args);
    const holdfast = await context.open();
    const memory = await needMemory(holdfast, args.operand(0), scope);
    const { items, next } = await holdfast.memory.history(memory.id, { ...scope, order: "oldest", limit: CHANGES });
    const { agent } = scope;
    const promotion =
      agent === undefined ? null : await holdfast.memory.explainPromotion(memory.id, { ...scope, agent });
    await output.answer({ memory, changes: items, next, promotion }, () => [
      ...memoryLines(memory, output),
      ...(promotion === null ? [] : ["", ...promotionLines(promotion)]),
      "",
      ...table(changeColumns(Date.now()), items, output.frame),
    ]);
    if (next !== null) await output.note(`only the first ${formatCount(CHANGES)} changes are shown`);
    return undefined;
  },
};

function promotionLines({ reason, score, needed, signals }: PromotionExplanation): readonly string[] {
  const parts = signals.map((one) => `${one.name} ${one.value.toFixed(2)} × ${one.weight}`);
  return [reason, `Score ${score.toFixed(2)}, needed ${needed.toFixed(2)}`, parts.join(", ")];
}

const changeColumns = (now: number): readonly Column<MemoryChange>[] => [
  { title: "WHEN", cell: ({ at }) => formatAge(at, now) },
  { title: "MEMORY", cell: ({ memory }) => memory, ...ID_COLUMN, colour: (text, _, style) => style.name(text) },
  { title: "CHANGE", cell: ({ change }) => change },
  {
    title: "BY",
    cell: ({ change, by, source }) => (change === "superseded" ? (by ?? "") : sourceText(source)),
    shrink: 2,
  },
];

const undo: Command = {
  name: "undo",
  summary: "bring a superseded memory back",
  usage: [`memory undo ID ${SCOPE_USAGE}`],
  description: "Brings a superseded memory back: it holds again, beside the one that superseded it.",
  options: SCOPE_OPTIONS,
  operands: NAMED,
  examples: [{ command: "holdfast memory undo mem_x7", does: "it holds again" }],
  run: async (context) => {
    const { args, output } = context;
    const scope = readScope(args);
    const holdfast = await context.open();
    const { id } = await needMemory(holdfast, args.operand(0), scope);
    const memory = await holdfast.memory.undo(id, scope);
    await output.answer(memory, () => [safe`${memory.id} holds again`]);
    return undefined;
  },
};

const rm: Command = {
  name: "rm",
  summary: "erase a memory, or all of a scope",
  usage: [`memory rm (ID | --all) ${SCOPE_USAGE} [--yes]`],
  description:
    "Erases a memory with its history for good. What it superseded stays superseded; memory undo brings that back. " +
    "Its line leaves core blocks; older versions of a block keep it, and rm says how many lines that are. --all erases all " +
    "memories of the scope.",
  options: {
    ...SCOPE_OPTIONS,
    all: { type: "flag", summary: "erase all memories of the scope" },
    yes: YES_OPTION,
  },
  operands: [{ name: "ID", need: "optional" }],
  examples: [
    { command: "holdfast memory rm mem_x7", does: "asks, then erases it" },
    { command: "holdfast memory rm --all --agent helper --yes", does: "everything that the agent remembers" },
  ],
  run: async (context) => {
    const { args, output } = context;
    const scope = readScope(args);
    const [id] = args.operands;
    if ((id === undefined) !== args.flag("all")) throw new UsageError("name one memory, or give --all");
    const holdfast = await context.open();
    if (id === undefined) {
      await confirm(context, "This erases all memories of the scope for good.");
    } else {
      const { content } = await needMemory(holdfast, id, scope);
      await confirm(context, `This erases "${content.slice(0, 200)}" with its history for good.`);
    }
    const erasure = id === undefined ? await holdfast.memory.clear(scope) : await holdfast.memory.delete(id, scope);
    const { memories = 0, changes = 0 } = erasure.removed;
    const { blockLines = 0 } = erasure.kept;
    await output.answer(erasure, () => [
      `erased ${plural(memories, "memory", "memories")} with ${plural(changes, "change")}`,
      ...(blockLines === 0 ? [] : [`older versions of core blocks keep ${plural(blockLines, "line")} of it`]),
    ]);
    if (blockLines > 0) {
      await output.note("a block's versions go with the block: when its last agent leaves it out, or is removed");
    }
    return undefined;
  },
};

const status: Command = {
  name: "status",
  summary: "count memories, scope by scope",
  usage: ["memory status [--limit N] [--cursor C]"],
  description:
    "Counts the memories of the store and of each scope: all, superseded ones, and those that expired and are not erased yet. " +
    "In a store with an embedder also those that wait for their vectors, or failed.",
  options: pageOptions(50),
  operands: [],
  examples: [{ command: "holdfast memory status", does: "all scopes" }],
  next: "holdfast gc erases expired memories.",
  run: async (context) => {
    const { args, output } = context;
    const { memory } = await context.open();
    const totals = await memory.status();
    const { items, next } = await memory.scopes({ limit: args.number("limit") ?? 50, cursor: args.text("cursor") });
    await output.answer({ ...totals, list: items, next }, () => [
      ...facts(
        [
          ["memories", formatCount(totals.memories)],
          ["superseded", totals.superseded === 0 ? "" : formatCount(totals.superseded)],
          ["expired", totals.expired === 0 ? "" : `${formatCount(totals.expired)}, not erased yet`],
          ["scopes", formatCount(totals.scopes)],
          ["wait for vectors", totals.embedding.pending === 0 ? "" : formatCount(totals.embedding.pending)],
          ["without vectors", totals.embedding.parked === 0 ? "" : `${formatCount(totals.embedding.parked)}, failed`],
        ],
        output.frame,
      ),
      ...(items.length === 0 ? [] : ["", ...table(SCOPE_COLUMNS, items, output.frame)]),
    ]);
    await output.noteNextPage(next);
    return undefined;
  },
};

const SCOPE_COLUMNS: readonly Column<Awaited<ReturnType<Memories["scopes"]>>["items"][number]>[] = [
  { title: "NAMESPACE", cell: ({ namespace }) => namespace, shrink: 2, colour: (text, _, style) => style.name(text) },
  { title: "AGENT", cell: ({ agent }) => agent ?? "", shrink: 1 },
  { title: "MEMORIES", align: "right", cell: ({ memories }) => formatCount(memories) },
  { title: "SUPERSEDED", align: "right", cell: ({ superseded }) => (superseded === 0 ? "" : formatCount(superseded)) },
  { title: "EXPIRED", align: "right", cell: ({ expired }) => (expired === 0 ? "" : formatCount(expired)) },
];

export const memory: CommandGroup = {
  name: "memory",
  summary: "save, find, explain, promote and erase long-term facts",
  usage: [add, search, ls, show, why, undo, promote, pin, unpin, rm, status].flatMap(({ usage }) => usage),
  description:
    "A memory is a fact that outlives its session. It belongs to one scope, a namespace and an agent or none: a command without " +
    "--agent is about the memories of no agent.",
  commands: [add, search, ls, show, why, undo, promote, pin, unpin, rm, status],
  fallback: "ls",
  examples: [...add.examples, ...search.examples.slice(0, 1), ...why.examples],
};
