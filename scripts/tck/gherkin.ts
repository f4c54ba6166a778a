// Reads feature files: scenarios with their steps, and outlines with one case per row of their examples.
export interface Step {
  /** Without the keyword and without the colon. */
  readonly text: string;
  readonly block: string | undefined;
  readonly table: readonly (readonly string[])[];
}

export interface Case {
  /** The feature's file without its ending. */
  readonly feature: string;
  readonly scenario: string;
  /** The row of an outline, from 1; undefined if there is none. */
  readonly example: number | undefined;
  readonly steps: readonly Step[];
}

interface Draft {
  readonly scenario: string;
  readonly steps: { text: string; block: string | undefined; table: string[][] }[];
  readonly examples: string[][][];
}

export function readFeature(feature: string, text: string): readonly Case[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const drafts: Draft[] = [];
  const background: Draft = { scenario: "", steps: [], examples: [] };
  let draft: Draft | undefined;
  let isExamples = false;
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? "").trim();
    const heading = /^(Scenario Outline|Scenario|Background|Examples|Feature):\s*(.*)$/.exec(line);
    if (heading !== null) {
      const [, kind = "", name = ""] = heading;
      isExamples = kind === "Examples";
      if (kind === "Background") draft = background;
      else if (kind === "Examples") draft?.examples.push([]);
      else if (kind !== "Feature") {
        draft = { scenario: name, steps: [], examples: [] };
        drafts.push(draft);
      }
      continue;
    }
    if (draft === undefined || line === "" || /^[#@]/.test(line)) continue;
    if (line.startsWith("|")) {
      const table = isExamples ? draft.examples.at(-1) : draft.steps.at(-1)?.table;
      table?.push(splitRow(line));
    } else if (line.startsWith('"""')) {
      const end = lines.findIndex((one, index) => index > at && one.trim() === '"""');
      const step = draft.steps.at(-1);
      if (step !== undefined) step.block = unindent(lines.slice(at + 1, end), (lines[at] ?? "").indexOf('"'));
      at = end;
    } else {
      const text = line.replace(/^(Given|When|Then|And|But)\s+/, "").replace(/:$/, "");
      draft.steps.push({ text, block: undefined, table: [] });
    }
  }
  return drafts.flatMap((one) => expand(feature, one, background));
}

function unindent(lines: readonly string[], indent: number): string {
  return lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length))).join("\n");
}

/** Cells may hold escaped bars and backslashes. */
function splitRow(line: string): string[] {
  const cells: string[] = [];
  let cell = "";
  for (let at = 1; at < line.length; at++) {
    const character = line[at] ?? "";
    const next = line[at + 1] ?? "";
    if (character === "\\" && (next === "|" || next === "\\" || next === "n")) {
      cell += next === "n" ? "\n" : next;
      at++;
    } else if (character === "|") {
      cells.push(cell.trim());
      cell = "";
    } else cell += character;
  }
  return cells;
}

function expand(feature: string, { scenario, steps, examples }: Draft, background: Draft): readonly Case[] {
  const all = [...background.steps, ...steps];
  if (examples.length === 0) return [{ feature, scenario, example: undefined, steps: all }];
  const rows = examples.flatMap(([names = [], ...values]) => values.map((row) => ({ names, row })));
  return rows.map(({ names, row }, index) => {
    const fill = (text: string) =>
      names.reduce((filled, name, column) => filled.replaceAll(`<${name}>`, () => row[column] ?? ""), text);
    return {
      feature,
      scenario,
      example: index + 1,
      steps: all.map((step) => ({
        text: fill(step.text),
        block: step.block === undefined ? undefined : fill(step.block),
        table: step.table.map((line) => line.map(fill)),
      })),
    };
  });
}
