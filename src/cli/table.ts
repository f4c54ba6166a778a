// Tables that fit the terminal: columns say how far they may shrink and who shrinks first. Where there is no terminal
// nothing is cut, because a program or a file reads it.
import type { Style } from "./style.ts";
import { displayWidth, padEnd, padStart, safeLine, truncate } from "./terminal.ts";

export interface Column<Row> {
  readonly title: string;
  /** The cell's text; made safe here. */
  cell(row: Row): string;
  readonly align?: "right";
  /** Those with the highest number shrink first; 0 (default) never. */
  readonly shrink?: number;
  readonly colour?: (text: string, row: Row, style: Style) => string;
}

export interface Frame {
  readonly width: number;
  readonly style: Style;
  /** Columns of space before each line. */
  readonly indent?: number;
}

const GAP = 2;
const SHRUNK_MIN = 8;

/** Lines, the titles first. Columns whose cells are all empty are left out. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], frame: Frame): string[] {
  const filled = columns
    .map((column) => ({ column, cells: rows.map((row) => safeLine(column.cell(row))) }))
    .filter(({ cells }) => cells.some((cell) => cell !== ""));
  const indent = frame.indent ?? 0;
  const wanted = filled.map(({ column, cells }) => maxWidth([column.title, ...cells]));
  const widths = fitted(
    wanted,
    filled.map(({ column }) => column.shrink ?? 0),
    frame.width - indent,
  );
  const line = (texts: readonly string[], paint: (text: string, column: number) => string): string => {
    const cells = texts.map((text, i) => {
      const width = widths[i] ?? 0;
      const cut = truncate(text, width);
      const isLast = i === texts.length - 1;
      const padded = filled[i]?.column.align === "right" ? padStart(cut, width) : isLast ? cut : padEnd(cut, width);
      return paint(padded, i);
    });
    return " ".repeat(indent) + cells.join(" ".repeat(GAP));
  };
  const head = line(
    filled.map(({ column }) => column.title),
    (text) => frame.style.faint(text),
  );
  const body = rows.map((row, r) =>
    line(
      filled.map(({ cells }) => cells[r] ?? ""),
      (text, c) => filled[c]?.column.colour?.(text, row, frame.style) ?? text,
    ),
  );
  return [head, ...body];
}

function maxWidth(texts: readonly string[]): number {
  let width = 0;
  for (const text of texts) width = Math.max(width, displayWidth(text));
  return width;
}

function fitted(wanted: readonly number[], shrinks: readonly number[], width: number): number[] {
  const widths = [...wanted];
  const total = () => widths.reduce((sum, one) => sum + one, 0) + GAP * Math.max(0, widths.length - 1);
  const order = widths.map((_, i) => i).sort((a, b) => (shrinks[b] ?? 0) - (shrinks[a] ?? 0));
  for (const i of order) {
    const over = total() - width;
    if (over <= 0 || (shrinks[i] ?? 0) === 0) break;
    const now = widths[i] ?? 0;
    widths[i] = Math.max(Math.min(SHRUNK_MIN, now), now - over);
  }
  return widths;
}

/** "name  value" lines with the values aligned and never cut; an empty value is left out. */
export function facts(pairs: readonly (readonly [string, string])[], frame: Frame): string[] {
  const shown = pairs.filter(([, value]) => value !== "");
  const names = maxWidth(shown.map(([name]) => name));
  const indent = " ".repeat(frame.indent ?? 0);
  return shown.map(([name, value]) => {
    return `${indent}${frame.style.faint(padEnd(name, names))}${" ".repeat(GAP)}${safeLine(value)}`;
  });
}
