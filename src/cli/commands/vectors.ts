// holdfast vectors: collections of documents, found by their words and by embeddings. What models compute comes in and goes out as JSON.
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { LIMITS } from "../../contracts/limits.ts";
import type { MetadataFilter } from "../../contracts/metadata-filter.ts";
import type { Collection, Document, DocumentMatch, TextMatch } from "../../contracts/vectors.ts";
import { REINDEX_VERBS } from "../../contracts/verbs/store.ts";
import { VECTOR_VERBS } from "../../contracts/verbs/vectors.ts";
import type { Command, CommandGroup, Context } from "../command-line.ts";
import { confirm, YES_OPTION } from "../confirm.ts";
import { readDocuments } from "../document-files.ts";
import { UsageError } from "../failure.ts";
import { parseJson, readObject, readTextOperand } from "../input.ts";
import { choiceOption, EMBEDDER_OPTION } from "../option.ts";
import type { Output } from "../output.ts";
import { snippetLines } from "../snippet.ts";
import { type Column, facts, ID, table } from "../table.ts";
import { quoted, safeLine, truncate } from "../terminal.ts";
import { formatCount, formatTime, plural } from "../units.ts";

const COLLECTION = { name: "COLLECTION", need: "required" } as const;
const DOCUMENTS_AT_ONCE = 1000;

const COLUMNS: readonly Column<Collection>[] = [
  { title: "COLLECTION", cell: ({ name }) => name, ...ID, colour: (text, _, style) => style.name(text) },
  { title: "DOCUMENTS", align: "right", cell: ({ documents }) => formatCount(documents) },
  { title: "EMBEDDED", align: "right", cell: ({ embedded }) => formatCount(embedded) },
  { title: "NUMBERS", align: "right", cell: ({ dimension }) => (dimension === null ? "" : formatCount(dimension)) },
  { title: "METRIC", cell: ({ metric, dimension }) => (dimension === null ? "" : metric), drop: 1 },
  { title: "MODEL", cell: ({ model }) => model, shrink: 2 },
];

const ls: Command = {
  name: "ls",
  aliases: ["list"],
  summary: "list collections of documents",
  usage: ["vectors [ls]"],
  description:
    "Lists all collections with their documents, how many of these searches by embedding can find (words find all), and the model " +
    "and the length of their embeddings.",
  options: {},
  operands: [],
  examples: [{ command: "holdfast vectors", does: "all collections" }],
  next: "holdfast vectors show COLLECTION describes one; holdfast vectors add COLLECTION FILE adds documents.",
  run: async (context) => {
    const { vectors } = await context.open();
    const collections: Collection[] = [];
    for (const name of await vectors.listCollections()) {
      const found = await vectors.getCollection(name);
      if (found !== null) collections.push(found);
    }
    const { output } = context;
    await output.answer({ collections }, () =>
      collections.length === 0 ? ["no collections"] : table(COLUMNS, collections, output.frame),
    );
    if (collections.length === 0) await output.note("`holdfast vectors add notes FILE` makes one of a text file");
    return undefined;
  },
};

async function needCollection({ vectors }: Holdfast, name: string): Promise<Collection> {
  const found = await vectors.getCollection(name);
  if (found !== null) return found;
  throw new HoldfastError("NotFound", `there is no collection ${JSON.stringify(name)}`, {
    details: { kind: "collection", id: name },
    hint: "vectors.listCollections() lists the collections.",
  });
}

const show: Command = {
  name: "show",
  summary: "describe a collection, or print documents of it",
  usage: ["vectors show COLLECTION [ID…]"],
  description:
    "Without an ID it describes the collection. With IDs it prints these documents; --json also prints their embeddings.",
  options: {},
  operands: [COLLECTION, { name: "ID", need: "zero-or-more" }],
  examples: [
    { command: "holdfast vectors show notes", does: "its model, metric and counts" },
    { command: "holdfast vectors show notes tea-1 --json", does: "a document with its embedding" },
  ],
  run: async (context) => {
    const holdfast = await context.open();
    const collection = context.args.operand(0);
    const found = await needCollection(holdfast, collection);
    const ids = context.args.operands.slice(1);
    if (ids.length === 0) {
      await context.output.answer(found, () => facts(describe(found), context.output.frame));
      return undefined;
    }
    const documents = await holdfast.vectors.get(ids, { collection });
    const missing = ids.find((id) => !documents.some((one) => one.id === id));
    if (missing !== undefined) throw noDocument(collection, missing);
    await context.output.answer({ collection, documents }, () => documentLines(documents, context));
    return undefined;
  },
};

