// `npm run tck -- --features DIR`: runs the feature files of openCypher's TCK against the Cypher of this project, and prints what passed,
// what failed, and what uses parts that are left out. The files are not in this repository.
import { readdirSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { parseArgs } from "node:util";
import { type Case, readFeature } from "./tck/gherkin.ts";
import { type NamedGraphs, runCase } from "./tck/run-case.ts";
import { type CaseResult, countReasons, describeScores, scoreOf, subsetOf } from "./tck/subsets.ts";

const HELP = `npm run tck -- --features DIR [options]

  --features DIR  the TCK's folder: all .feature files in it, and its named graphs (graphs/NAME/NAME.cypher)
  --only TEXT     only cases whose feature, scenario or query contains the text
  --json          the result as JSON
  --help

Scores: core (clauses and expressions), extended (with UNION, list comprehensions and quantifiers), whole (with subqueries and
pattern comprehensions), all (with temporal values and procedures, which are not supported). Exits with 1 if a case failed.
`;

function listFiles(folder: string, ending: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));
  return names.toSorted().map((name) => path.join(folder, name));
}

function readCases(folder: string): readonly Case[] {
  return listFiles(folder, ".feature").flatMap((file) => {
    const name = path
      .relative(folder, file)
      .replace(/^.*features\//, "")
      .replace(/\.feature$/, "");
    return readFeature(name, readFileSync(file, "utf8"));
  });
}

function readNamedGraphs(folder: string): NamedGraphs {
  return new Map(
    listFiles(folder, ".cypher").map((file) => [path.basename(file, ".cypher"), readFileSync(file, "utf8")]),
  );
}

function nameOf({ feature, scenario, example }: Case): string {
  return `${feature} ${scenario}${example === undefined ? "" : ` (example ${example})`}`;
}

function isChosen(one: Case, only: string | undefined): boolean {
  if (only === undefined) return true;
  return [nameOf(one), ...one.steps.map(({ block }) => block ?? "")].some((text) => text.includes(only));
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      features: { type: "string" },
      only: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (values.features === undefined) throw new Error("--features DIR is missing; --help says what it is");
  const named = readNamedGraphs(values.features);
  const results: CaseResult[] = [];
  for (const one of readCases(values.features)) {
    if (isChosen(one, values.only)) results.push({ case: one, verdict: await runCase(one, named) });
  }
  if (values.json) {
    const cases = results.map(({ case: one, verdict }) => ({ name: nameOf(one), subset: subsetOf(one), ...verdict }));
    const unsupported = Object.fromEntries(countReasons(results));
    process.stdout.write(`${JSON.stringify({ scores: scoreOf(results), unsupported, cases }, null, 2)}\n`);
  } else {
    for (const { case: one, verdict } of results) {
      if (verdict.kind === "failed") console.log(`FAILED ${nameOf(one)}\n  ${verdict.why.replaceAll("\n", "\n  ")}`);
    }
    console.log(describeScores(results));
  }
  return results.some(({ verdict }) => verdict.kind === "failed") ? 1 : 0;
}

process.exitCode = await main();
