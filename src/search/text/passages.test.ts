// How a text is cut into passages.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cutPassages } from "./passages.ts";
import { TEXT_LANGUAGES } from "./stem.ts";
import { tokenise } from "./tokenise.ts";

function cut(text: string) {
  return cutPassages(text, tokenise(text, "english")).map((passage) => ({
    ...passage,
    text: text.slice(passage.start, passage.end),
    words: passage.to - passage.from,
  }));
}

const words = (count: number) => Array.from({ length: count }, (_, n) => `word${n}`).join(" ");

describe("passages", () => {
  test("of a short text are the whole text", () => {
    for (const text of ["", " … ", "One.", words(100)]) expect(cut(text).map((one) => one.text)).toEqual([text]);
    expect(cut("  two words ")).toMatchObject([{ start: 0, end: 12, from: 0, to: 2 }]);
  });

  test("of a text without sentences have 60 to 90 words, or half of what is left", () => {
    for (const count of [101, 119, 120, 134, 150, 200, 1000]) {
      const sizes = cut(words(count)).map((one) => one.words);
      expect(sizes.reduce((sum, size) => sum + size)).toBe(count);
      const min = count < 120 ? Math.floor(count / 2) - 8 : 60;
      for (const size of sizes) {
        expect(size).toBeGreaterThanOrEqual(min);
        expect(size).toBeLessThanOrEqual(100);
      }
    }
  });

  test("end at a paragraph rather than a line, at a line rather than a sentence, at a sentence rather than anywhere", () => {
    const text = (gap: string) => `${words(68)}${gap}Next ${words(80)}`;
    expect(cut(text("\n\n"))[0]?.text).toBe(`${words(68)}\n\n`);
    expect(cut(text("\n"))[0]?.text).toBe(`${words(68)}\n`);
    expect(cut(text(". "))[0]?.text).toBe(`${words(68)}. `);
    expect(cut(text(', he said." '))[0]?.text).toBe(`${words(68)}, he said." `);
    expect(cut(text(" "))[0]?.words).toBe(75);
    expect(cut(`${words(65)}\n\n${words(10)}\n${words(90)}`)[0]?.words).toBe(65);
    expect(cut(`${words(72)}\n${words(3)}. Next ${words(90)}`)[0]?.words).toBe(72);
  });

  test("do not end at the point of an abbreviation", () => {
    expect(cut(`${words(68)}, e.g. this ${words(80)}`)[0]?.words).toBe(75);
  });

  test("begin with the quotation mark or the bracket that opens their first word", () => {
    expect(cut(`${words(74)}. "Quoted (${words(80)}`)[1]?.text).toMatch(/^"Quoted/);
  });

  test("of Chinese end where a sentence ends", () => {
    expect(cut("持久的状态存储记录任务。".repeat(20)).map((one) => one.text.at(-1))).toEqual(
      cut("持久的状态存储记录任务。".repeat(20)).map(() => "。"),
    );
  });

  test("of any text are the whole text in order, and every word is in one", () => {
    const piece = fc.constantFrom("word ", "Word. ", "fooBar\n", "\n\n", "中文字。", "don't ", '" ', "…", "1.2.3 ");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 600, size: "max" }), (pieces) => {
        const text = pieces.join("");
        const tokens = tokenise(text, "english");
        const passages = cutPassages(text, tokens);
        expect(passages.map(({ start, end }) => text.slice(start, end)).join("")).toBe(text);
        expect(passages.map(({ from }) => from)).toEqual([0, ...passages.slice(0, -1).map(({ to }) => to)]);
        expect(passages.at(-1)?.to).toBe((tokens.at(-1)?.position ?? -1) + 1);
        for (const { position, start } of tokens) {
          const passage = passages.find(({ from, to }) => position >= from && position < to);
          expect(passage === undefined ? -1 : passage.start).toBeLessThanOrEqual(start);
          expect(passage?.end).toBeGreaterThan(start);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("are the same in every language", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "don't ",
        "I'd've ",
        "John’s. ",
        "l'eau ",
        "'s ",
        "x'S",
        "'",
        "10²'s ",
        "½'s ",
        "中文's ",
        "it's\u00ad ",
        "we'll\u00adx ",
      ),
      fc.constantFrom("word ", "Word. ", "fooBar's\n", "\n\n", "中文字。", "…", "1.2.3 ", "cafe\u0301's "),
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 80, maxLength: 300, size: "max" }), (pieces) => {
        const text = pieces.join("");
        const [first, ...others] = TEXT_LANGUAGES.map((language) =>
          cutPassages(text, tokenise(text, language)).map(({ start, end }) => [start, end]),
        );
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: 60 },
    );
  });

  test("of a text with a million spaces, or a million words, are found in linear time", () => {
    expect(cut(`${words(80)}${" ".repeat(1_000_000)}${words(80)}`)).toHaveLength(2);
    expect(cut("word ".repeat(1_000_000)).length).toBeGreaterThan(11_000);
  });
});
