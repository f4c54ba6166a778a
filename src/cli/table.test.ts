// Tables fit the terminal, and are whole where there is none.
import { describe, expect, test } from "vitest";
import { type Column, facts, ID, table } from "./table.ts";
import { displayWidth, styleFor } from "./terminal.ts";

interface Row {
  readonly id: string;
  readonly count: number;
  readonly title: string;
}

const columns: readonly Column<Row>[] = [
  { title: "ID", cell: ({ id }) => id, shrink: 1 },
  { title: "N", align: "right", cell: ({ count }) => String(count) },
  { title: "TITLE", cell: ({ title }) => title, shrink: 2 },
];
const rows: readonly Row[] = [
  { id: "chat-1", count: 7, title: "a rather long title that goes on" },
  { id: "a-much-longer-id", count: 1234, title: "" },
];
const plain = styleFor({ write: () => true, on: () => {} }, {});

describe("table", () => {
  test("aligns columns and cuts nothing where there is no terminal", () => {
    expect(table(columns, rows, { width: Number.POSITIVE_INFINITY, style: plain })).toEqual([
      "ID                   N  TITLE",
      "chat-1               7  a rather long title that goes on",
      "a-much-longer-id  1234  ",
    ]);
  });

  test("shrinks the column that may go first, then the next", () => {
    const wide = table(columns, rows, { width: 40, style: plain });
    expect(wide[1]).toBe("chat-1               7  a rather long t…");
    const narrow = table(columns, rows, { width: 26, style: plain });
    expect(narrow[2]?.startsWith("a-much-lo…")).toBe(true);
    for (const line of [...wide, ...narrow]) expect(displayWidth(line)).toBeLessThanOrEqual(40);
    for (const line of narrow) expect(displayWidth(line)).toBeLessThanOrEqual(26);
  });

  test("leaves a column out rather than making it a sliver, when it says so", () => {
    const droppable = columns.map((column) => (column.title === "TITLE" ? { ...column, min: 0 } : column));
    expect(table(droppable, rows, { width: 30, style: plain })).toEqual([
      "ID                   N",
      "chat-1               7",
      "a-much-longer-id  1234",
      "(no room for TITLE; --json has",
      "all)",
    ]);
    expect(table(droppable, rows, { width: 33, style: plain })[1]).toBe("chat-1               7  a rather…");
  });

  test("leaves other columns out, the last first, before it cuts an id, and says so", () => {
    const keeping = columns.map((column) => (column.title === "ID" ? { ...column, ...ID } : column));
    expect(table(keeping, rows, { width: 29, style: plain })).toEqual([
      "ID                   N",
      "chat-1               7",
      "a-much-longer-id  1234",
      "(no room for TITLE; --json",
      "has all)",
    ]);
    expect(table(keeping, rows, { width: 16, style: plain })).toEqual([
      "ID",
      "chat-1",
      "a-much-longer-id",
      "(no room for N,",
      "TITLE; --json",
      "has all)",
    ]);
    expect(table(keeping, rows, { width: 12, style: plain })[2]).toBe("a-much-longer-id");
  });

  test("an id that is longer than most stands whole on a line of its own, with the rest of its row below", () => {
    const long = [...rows, { id: "x".repeat(100), count: 7, title: "" }];
    const [, , short, id, rest] = table([{ ...columns[0], ...ID } as Column<Row>, ...columns.slice(1)], long, {
      width: 66,
      style: plain,
      indent: 2,
    });
    expect(short).toBe(`  ${"a-much-longer-id".padEnd(48)}  1234  `);
    expect(id).toBe(`  ${"x".repeat(100)}`);
    expect(rest).toBe(`  ${"7".padStart(54)}  `);
  });

  test("columns say which is left out first", () => {
    const dropping = columns.map((column) => (column.title === "N" ? { ...column, drop: 1 } : column));
    expect(table(dropping, rows, { width: 21, style: plain })).toEqual([
      "ID           TITLE",
      "chat-1       a rathe…",
      "a-much-lon…  ",
      "(no room for N;",
      "--json has all)",
    ]);
  });

  test("leaves out a column with nothing in it, and escapes cells", () => {
    const odd = [{ id: "a\x1b[2J", count: 1, title: "" }];
    expect(table(columns, odd, { width: 80, style: plain })).toEqual(["ID        N", "a\\x1b[2J  1"]);
  });

  test("facts are aligned, never cut, and empty ones are left out", () => {
    const pairs: [string, string][] = [
      ["a", "x".repeat(100)],
      ["longer", "2\n3"],
      ["empty", ""],
    ];
    expect(facts(pairs, { width: 20, style: plain })).toEqual([`a       ${"x".repeat(100)}`, "longer  2\\n3"]);
  });
});

describe("style", () => {
  const stream = { write: () => true, on: () => {}, isTTY: true };

  test("colours only a terminal, and not if colours are turned off", () => {
    expect(styleFor(stream, {}).bad("x")).toBe("\x1b[31mx\x1b[39m");
    expect(styleFor(stream, { NO_COLOR: "1" }).bad("x")).toBe("x");
    expect(styleFor(stream, { TERM: "dumb" }).bad("x")).toBe("x");
    expect(plain.bad("x")).toBe("x");
  });
});
