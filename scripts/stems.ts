// `npm run stems -- --data DIR`: compares the stemmers of the text index with Snowball's own vocabularies. DIR has a folder for
// each language, with a word a line in voc.txt and its stem on the same line of output.txt, as Snowball's data comes.
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { stem, TEXT_LANGUAGES, type TextLanguage } from "../src/search/text/stem.ts";

const HELP = `npm run stems -- --data DIR [options]

  --data DIR        the folder of Snowball's data: DIR/<language>/voc.txt and DIR/<language>/output.txt
  --language name   only this one: ${TEXT_LANGUAGES.filter((language) => language !== "none").join(", ")}
  --help

Exits with 1 if a stem of any language differs.
`;

/** How many differences of a language are printed. */
const SHOWN_MAX = 20;

function readLines(file: string): readonly string[] {
  return readFileSync(file, "utf8").replace(/\n$/, "").split("\n");
}

/** Whether all stems match. */
function compareLanguage(folder: string, language: TextLanguage): boolean {
  const words = readLines(path.join(folder, language, "voc.txt"));
  const stems = readLines(path.join(folder, language, "output.txt"));
  if (words.length !== stems.length) {
    throw new Error(`${language}: voc.txt has ${words.length} lines, output.txt has ${stems.length}`);
  }
  const started = performance.now();
  const found = words.map((word) => stem(word, language));
  const microseconds = ((performance.now() - started) * 1000) / words.length;
  const different = words.flatMap((word, index) =>
    found[index] === stems[index] ? [] : [`  ${word}: ${found[index]}, not ${stems[index]}`],
  );
  const matching = words.length - different.length;
  const share = ((100 * matching) / words.length).toFixed(different.length === 0 ? 0 : 3);
  console.log(`${language}: ${matching} of ${words.length} (${share} %), ${microseconds.toFixed(1)} µs a word`);
  if (different.length > 0) console.log(different.slice(0, SHOWN_MAX).join("\n"));
  return different.length === 0;
}

function main(): number {
  const { values } = parseArgs({
    options: { data: { type: "string" }, language: { type: "string" }, help: { type: "boolean", default: false } },
  });
  const { data, language } = values;
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (data === undefined) throw new Error("--data DIR is missing; --help says what it is");
  const chosen = TEXT_LANGUAGES.filter((one) => one !== "none" && (language === undefined || one === language));
  if (chosen.length === 0) throw new Error(`there is no stemmer for ${language}; --help names them`);
  const results = chosen.map((one) => compareLanguage(data, one));
  return results.every((isSame) => isSame) ? 0 : 1;
}

process.exitCode = main();
