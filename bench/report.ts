// The report of a benchmark, as JSON and as a table for a terminal of 80 columns.

interface Target {
  readonly of: "ratio" | "value";
  readonly must: "atMost" | "atLeast";
  readonly limit: number;
}

export interface Result {
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  readonly baseline: number;
  readonly ratio: number;
  readonly targets?: readonly Target[];
  readonly note?: string;
}

/** The published shape: numbers that can be read, targets as text. */
export function toJson(results: readonly Result[]): string {
  const rows = results.map(({ targets, note, ...result }) => ({
    metric: result.metric,
    value: rounded(result.value),
    unit: result.unit,
    baseline: rounded(result.baseline),
    ratio: rounded(result.ratio),
    ...(targets === undefined ? {} : { target: targets.map((one) => targetText(one, result.unit, true)).join(", ") }),
    ...(note === undefined ? {} : { note }),
  }));
  return `[\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n")}\n]`;
}

export function isMet(result: Result): boolean {
  return (result.targets ?? []).every(({ of, must, limit }) =>
    must === "atMost" ? result[of] <= limit : result[of] >= limit,
  );
}

const HEADINGS = ["metric", "value", "baseline", "ratio", "target", ""];
const WIDTH = 80;

/** Lines of at most 80 columns: the table, then the notes. */
export function toTable(results: readonly Result[]): string[] {
  const cells = results.map((result) => [
    result.metric,
    `${figure(result.value)} ${result.unit}`,
    figure(result.baseline),
    figure(result.ratio),
    (result.targets ?? []).map((one) => targetText(one, result.unit, false)).join(", "),
    result.targets === undefined ? "" : isMet(result) ? "ok" : "MISS",
  ]);
  const widths = HEADINGS.map((heading, i) => Math.max(heading.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => (i >= 1 && i <= 3 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  const notes = results.flatMap(({ metric, note }) => (note === undefined ? [] : wrap(`${metric}: ${note}`, WIDTH)));
  return [line(HEADINGS), ...cells.map(line), ...(notes.length === 0 ? [] : ["", ...notes])];
}

function targetText({ of, must, limit }: Target, unit: string, full: boolean): string {
  const sign = must === "atMost" ? "≤" : "≥";
  if (of === "ratio") return full ? `ratio ${sign} ${limit}` : `${sign} ${limit}`;
  return full ? `value ${sign} ${limit} ${unit}` : `${sign} ${limit} ${unit}`;
}

/** A number with three significant digits and separated thousands. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

function rounded(value: number): number {
  return Number(value.toPrecision(5));
}

/** Breaks a text at spaces; later lines are indented. A word that is longer than a line gets its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
