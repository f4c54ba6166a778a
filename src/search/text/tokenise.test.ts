// What the words of a text are: the rules of the tokeniser, and that no text can stop or slow it.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TERM_LENGTH_MAX } from "./index-terms.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "./stem.ts";
import { TOKENISER_VERSION, tokenise } from "./tokenise.ts";

/** "term@position", with the words of the text that they stand for. */
function show(text: string, language: TextLanguage = "none"): string {
  return tokenise(text, language)
    .map(({ term, position }) => `${term}@${position}`)
    .join(" ");
}

function spans(text: string, language: TextLanguage = "none"): readonly string[] {
  return tokenise(text, language).map(({ start, end }) => text.slice(start, end));
}

describe("words", () => {
  test.each<[name: string, text: string, expected: string]>([
    ["runs of letters and digits, in lower case", "Kill -9, then RESUME!", "kill@0 9@1 then@2 resume@3"],
    ["snake case in parts that follow each other", "foo_bar E_CONN_RESET", "foo@0 bar@1 e@2 conn@3 reset@4"],
    ["camel case as a whole and in parts, at one position", "a fooBar b", "a@0 foobar@1 foo@1 bar@1 b@2"],
    ["abbreviations in camel case", "HTTPServer IDs iPhone", "httpserver@0 http@0 server@0 ids@1 iphone@2 phone@2"],
    ["words in capitals, which have no parts", "HELLO Hello", "hello@0 hello@1"],
    ["paths", "src/open.ts", "src@0 open@1 ts@2"],
    ["versions and numbers", "v1.2.3 3.14 1,000", "v1@0 2@1 3@2 3@3 14@4 1@5 000@6"],
    ["e-mail addresses", "joe.bloggs@example.com", "joe@0 bloggs@1 example@2 com@3"],
    ["addresses", "https://example.com/a?b=c", "https@0 example@1 com@2 a@3 b@4 c@5"],
    ["apostrophes outside English", "l'avion d’or", "l@0 avion@1 d@2 or@3"],
    ["nothing", " \t\n-–—…!", ""],
  ])("are %s", (_, text, expected) => {
    expect(show(text)).toBe(expected);
  });

  test("are joined by an apostrophe where English contracts, and only there", () => {
    expect(show("Don't use John’s 'dogs' b'bytes'", "english")).toBe("don't@0 use@1 john@2 dog@3 b@4 byte@5");
    expect(show("O'Brien's we'll DON'T", "english")).toBe("o@0 brien@1 we'll@2 don't@3");
    expect(spans("OpenAI's café’s", "english")).toEqual(["OpenAI's", "Open", "AI", "café’s"]);
  });

  test("are found again by the phrase that they were written as", () => {
    for (const text of ["src/open.ts", "v1.2.3", "E_CONN_RESET", "joe@example.com"]) {
      const terms = tokenise(text, "english").map(({ term }) => term);
      const inText = tokenise(`see ${text}: broken`, "english").map(({ term }) => term);
      expect(inText.slice(1, -1)).toEqual(terms);
    }
  });

  test("are stemmed, but for those with a digit", () => {
    expect(show("connections connected mp3ed", "english")).toBe("connect@0 connect@1 mp3ed@2");
    expect(show("красивые ёлки", "russian")).toBe("красив@0 елк@1");
    expect(show("größere Häuser", "german")).toBe("gross@0 haus@1");
  });
});

describe("letters", () => {
  test.each<[name: string, one: string, other: string]>([
    ["accents, composed or not", "Café naïve", "cafe\u0301 naive"],
    ["ligatures and full width", "ﬁle ＡＢＣ", "file abc"],
    ["superscripts", "x²", "x2"],
    ["capitals that Unicode writes in two", "İSTANBUL", "istanbul"],
    ["the Russian ё and й", "ЁЛКА красивый", "елка красивыи"],
    ["soft hyphens and joiners", "hold\u00adfast", "holdfast"],
    ["halfwidth katakana", "ﾊﾞﾅﾅ", "バナナ"],
    ["Hangul in parts", "한국어".normalize("NFD"), "한국어"],
    ["Arabic vowel signs", "كِتَاب", "كتاب"],
  ])("fold: %s", (_, one, other) => {
    expect(show(one)).toBe(show(other));
  });

  test.each<[text: string, expected: string]>([
    ["10² bytes", "10@0 2@1 bytes@2"],
    ["in 10²³ ways", "in@0 10@1 23@2 ways@3"],
    ["1½", "1@0 1@1 2@2"],
    ["x10²y", "x10@0 2y@1"],
    ["²10", "2@0 10@1"],
    ["10\u0301²", "10@0 2@1"],
    ["١٠²", "١٠@0 2@1"],
    ["H₂O in m², x²", "h2o@0 h2@0 in@1 m2@2 x2@3"],
    ["①②", "12@0"],
    ["１０", "10@0"],
  ])("of a number end where other digits begin, which are an exponent and no more of it: %s", (text, expected) => {
    expect(show(text)).toBe(expected);
    expect(show(text, "english")).toBe(expected.replace("bytes", "byte").replace("ways", "way"));
  });

  test("keep the marks that make another letter: Hindi vowels, Japanese sound marks", () => {
    expect(show("की")).not.toBe(show("का"));
    expect(show("ばか")).not.toBe(show("はか"));
  });

  test("of a word that English borrowed fold before its stem is taken", () => {
    expect(show("résumé", "english")).toBe(show("resume", "english"));
  });
});