function noDocument(collection: string, id: string): HoldfastError {
  return new HoldfastError("NotFound", `collection "${collection}" has no document "${id}"`, {
    details: { kind: "document", collection, id },
    hint: `\`holdfast vectors show ${quoted(collection)}\` says how many it has`,
  });
}

function describe(found: Collection): readonly (readonly [string, string])[] {
  const { name, model, dimension, metric, precision, documents, embedded, packed, generation, createdAt } = found;
  const numbers = dimension === null ? "none yet" : `${formatCount(dimension)} numbers, ${precision}, ${metric}`;
  return [
    ["collection", name],
    ["model", model],
    ["embeddings", numbers],
    ["documents", `${formatCount(documents)}, ${formatCount(embedded)} with an embedding`],
    ["packed", packed === 0 ? "" : `up to item ${formatCount(packed)}; later ones are compared exactly`],
    ["generation", generation > 1 ? String(generation) : ""],
    ["created", formatTime(createdAt)],
  ];
}

type ShownDocument = Pick<Document, "id" | "content" | "metadata">;

function textOf({ content }: ShownDocument): string {
  return content.map((block) => (block.type === "text" ? block.text : `<${block.type}>`)).join(" ");
}

function metadataText({ metadata }: ShownDocument): string {
  return Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata);
}

function documentLines(documents: readonly Document[], { output }: Context): string[] {
  const columns: readonly Column<Document>[] = [
    { title: "ID", cell: ({ id }) => id, shrink: 1, keep: true },
    { title: "CONTENT", cell: textOf, shrink: 2, keep: true, wrap: true },
    { title: "METADATA", cell: metadataText, shrink: 3, wrap: true },
    { title: "LANGUAGE", cell: ({ language }) => language ?? "", drop: 2 },
    { title: "EMBEDDED", cell: ({ embedding }) => (embedding === null ? "no" : "yes"), drop: 1 },
  ];
  return table(columns, documents, output.frame);
}

const MATCHES: readonly Column<DocumentMatch>[] = [
  { title: "SCORE", align: "right", cell: ({ score }) => score.toFixed(3) },
  { title: "ID", cell: ({ id }) => id, shrink: 1, keep: true, colour: (text, _, style) => style.name(text) },
  { title: "CONTENT", cell: textOf, shrink: 3, keep: true, wrap: true },
  { title: "METADATA", cell: metadataText, shrink: 4, wrap: true },
];

const LIMIT = VECTOR_VERBS.search.params[1].schema.fields.limit;

const search: Command = {
  name: "search",
  summary: "find documents by words, or by an embedding",
  usage: [
    "vectors search COLLECTION WORD… [--filter JSON] [--limit N] [--embedder E]",
    "vectors search COLLECTION EMBEDDING|- [--filter JSON] [--limit N]",
  ],
  description:
    'Finds the documents that have these words, best first: more and rarer words of the query count more. "A phrase" must be there as it ' +
    "is written, pars* matches the beginning of words, and -word leaves documents out that have it (put -- before a query that begins " +
    "with a minus). An EMBEDDING, a JSON list of numbers from the collection's model, finds the documents with the nearest embeddings " +
    "instead. - reads the query from standard input. SCORE is from 0 to 1.",
  options: {
    filter: {
      type: "text",
      value: "JSON",
      summary: 'only documents with such metadata: \'{"year": {"gte": 2020}}\'; operators as in the guide',
    },
    ...EMBEDDER_OPTION,
    limit: {
      type: "number",
      min: 1,
      max: LIMITS[LIMIT.limit],
      summary: `at most N documents (default ${LIMIT.fallback})`,
    },
  },
  operands: [COLLECTION, { name: "WORD", need: "one-or-more" }],
  takesQuery: true,
  examples: [
    { command: "holdfast vectors search notes green tea", does: "the five best for these words" },
    { command: "holdfast vectors search notes '\"green tea\" -sugar' --limit 3", does: "a phrase, without a word" },
    {
      command: "holdfast vectors search notes tea --embedder openai:http://127.0.0.1:11434/v1#nomic-embed-text",
      does: "by words and by meaning",
    },
    { command: "holdfast vectors search notes '[0.1, -0.2, 0.7]'", does: "the five nearest to an embedding" },
    { command: "embed 'green tea' | holdfast vectors search notes -", does: "with your own program's embedding" },
  ],
  next: "holdfast vectors show COLLECTION ID prints a document.",
  run: async (context) => {
    const { args, output } = context;
    const [collection = "", ...words] = args.operands;
    const query = readQuery(words.length === 1 ? await readTextOperand(words[0] ?? "", context.io) : words.join(" "));
    const filter = args.text("filter");
    const holdfast = await context.open();
    const { documents } = await needCollection(holdfast, collection);
    const options = {
      collection,
      limit: args.number("limit") ?? LIMIT.fallback,
      ...(filter === undefined ? {} : { filter: readObject(filter, "--filter") as MetadataFilter }),
    };
    if (typeof query === "string") {
      const matches = await holdfast.vectors.search(query, options);
      const { mode, warning } = matches;
      await output.answer({ collection, mode, warning, matches }, () => textMatchLines(matches, output));
      if (matches.length === 0) await output.note(adviceFor(query, filter !== undefined, documents));
      else if (matches.length === options.limit) await output.note("`--limit N` shows more");
      if (warning !== null) await output.note(warning);
      return undefined;
    }
    const matches = await holdfast.vectors.search(query, options);
    await output.answer({ collection, matches }, () =>
      matches.length === 0
        ? [filter === undefined ? "no document has an embedding" : "no document with an embedding passes the filter"]
        : table(MATCHES, matches, output.frame),
    );
    return undefined;
  },
};

