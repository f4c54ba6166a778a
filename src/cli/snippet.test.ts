// How a snippet is wrapped and painted.
import { expect, test } from "vitest";
import { snippetLines } from "./snippet.ts";
import { styleFor } from "./terminal.ts";

const style = { ...styleFor({ write: () => true, on: () => {} }, {}), warn: (text: string) => `[${text}]` };

test("SR1 words of the query are painted, also where lines break", () => {
  const snippet = {
    text: "one two  three\nfour",
    highlights: [
      [4, 7],
      [9, 19],
    ] as const,
    isCutBefore: true,
    isCutAfter: false,
  };
  expect(snippetLines(snippet, 6, style)).toEqual(["… one", "[two]", "[three]", "[four]"]);
  expect(snippetLines(snippet, 80, style)).toEqual(["… one [two] [three four]"]);
});

test("SR1 what controls a terminal is escaped, and does not move the paint", () => {
  const snippet = { text: "a\u001bb cat", highlights: [[4, 7]] as const, isCutBefore: false, isCutAfter: true };
  expect(snippetLines(snippet, 80, style)).toEqual(["a\\x1bb [cat] …"]);
});
