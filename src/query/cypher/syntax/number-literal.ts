// Reads numbers: decimal, hexadecimal and octal integers as bigint, so that all 64 bits are exact, and floats.
import { syntaxError } from "../errors.ts";

/** 2^63 is allowed here, because a minus may stand before it; the parser refuses it elsewhere. */
const INTEGER_MAX = 2n ** 63n;

const RADIX = /0[xX][0-9a-zA-Z_]*|0[oO][0-9a-zA-Z_]*/y;
/** A dot is a part of the number only before a digit: `1..2` is a range. */
const DECIMAL = /(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const NAME_CHARACTER = /[\p{ID_Continue}]/u;

/** `isBad`: letters follow that do not belong to the number; the parser says so where a number may stand. */
interface NumberLiteral {
  readonly value: bigint | number;
  readonly end: number;
  readonly isBad: boolean;
}

export function readNumber(source: string, offset: number): NumberLiteral {
  RADIX.lastIndex = offset;
  const radix = RADIX.exec(source)?.[0];
  if (radix !== undefined) return readRadix(source, offset, radix);
  DECIMAL.lastIndex = offset;
  const text = DECIMAL.exec(source)?.[0] ?? "";
  const end = offset + text.length;
  if (NAME_CHARACTER.test(source[end] ?? " ")) return { value: 0n, end, isBad: true };
  if (!/^[0-9]+$/.test(text)) {
    const value = Number(text);
    if (Number.isFinite(value)) return { value, end, isBad: false };
    throw syntaxError(source, offset, "FloatingPointOverflow", "the number is too large for a float");
  }
  // Leading zeros are an old notation for octal numbers elsewhere; here they say nothing.
  const value = text.length > 1000 ? INTEGER_MAX + 1n : BigInt(text);
  return { value: checkRange(source, offset, value), end, isBad: false };
}

function readRadix(source: string, offset: number, text: string): NumberLiteral {
  const digits = /^0[xX]/.test(text) ? /^0[xX][0-9a-fA-F]+$/ : /^0[oO][0-7]+$/;
  if (!digits.test(text)) return { value: 0n, end: offset + text.length, isBad: true };
  const value = text.length > 1000 ? INTEGER_MAX + 1n : BigInt(text.toLowerCase());
  return { value: checkRange(source, offset, value), end: offset + text.length, isBad: false };
}

function checkRange(source: string, offset: number, value: bigint): bigint {
  if (value <= INTEGER_MAX) return value;
  throw syntaxError(source, offset, "IntegerOverflow", "the integer does not fit into 64 bits");
}
