// Walks over the tokens of a query: looks ahead, takes what must come, and says in the error what was expected. It also
// bounds how deep the parser nests.
import type { HoldfastError } from "../../../contracts/errors.ts";
import { didYouMean } from "../../../core/distance.ts";
import { cypherError, unsupported } from "../errors.ts";
import { CYPHER_LIMITS, exceedsLimitAt } from "../limits.ts";
import type { Expression, Query } from "./ast.ts";
import { readTokens, type Token } from "./lexer.ts";

/** Expressions contain patterns and subqueries, which contain expressions: each parser gets the others from the reader. */
export interface NestedParsers {
  readonly expression: (reader: TokenReader) => Expression;
  /** What SET and REMOVE change: a variable or a property of something. */
  readonly target: (reader: TokenReader) => Expression;
  /** What follows EXISTS or COUNT, with its braces. */
  readonly subquery: (reader: TokenReader) => Query;
}

export class TokenReader {
  readonly source: string;
  readonly #parsers: NestedParsers;
  readonly #tokens: readonly Token[];
  /** For every opening bracket, the index of its closing one. */
  readonly #closing: ReadonlyMap<number, number>;
  #index = 0;
  #depth = 0;

  constructor(source: string, parsers: NestedParsers) {
    this.source = source;
    this.#parsers = parsers;
    this.#tokens = readTokens(source);
    this.#closing = matchBrackets(this.#tokens);
  }

  expression(): Expression {
    return this.#parsers.expression(this);
  }

  target(): Expression {
    return this.#parsers.target(this);
  }

  subquery(): Query {
    return this.#parsers.subquery(this);
  }

  /** The token `ahead` places after the next one; at the end, the end token. */
  peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#index + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new Error("bug: a query without an end token");
    return token;
  }

  get index(): number {
    return this.#index;
  }

  /** Where the last token that was read ends. */
  get end(): number {
    return this.#tokens[this.#index - 1]?.end ?? 0;
  }

  /** Goes back to, or on to, a token that was parsed before. */
  moveTo(index: number): void {
    this.#index = index;
  }

  next(): Token {
    const token = this.peek();
    this.#index++;
    return token;
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "symbol" && token.text === symbol;
  }

  isKeyword(keyword: string, ahead = 0): boolean {
    return this.peek(ahead).upper === keyword;
  }

  /** How many tokens ahead the bracket closes that is `ahead` tokens ahead; undefined if it does not. */
  closingOf(ahead: number): number | undefined {
    const closing = this.#closing.get(this.#index + ahead);
    return closing === undefined ? undefined : closing - this.#index;
  }

  takeSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.#index++;
    return true;
  }

  takeKeyword(keyword: string): boolean {
    if (!this.isKeyword(keyword)) return false;
    this.#index++;
    return true;
  }

  expectSymbol(symbol: string): Token {
    if (!this.isSymbol(symbol)) throw this.unexpected([`"${symbol}"`]);
    return this.next();
  }

  expectKeyword(keyword: string): Token {
    if (!this.isKeyword(keyword)) throw this.unexpected([keyword]);
    return this.next();
  }

  /** A label, type, property key or alias: any name, reserved words too. */
  expectName(what: string): string {
    const { kind, text } = this.peek();
    if (kind !== "name" && kind !== "quotedName") throw this.unexpected([what]);
    this.#index++;
    return text;
  }

  /** `detail` is that of the language for this mistake. */
  unexpected(expected: readonly string[], detail = "UnexpectedSyntax"): HoldfastError {
    const token = this.peek();
    const shown =
      token.kind === "end" ? "the end of the query" : JSON.stringify(this.source.slice(token.offset, token.end));
    return cypherError(this.source, token.offset, {
      kind: "SyntaxError",
      phase: "compile time",
      detail: token.kind === "badNumber" && detail === "InvalidNumberLiteral" ? "InvalidNumberLiteral" : detail,
      message: `${shown} is not expected here; expected ${expected.join(" or ")}${suggestKeyword(token)}`,
      expected,
    });
  }

  unsupported(offset: number, part: string): HoldfastError {
    return unsupported(this.source, offset, part);
  }

  /** Runs a parser one level deeper. */
  nest<T>(parse: () => T): T {
    if (++this.#depth > CYPHER_LIMITS.cypherDepth) {
      throw exceedsLimitAt(this.source, this.peek().offset, "cypherDepth", "the query is nested too deeply");
    }
    const result = parse();
    this.#depth--;
    return result;
  }
}

/** Clauses, and words inside them, that are often misspelt. */
const KEYWORDS =
  "MATCH OPTIONAL UNWIND WITH RETURN CREATE MERGE SET REMOVE DELETE DETACH WHERE ORDER LIMIT SKIP UNION".split(" ");

function suggestKeyword({ upper }: Token): string {
  return upper.length < 3 || KEYWORDS.includes(upper) ? "" : didYouMean(upper, KEYWORDS);
}

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

function matchBrackets(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closing = new Map<number, number>();
  const open: { index: number; closes: string }[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== "symbol") continue;
    const closes = CLOSING[text];
    if (closes !== undefined) open.push({ index, closes });
    else if (open.at(-1)?.closes === text) {
      const opened = open.pop();
      if (opened !== undefined) closing.set(opened.index, index);
    }
  }
  return closing;
}
