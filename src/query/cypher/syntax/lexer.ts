// Cuts a query into tokens. Keywords are plain names here: Cypher allows most of them as names, so the parser decides.
import { cypherError, syntaxError } from "../errors.ts";
import { CYPHER_LIMITS, exceedsLimit, exceedsLimitAt } from "../limits.ts";
import { readNumber } from "./number-literal.ts";
import { readQuotedName, readString } from "./string-literal.ts";

type TokenKind = "name" | "quotedName" | "string" | "integer" | "float" | "parameter" | "symbol" | "badNumber" | "end";

export interface Token {
  readonly kind: TokenKind;
  /** The text of a name without quotes, the content of a string, a symbol, the name of a parameter. */
  readonly text: string;
  /** Of a name: in upper case, to compare with keywords. */
  readonly upper: string;
  readonly number: bigint | number;
  readonly offset: number;
  readonly end: number;
}

/** The longest are first. `..` must be read before numbers, so that `1..2` is a range. */
const SYMBOLS = ["..", "<>", "<=", ">=", "+=", "=~", ..."()[]{},.:;|+-*/%^=<>"];
const NAME = /[\p{ID_Start}_][\p{ID_Continue}]*/uy;
const SPACE = /(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)+/y;
const DIGIT = /[0-9]/;

export function readTokens(source: string): readonly Token[] {
  const { cypherChars } = CYPHER_LIMITS;
  if (source.length > cypherChars) {
    throw exceedsLimit("cypherChars", cypherChars, source.length, `the query has ${source.length} characters`);
  }
  if (!source.isWellFormed()) {
    const offset = source
      .toWellFormed()
      .split("")
      .findIndex((unit, index) => unit !== source[index]);
    throw syntaxError(source, offset, "InvalidUnicodeCharacter", "the query has half of a surrogate pair");
  }
  const tokens: Token[] = [];
  let offset = skipSpace(source, 0);
  while (offset < source.length) {
    const token = readToken(source, offset);
    if (tokens.length >= CYPHER_LIMITS.cypherTokens) {
      throw exceedsLimitAt(source, offset, "cypherTokens", "the query has too many tokens");
    }
    tokens.push(token);
    offset = skipSpace(source, token.end);
  }
  tokens.push(makeToken("end", "", offset, offset));
  return tokens;
}

function skipSpace(source: string, offset: number): number {
  SPACE.lastIndex = offset;
  const match = SPACE.exec(source);
  const end = match === null ? offset : offset + match[0].length;
  if (source.startsWith("/*", end)) throw syntaxError(source, end, "UnexpectedSyntax", "the comment has no end");
  return end;
}

function makeToken(kind: TokenKind, text: string, offset: number, end: number, number: bigint | number = 0): Token {
  // Keywords are ASCII; other letters may become ASCII in upper case.
  const upper = kind === "name" && /^[A-Za-z]+$/.test(text) ? text.toUpperCase() : "";
  return { kind, text, upper, number, offset, end };
}

function readToken(source: string, offset: number): Token {
  const first = source[offset] ?? "";
  if (first === "'" || first === '"') {
    const { text, end } = readString(source, offset);
    return makeToken("string", text, offset, end);
  }
  if (first === "`") {
    const { text, end } = readQuotedName(source, offset);
    return makeToken("quotedName", text, offset, end);
  }
  if (first === "$") return readParameter(source, offset);
  const next = source[offset + 1] ?? "";
  if (DIGIT.test(first) || (first === "." && DIGIT.test(next))) {
    const { value, end, isBad } = readNumber(source, offset);
    if (isBad) return makeToken("badNumber", source.slice(offset, end), offset, end);
    return makeToken(typeof value === "bigint" ? "integer" : "float", source.slice(offset, end), offset, end, value);
  }
  const name = readName(source, offset);
  if (name !== undefined) return makeToken("name", name, offset, offset + name.length);
  const symbol = SYMBOLS.find((one) => source.startsWith(one, offset));
  if (symbol !== undefined) return makeToken("symbol", symbol, offset, offset + symbol.length);
  throw unexpectedCharacter(source, offset);
}

function readName(source: string, offset: number): string | undefined {
  NAME.lastIndex = offset;
  return NAME.exec(source)?.[0];
}

function readParameter(source: string, offset: number): Token {
  if (source[offset + 1] === "`") {
    const { text, end } = readQuotedName(source, offset + 1);
    return makeToken("parameter", text, offset, end);
  }
  const name = readName(source, offset + 1) ?? /^[0-9]+/.exec(source.slice(offset + 1, offset + 20))?.[0];
  if (name === undefined) throw syntaxError(source, offset, "UnexpectedSyntax", "$ needs the name of a parameter");
  return makeToken("parameter", name, offset, offset + 1 + name.length);
}

/** What is written so in other languages. */
const ASCII_HINTS: Readonly<Record<string, string>> = {
  "!": "not equal is <>, and not is NOT",
  "&": "and is AND",
  "#": "comments begin with //",
  "@": "parameters begin with $",
};

function unexpectedCharacter(source: string, offset: number): Error {
  const character = String.fromCodePoint(source.codePointAt(offset) ?? 0);
  const isAscii = character < "\u0080";
  const hint = isAscii
    ? ASCII_HINTS[character]
    : "write names with such characters in backticks, and operators in ASCII";
  return cypherError(source, offset, {
    kind: "SyntaxError",
    phase: "compile time",
    detail: isAscii ? "UnexpectedSyntax" : "InvalidUnicodeCharacter",
    message: `${JSON.stringify(character)} is not allowed here`,
    ...(hint === undefined ? {} : { hint }),
  });
}