describe("scripts without spaces", () => {
  test("become pairs of letters that overlap; a lone letter stays alone", () => {
    expect(show("中文字。中 日本語テスト")).toBe("中文@0 文字@1 中@2 日本@3 本語@4 語テ@5 テス@6 スト@7");
    expect(spans("中文字")).toEqual(["中文", "文字"]);
    expect(show("\u{2000b}\u{2000c}")).toBe("\u{2000b}\u{2000c}@0");
  });

  test("do not swallow the word of another script that stands beside them", () => {
    expect(show("Holdfast는 v2입니다")).toBe("holdfast@0 는@1 v2@2 입니@3 니다@4");
  });

  test("keep a letter together with its vowels: Thai", () => {
    expect(spans("กินข้าว")).toEqual(["กิน", "นข้", "ข้า", "าว"]);
  });
});

describe("offsets", () => {
  test("are those of the text as it was given", () => {
    expect(spans("a🙂 Café\u0301s ﬁle", "english")).toEqual(["a", "Café\u0301s", "ﬁle"]);
    expect(spans("xfooBar")).toEqual(["xfooBar", "xfoo", "Bar"]);
  });

  test("of a character that becomes several words are those of the character", () => {
    expect(tokenise("½", "none")).toEqual([
      { term: "1", start: 0, end: 1, position: 0 },
      { term: "2", start: 0, end: 1, position: 1 },
    ]);
  });

  test("of any text lie in it and in order, and positions leave none out", () => {
    const anyText = fc.string({
      unit: fc.oneof(fc.string({ unit: "binary", maxLength: 2 }), fc.constantFrom(...PIECES)),
    });
    fc.assert(
      fc.property(anyText, fc.constantFrom(...TEXT_LANGUAGES), (text, language) => {
        let position = -1;
        let start = 0;
        for (const token of tokenise(text, language)) {
          expect(token.term).not.toBe("");
          expect(token.term.length).toBeLessThanOrEqual(TERM_LENGTH_MAX);
          expect(token.start).toBeLessThan(token.end);
          expect(token.end).toBeLessThanOrEqual(text.length);
          if (token.position !== position) {
            expect(token.position).toBe(position + 1);
            expect(token.start).toBeGreaterThanOrEqual(start);
            position = token.position;
            start = token.start;
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test("and terms are the same whatever was tokenised before", () => {
    const text = "Running fooBar naïve größe 中文 don't";
    const first = tokenise(text, "english");
    tokenise(
      Array.from(
        { length: 40_000 },
        (_, n) => `word${String.fromCharCode(97 + (n % 26))}${n.toString(36).replace(/\d/g, "q")}`,
      ).join(" "),
      "english",
    );
    expect(tokenise(text, "english")).toEqual(first);
  });
});

const PIECES = [
  "a",
  "B",
  "é",
  "'",
  "’s",
  "ß",
  "中",
  "ก",
  "ิ",
  "ﾞ",
  "½",
  "ﷺ",
  "\u0301",
  "\ud800",
  "\udc00",
  "\0",
  "7",
  "_",
  " ",
  "🙂",
];

describe("hostile texts", () => {
  test("words of more than 64 code units are cut, in texts and in queries alike, and never in the middle of a character", () => {
    const [ascii] = tokenise("x".repeat(100), "english");
    expect(ascii).toEqual({ term: "x".repeat(64), start: 0, end: 100, position: 0 });
    const [astral] = tokenise(`x${"\u{10400}".repeat(100)}`, "none");
    expect(astral?.term).toBe(`x${"\u{10428}".repeat(31)}`);
    expect(tokenise("ß".repeat(64), "german")[0]?.term).toBe("s".repeat(64));
  });

  test.each<[name: string, text: string, count: number]>([
    ["ten million times one letter", "a".repeat(10_000_000), 1],
    ["a million combining marks", `e${"\u0301\u0327".repeat(500_000)}`, 1],
    ["a million combining marks on an ideograph", `中${"\u0301\u0327".repeat(500_000)}`, 1],
    ["a million marks without a letter", "\u0301".repeat(1_000_000), 0],
    ["a million vowels of one Hangul syllable", `\u1100${"\u1161".repeat(1_000_000)}`, 1],
    ["a million lone surrogates", "\ud800".repeat(1_000_000), 0],
    ["a million NULs", "\0".repeat(1_000_000), 0],
    ["a million changes of case", "aB".repeat(1_000_000), 1],
    ["a million apostrophes", "a'".repeat(500_000), 500_000],
    ["a million accented letters", "é".repeat(1_000_000), 1],
    ["a million halves of pairs", "x\udc00".repeat(500_000), 500_000],
  ])("neither stop it nor make it slow: %s", (_, text, count) => {
    const whole = tokenise(text, "english").filter(({ position }, index, all) => position !== all[index - 1]?.position);
    expect(whole).toHaveLength(count);
  });
});

test("a change of what any of these gives needs a new version", () => {
  expect(TOKENISER_VERSION).toBe(3);
});
