// Text on a terminal: nothing the store holds can steer it, and widths are what a terminal shows.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { displayWidth, safe, safeLine, safeText, truncate, wrap } from "./terminal.ts";

describe("safe text", () => {
  test.each([
    ["\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"],
    ["\x1b]0;title\x07", "\\x1b]0;title\\x07"],
    ["\x9b2J", "\\x9b2J"],
    ["back\bspace\x7f", "back\\x08space\\x7f"],
    ["a\u202eb", "a\\u{202e}b"],
    ["a\ud800b", "a\\u{d800}b"],
    ["over\rwritten", "over\\rwritten"],
    ["tag\u{e0041}", "tag\\u{e0041}"],
  ])("escapes %j", (text, shown) => {
    expect(safeText(text)).toBe(shown);
    expect(safeLine(text)).toBe(shown);
  });

  test("keeps line breaks and tabs in texts, escapes them in lines", () => {
    expect(safeText("a\r\nb\n\tc")).toBe("a\nb\n\tc");
    expect(safeLine("a\nb\tc")).toBe("a\\nb\\tc");
  });

  test("keeps ordinary writing of any script", () => {
    const text = "Grüße, 你好, नमस्ते, مرحبا, 👩‍👩‍👧 ✓";
    expect(safeText(text)).toBe(text);
  });

  test("escapes the values of a template, not its words", () => {
    expect(safe`a\n${"b\n"}${3}`).toBe("a\nb\\n3");
  });

  test("never lets a control character through", () => {
    const noControls = (text: string) => !/\p{Cc}/u.test(text.replaceAll("\n", "").replaceAll("\t", ""));
    const codes = fc.array(fc.oneof(fc.nat(0xff), fc.nat(0x10ffff)));
    fc.assert(fc.property(codes, (given) => noControls(safeText(String.fromCodePoint(...given)))));
  });
});

describe("widths", () => {
  test.each([
    ["abc", 3],
    ["你好", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["…", 1],
  ])("of %s is %i", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });

  test("truncate cuts to columns and says so", () => {
    expect(truncate("hello world", 8)).toBe("hello w…");
    expect(truncate("hello", 5)).toBe("hello");
    expect(truncate("你好世界", 5)).toBe("你好…");
    expect(truncate("hello", Number.POSITIVE_INFINITY)).toBe("hello");
  });

  test("wrap breaks between words, and inside only those that are too long", () => {
    expect(wrap("one two three\nfour", 8)).toEqual(["one two", "three", "four"]);
    expect(wrap("abcdefghij kl", 4)).toEqual(["abcd", "efgh", "ij", "kl"]);
    expect(wrap("", 10)).toEqual([""]);
  });

  test("wrap loses nothing but spaces, and no line is too wide", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", " ", "\n", "你", "e\u0301"), maxLength: 80 });
    const squeezed = (lines: readonly string[]) => lines.join("").replaceAll(/\s/g, "");
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 30 }), (given, width) => {
        const lines = wrap(given, width);
        expect(squeezed(lines)).toBe(squeezed([given]));
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});