/** What begins like a list of numbers is meant as an embedding. */
function readQuery(text: string): string | readonly number[] {
  if (!/^\s*\[\s*["\d.+-]/.test(text)) return text;
  const value = parseJson(text, "EMBEDDING", "; it is a list of numbers, such as '[0.1, -0.2]'");
  if (Array.isArray(value) && value.every((one) => typeof one === "number")) return value as readonly number[];
  throw new UsageError("EMBEDDING must be a JSON list of numbers, such as '[0.1, -0.2]'");
}

const INDENT = "    ";

/** A line about each document, and the part of its text with the words. */
function textMatchLines(matches: readonly TextMatch[], { style, width }: Output): string[] {
  if (matches.length === 0) return ["no document matches"];
  return matches.flatMap((match, index) => {
    const { file, line } = match.metadata;
    // The id of a paragraph says its file and line.
    const metadata = match.id === file || match.id === `${String(file)}:${String(line)}` ? "" : metadataText(match);
    const head = `${style.name(safeLine(match.id))} ${match.score.toFixed(3)}`;
    const facts = metadata === "" ? [] : [`  ${style.faint(truncate(safeLine(metadata), width - 2))}`];
    const snippet = snippetLines(match.snippet, width - INDENT.length, style).map((line) => INDENT + line);
    return [...(index === 0 ? [] : [""]), head, ...facts, ...snippet];
  });
}

function adviceFor(query: string, hasFilter: boolean, documents: number): string {
  if (documents === 0) return "the collection is empty; `holdfast vectors add COLLECTION FILE` adds documents";
  const word = query.split(/\s+/).find((one) => /^[\p{L}\p{N}]/u.test(one)) ?? "";
  return [
    ...(hasFilter ? ["leave out --filter"] : []),
    word === ""
      ? "name a word that is to be found"
      : `try other words, or the beginning of one (${word.replace(/\*$/, "").slice(0, 5)}*)`,
  ].join("; ");
}

const LANGUAGE = REINDEX_VERBS.reindex.params[0].schema.fields.language;

const add: Command = {
  name: "add",
  summary: "add documents: text files, JSON lines, or a text",
  usage: ["vectors add COLLECTION FILE|TEXT|-… [--whole] [--replace] [--language L] [--model NAME] [--embedder E]"],
  description:
    "Adds documents to a collection, which is created with its first one. Each paragraph of a text file is a document, with the id " +
    "FILE:LINE and its file and line as metadata; with --whole each file is one, with the id FILE. A file of JSON lines has a document " +
    'in each line, such as {"id": "tea-1", "content": "About tea", "metadata": {"topic": "tea"}, "embedding": [0.1, 0.2]}; ' +
    'only content is required; "language" in a line comes before --language. - reads standard input, and a text or a JSON object can ' +
    "stand in the command. " +
    "Documents are found by their words at once, and by an embedding if they have one or --embedder gives them one. " +
    `Each ${formatCount(DOCUMENTS_AT_ONCE)} documents are one commit.`,
  options: {
    whole: { type: "flag", summary: "a text is one document, not one for each paragraph" },
    replace: { type: "flag", summary: "replace documents that have the same id" },
    language: {
      ...choiceOption(LANGUAGE),
      value: "L",
      summary: `whose words the documents have: ${LANGUAGE.of.join(", ")} (default: that of the store)`,
    },
    model: { type: "text", value: "NAME", summary: "the model of the embeddings: those of another one are refused" },
    ...EMBEDDER_OPTION,
  },
  operands: [COLLECTION, { name: "DOCUMENTS", need: "one-or-more" }],
  examples: [
    { command: "holdfast vectors add notes README.md docs/*.md", does: "every paragraph of these files" },
    { command: "holdfast vectors add notes 'Ada takes green tea'", does: "one text" },
    { command: "holdfast vectors add notes handbuch/*.md --language german", does: "German texts" },
    { command: "holdfast vectors add notes products.jsonl --replace", does: "a JSON object a line" },
    { command: `holdfast vectors add notes '{"content": "About tea", "embedding": [0.1, 0.2]}'`, does: "one document" },
  ],
  next: "holdfast vectors search COLLECTION WORD finds them.",
  run: async (context) => {
    const { args, io, output } = context;
    const [collection = "", ...operands] = args.operands;
    const language = args.choice("language", LANGUAGE.of);
    const read = await readDocuments(operands, io, args.flag("whole"));
    const documents = language === undefined ? read : read.map((one) => ({ language, ...one }));
    const model = args.text("model");
    const options = model === undefined ? { collection } : { collection, model };
    const holdfast = await context.open();
    const { vectors } = holdfast;
    const ids: string[] = [];
    for (let from = 0; from < documents.length; from += DOCUMENTS_AT_ONCE) {
      const some = documents.slice(from, from + DOCUMENTS_AT_ONCE);
      ids.push(...(await (args.flag("replace") ? vectors.upsert(some, options) : vectors.add(some, options))));
    }
    const { finishEmbedding } = await import("../embedding-progress.ts");
    await finishEmbedding(holdfast, "documents", output);
    await output.answer({ collection, ids }, () => [`${plural(ids.length, "document")} added to ${collection}`]);
    return undefined;
  },
};

const rm: Command = {
  name: "rm",
  summary: "erase documents, or a collection",
  usage: ["vectors rm COLLECTION ID… [--yes]", "vectors rm COLLECTION --all [--yes]"],
  description:
    "Erases documents with their embeddings, or with --all the collection. Nothing of them stays in the file: neither " +
    "text nor metadata, nor what was derived from their embeddings.",
  options: { all: { type: "flag", summary: "the whole collection" }, yes: YES_OPTION },
  operands: [COLLECTION, { name: "ID", need: "zero-or-more" }],
  examples: [{ command: "holdfast vectors rm notes tea-1", does: "one document" }],
  run: async (context) => {
    const { args, output } = context;
    const collection = args.operand(0);
    const ids = args.operands.slice(1);
    if (args.flag("all") === ids.length > 0) throw new UsageError("name the IDs to erase, or pass --all");
    const holdfast = await context.open();
    const { documents } = await needCollection(holdfast, collection);
    const what = args.flag("all") ? plural(documents, "document") : plural(ids.length, "document");
    await confirm(context, `Erase ${what} of ${collection} for good?`);
    const erased = await (args.flag("all")
      ? holdfast.vectors.deleteCollection(collection)
      : holdfast.vectors.delete(ids, { collection }));
    await output.answer({ collection, erased }, () => [`${plural(erased, "document")} erased`]);
    return undefined;
  },
};

const rebuild: Command = {
  name: "rebuild",
  summary: "make the codes and the index of metadata again",
  usage: ["vectors rebuild COLLECTION"],
  description:
    "Makes again what is derived from the documents of a collection. For a check that found vector-page-wrong or " +
    "metadata-index-wrong. Searches go on meanwhile.",
  options: {},
  operands: [COLLECTION],
  examples: [{ command: "holdfast vectors rebuild notes", does: "one collection" }],
  run: async (context) => {
    const collection = context.args.operand(0);
    const { vectors } = await context.open();
    const documents = await vectors.rebuild(collection);
    await context.output.answer({ collection, documents }, () => [`${plural(documents, "document")} indexed again`]);
    return undefined;
  },
};

export const vectors: CommandGroup = {
  name: "vectors",
  summary: "documents found by their words and embeddings",
  usage: [...ls.usage, ...show.usage, ...search.usage, ...add.usage, ...rm.usage, ...rebuild.usage],
  description:
    "Documents in collections: texts to find again, such as notes or the pages of a manual. Add files with `vectors add`, and " +
    "search by words with `vectors search`; no model is needed. Documents may have embeddings from a model of your choice; a search by " +
    "an embedding finds those with the nearest ones.",
  commands: [ls, show, search, add, rm, rebuild],
  fallback: "ls",
  examples: [...add.examples.slice(0, 1), ...search.examples.slice(0, 1), ...ls.examples],
};
