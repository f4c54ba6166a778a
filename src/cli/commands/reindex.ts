// holdfast reindex: makes the text index anew from the stored texts.
import { REINDEX_VERBS } from "../../contracts/verbs/store.ts";
import type { Command } from "../command-line.ts";
import { choiceOption } from "../option.ts";
import { facts } from "../table.ts";
import { formatBytes, formatCount, plural } from "../units.ts";

const LANGUAGE = REINDEX_VERBS.reindex.params[0].schema.fields.language;

export const reindex: Command = {
  name: "reindex",
  summary: "make the text indexes of messages, memories and documents anew",
  usage: ["reindex [--language LANGUAGE]"],
  description:
    "Makes the indexes of messages, memories and documents, which searches read, anew from the stored texts. Searches go on " +
    "meanwhile. Use it when the checker or a search says that the index is damaged, or to change the language whose words are " +
    "stemmed. Otherwise the index keeps itself: it is written in the background, and the first search finds what it lacks.",
  options: {
    language: {
      ...choiceOption(LANGUAGE),
      value: "LANGUAGE",
      summary: `the language of the texts: ${LANGUAGE.of.join(", ")}`,
    },
  },
  operands: [],
  examples: [
    { command: "holdfast reindex", does: "make the index anew" },
    { command: "holdfast reindex --language german", does: "and stem German words from now on" },
  ],
  next: "holdfast stats shows how large the index is.",
  run: async (context) => {
    const { args, output } = context;
    const language = args.choice("language", LANGUAGE.of);
    const holdfast = await context.open();
    const report = await holdfast.reindex(language === undefined ? {} : { language });
    const { items, units, bytes } = report;
    await output.answer(report, () => [
      `indexed ${plural(items, "message")}`,
      ...facts(
        [
          ["language", report.language ?? "english"],
          ["passages", formatCount(units)],
          ["size", formatBytes(bytes)],
        ],
        { ...output.frame, indent: 2 },
      ),
    ]);
    return undefined;
  },
};
