// Tables that fit the terminal. Columns declare in which order they shrink and how far; if that is not enough, columns are left out
// and a line names them. Without a terminal nothing is cut, because a program or a file reads it.
import type { Style } from "./terminal.ts";
import { displayWidth, padEnd, padStart, safeLine, truncate, wrap, wrapWords } from "./terminal.ts";

export interface Column<Row> {
  readonly title: string;
  /** The cell's text, which the table escapes. */
  cell(row: Row): string;
  readonly align?: "right";
  /** Columns with the highest number shrink first; columns with 0 (the default) never shrink. */
  readonly shrink?: number;
  /** The least width (default 8); with 0 the column is left out rather than shown very narrow. */
  readonly min?: number;
  /** The column is never left out; other columns are left out before this one gets narrower than its min. */
  readonly keep?: true;
  /** Columns with the highest number are left out first; among equal ones (0 by default) the last column. */
  readonly drop?: number;
  /** For the first column: a cell that does not fit is not cut but gets its own line. */
  readonly whole?: true;
  /** A cell that does not fit continues on the lines below instead of being cut. */
  readonly wrap?: true;
  readonly colour?: (text: string, row: Row, style: Style) => string;
}

export interface Frame {
  readonly width: number;
  readonly style: Style;
  /** Columns of space before each line. */
  readonly indent?: number;
}

/** The column of ids: wide enough for generated ids, and for `claude-code/` and a UUID. Users cannot copy a cut id. */
export const ID = { shrink: 9, min: 48, keep: true, whole: true } as const;

/** The column of event ids. It is narrow, so that other columns have room: a long id gets its own line. */
export const EVENT_ID = { shrink: 1, min: 8, keep: true, whole: true } as const;

const GAP = 2;
const MIN = 8;

interface FittedColumn<Row> {
  readonly column: Column<Row>;
  /** The escaped cells, one for each row. */
  readonly cells: readonly string[];
  readonly width: number;
}

/** Returns the lines of a table, titles first. Columns whose cells are all empty are left out. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], frame: Frame): string[] {
  const indent = frame.indent ?? 0;
  const filled = columns
    .map((column) => ({ column, cells: rows.map((row) => safeLine(column.cell(row))) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ""))
    .map(({ column, cells }) => ({ column, cells, width: maxWidth([column.title, ...cells]) }));
  const shown = fitColumns(filled, frame.width - indent);
  const line = (
    text: (one: FittedColumn<Row>) => string,
    paint: (text: string, one: FittedColumn<Row>) => string,
  ): string[] => {
    const [first] = shown;
    if (first?.column.whole === true && displayWidth(text(first)) > first.width) {
      const rest = line((one) => (one === first ? "" : text(one)), paint);
      return [" ".repeat(indent) + paint(text(first), first), ...(shown.length === 1 ? [] : rest)];
    }
    const pieces = shown.map((one) =>
      one.column.wrap ? wrap(text(one), one.width) : [truncate(text(one), one.width)],
    );
    const height = Math.max(...pieces.map(({ length }) => length));
    return Array.from({ length: height }, (_, l) => {
      const cells = shown.map((one, i) => {
        const cut = pieces[i]?.[l] ?? "";
        const isLast = i === shown.length - 1;
        if (one.column.align === "right") return paint(padStart(cut, one.width), one);
        return paint(isLast ? cut : padEnd(cut, one.width), one);
      });
      return " ".repeat(indent) + cells.join(" ".repeat(GAP));
    });
  };
  return [
    ...line(
      ({ column }) => column.title,
      (text) => frame.style.faint(text),
    ),
    ...rows.flatMap((row, r) =>
      line(
        ({ cells }) => cells[r] ?? "",
        (text, { column }) => column.colour?.(text, row, frame.style) ?? text,
      ),
    ),
    ...leftOutLines(filled, shown, frame),
  ];
}

function leftOutLines<Row>(
  filled: readonly FittedColumn<Row>[],
  shown: readonly FittedColumn<Row>[],
  frame: Frame,
): string[] {
  const titles = filled
    .map(({ column }) => column)
    .filter(({ title }) => title !== "" && !shown.some(({ column }) => column.title === title))
    .map(({ title }) => title);
  if (titles.length === 0) return [];
  const indent = " ".repeat(frame.indent ?? 0);
  const lines = wrap(`(no room for ${titles.join(", ")}; --json has all)`, frame.width - indent.length);
  return lines.map((line) => indent + frame.style.faint(line));
}

function maxWidth(texts: readonly string[]): number {
  let width = 0;
  for (const text of texts) width = Math.max(width, displayWidth(text));
  return width;
}

/** Shrinks columns, then leaves out optional ones, and cuts the rest if nothing else helps. */
function fitColumns<Row>(columns: readonly FittedColumn<Row>[], width: number): readonly FittedColumn<Row>[] {
  const fitted = shrinkColumns(columns, width, ({ min }) => min ?? MIN);
  if (totalWidth(fitted) <= width) return fitted;
  const [dropped] = columns
    .filter(({ column }) => column.keep !== true)
    .toReversed()
    .toSorted((a, b) => (b.column.drop ?? 0) - (a.column.drop ?? 0));
  if (dropped === undefined) return shrinkColumns(columns, width, () => MIN);
  return fitColumns(
    columns.filter((one) => one !== dropped),
    width,
  );
}

function totalWidth<Row>(columns: readonly FittedColumn<Row>[]): number {
  return columns.reduce((sum, { width }) => sum + width + GAP, -GAP);
}

/** Shrinks columns one after the other until they fit. */
function shrinkColumns<Row>(
  columns: readonly FittedColumn<Row>[],
  width: number,
  min: (column: Column<Row>) => number,
): readonly FittedColumn<Row>[] {
  let fitting = columns;
  const order = columns.toSorted((a, b) => (b.column.shrink ?? 0) - (a.column.shrink ?? 0));
  for (const one of order) {
    const total = totalWidth(fitting);
    if (total <= width || (one.column.shrink ?? 0) === 0) return fitting;
    const needed = one.width - (total - width);
    const least = Math.min(min(one.column), one.width);
    const isDropped = least === 0 && needed < MIN;
    fitting = fitting.flatMap((other) => {
      if (other !== one) return [other];
      return isDropped ? [] : [{ ...one, width: Math.max(least, needed) }];
    });
  }
  return fitting;
}

/** Returns "name  value" lines with aligned values that are never cut: long values continue below. Empty ones are left out. */
export function facts(pairs: readonly (readonly [string, string])[], frame: Frame): string[] {
  const shown = pairs.filter(([, value]) => value !== "");
  const names = maxWidth(shown.map(([name]) => name));
  const indent = " ".repeat(frame.indent ?? 0);
  const room = frame.width - indent.length - names - GAP;
  return shown.flatMap(([name, value]) =>
    wrapWords(safeLine(value), room).map((line, i) => {
      const title = i === 0 ? frame.style.faint(padEnd(name, names)) : " ".repeat(names);
      return `${indent}${title}${" ".repeat(GAP)}${line}`;
    }),
  );
}
