// Pages of codes: what is written is read again, and bytes that are no page are refused with a typed error.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sampleVectors } from "../../../test/vectors/samples.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { VectorCoder } from "./code.ts";
import { appendCode, createPage, decodePage, encodePage, PAGE_SLOTS, readSlot, removeSlot } from "./pages.ts";

const DIMENSION = 100;
const coder = new VectorCoder(1, DIMENSION);
const nextVector = sampleVectors("uniform", DIMENSION, 2);
const CODES = Array.from({ length: 50 }, () => coder.encode(nextVector()));

function codeOf(row: number) {
  const code = CODES[row % CODES.length];
  if (code === undefined) throw new Error("bug: no code");
  return code;
}

function filledPage(rows: number) {
  const page = createPage(coder.codeBytes);
  for (let row = 1; row <= rows; row++) appendCode(page, row, codeOf(row));
  return page;
}

test("a page gives back what was appended, after any appends and removals and after its bytes were read again", () => {
  const change = fc.oneof(
    fc.record({ append: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) }),
    fc.record({ remove: fc.nat(40) }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), (changes) => {
      const page = createPage(coder.codeBytes);
      const expected = new Map<number, number>();
      for (const one of changes) {
        if ("append" in one) {
          const slot = appendCode(page, one.append, codeOf(one.append)) ?? -1;
          expect(expected.has(slot)).toBe(false);
          expected.set(slot, one.append);
        } else {
          if (one.remove < page.usedSlots) removeSlot(page, one.remove);
          expected.delete(one.remove);
        }
      }
      const copy = decodePage(encodePage(page), coder.codeBytes, "page 1");
      expect(copy).toEqual(page);
      for (let slot = 0; slot < 90; slot++) {
        const row = expected.get(slot);
        expect(readSlot(copy, slot)).toEqual(row === undefined ? null : { row, ...codeOf(row) });
      }
    }),
  );
});

test("a full page takes no more, until a slot is removed", () => {
  const page = filledPage(PAGE_SLOTS);
  expect(appendCode(page, 5000, codeOf(1))).toBeNull();
  removeSlot(page, 700);
  expect(appendCode(page, 5000, codeOf(1))).toBe(700);
  expect(decodePage(encodePage(page), coder.codeBytes, "page 1")).toEqual(page);
});

test("nothing of a removed vector stays in the bytes", () => {
  const page = filledPage(3);
  removeSlot(page, 1);
  const bytes = encodePage(page);
  const other = filledPage(3);
  removeSlot(other, 1);
  appendCode(other, 77, codeOf(30));
  removeSlot(other, 1);
  expect(encodePage(other)).toEqual(bytes);
  for (const slot of [0, 1, 2]) removeSlot(page, slot);
  expect(encodePage(page)).toEqual(encodePage(createPage(coder.codeBytes)));
});

describe("bytes that are no page", () => {
  const bytes = encodePage(filledPage(20));
  const changed = (at: number, ...values: readonly number[]) => {
    const copy = bytes.slice();
    copy.set(values, at);
    return copy;
  };

  test.each([
    ["empty", new Uint8Array()],
    ["cut in the header", bytes.subarray(0, 15)],
    ["cut in the rows", bytes.subarray(0, 100)],
    ["one byte short", bytes.subarray(0, -1)],
    ["one byte long", new Uint8Array([...bytes, 0])],
    ["of another kind", changed(0, 0x49)],
    ["of version 0", changed(4, 0)],
    ["with one bit a coordinate", changed(5, 1)],
    ["with more slots than a page has", changed(6, 0xff, 0xff)],
    ["with fewer slots than bytes", changed(6, 1)],
    ["with codes of another length", changed(8, 16)],
    ["with a negative row number", changed(16 + 7, 0xbf)],
    ["with a row number that is NaN", changed(16 + 6, 0xf8, 0x7f)],
    ["with a scale that is NaN", changed(16 + 20 * 8, 0, 0, 0xc0, 0x7f)],
    ["with an infinite norm", changed(16 + 20 * 12, 0, 0, 0x80, 0x7f)],
    ["with a negative norm", changed(16 + 20 * 12 + 3, 0xbf)],
  ])("are StoreCorrupted: %s", (_, damaged) => {
    expect(() => decodePage(damaged, coder.codeBytes, "page 1 of notes")).toThrow(
      expect.objectContaining({ code: "StoreCorrupted", details: { what: "page 1 of notes" } }),
    );
  });

  test("of a later version are UnsupportedSchemaVersion", () => {
    expect(() => decodePage(changed(4, 2), coder.codeBytes, "page 1")).toThrow(
      expect.objectContaining({ code: "UnsupportedSchemaVersion" }),
    );
  });

  test("never give anything but a page or a typed error, however they are damaged", () => {
    const damage = fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(damage, fc.nat(bytes.length), (changes, length) => {
        for (const cut of [bytes.slice(), bytes.slice(0, length)]) {
          for (const [at, value] of changes) if (at < cut.length) cut[at] = value;
          try {
            const page = decodePage(cut, coder.codeBytes, "page 1");
            expect(encodePage(page)).toHaveLength(cut.length);
          } catch (error) {
            if (!(error instanceof HoldfastError)) throw error;
          }
        }
      }),
    );
  });
});
