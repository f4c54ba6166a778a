// The lists of stop words.
import { describe, expect, test } from "vitest";
import { TEXT_LANGUAGES } from "./stem.ts";
import { isStopWord, stopWordsOf } from "./stop-words.ts";

const LANGUAGES = TEXT_LANGUAGES.filter((language) => language !== "none");

describe("stop words", () => {
  test.each(LANGUAGES)("are one or two hundred words in lower case, each once: %s", (language) => {
    const words = stopWordsOf(language);
    expect(words.length).toBeGreaterThan(120);
    expect(words.length).toBeLessThan(230);
    for (const word of words) expect(word).toMatch(/^[\p{Ll}']+$/u);
    for (const word of words) expect(word).toBe(word.normalize("NFC").toLowerCase());
  });

  test("are those of the language", () => {
    expect(isStopWord("the", "english")).toBe(true);
    expect(isStopWord("the", "german")).toBe(false);
    expect(isStopWord("für", "german")).toBe(true);
    expect(isStopWord("été", "french")).toBe(true);
    expect(isStopWord("ещё", "russian")).toBe(true);
    expect(isStopWord("también", "spanish")).toBe(true);
    expect(isStopWord("the", "none")).toBe(false);
    expect(stopWordsOf("none")).toEqual([]);
  });
});
