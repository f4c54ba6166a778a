// The errors of Cypher queries. Each names its kind, the phase in which it is found and a detail, as the language defines
// them, and the place in the query with an excerpt, so that a caller sees what to change.
import { HoldfastError } from "../../contracts/errors.ts";

export type CypherErrorKind =
  | "SyntaxError"
  | "SemanticError"
  | "TypeError"
  | "ArgumentError"
  | "ArithmeticError"
  | "EntityNotFound"
  | "ConstraintVerificationFailed"
  | "ParameterMissing"
  | "Unsupported";

type CypherPhase = "compile time" | "runtime";

/** Line and column from 1, the offset from 0, all in UTF-16 units; the excerpt is the line around the place. */
export interface QueryPlace {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
  readonly excerpt: string;
}

const EXCERPT_BEFORE = 30;
const EXCERPT_AFTER = 40;

export function describePlace(source: string, offset: number): QueryPlace {
  const before = source.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const newline = source.indexOf("\n", offset);
  const lineEnd = newline < 0 ? source.length : newline;
  const from = Math.max(lineStart, offset - EXCERPT_BEFORE);
  const to = Math.min(lineEnd, offset + EXCERPT_AFTER);
  return {
    line: before.split("\n").length,
    column: offset - lineStart + 1,
    offset,
    excerpt: source.slice(from, to).toWellFormed().trimEnd(),
  };
}

export interface CypherErrorFacts {
  readonly kind: CypherErrorKind;
  readonly phase: CypherPhase;
  readonly detail: string;
  readonly message: string;
  /** What the parser expected at the place. */
  readonly expected?: readonly string[];
  readonly hint?: string;
}

/** A mistake in a query, or one that its execution found. */
export function cypherError(source: string, offset: number | undefined, facts: CypherErrorFacts): HoldfastError {
  const { kind, phase, detail, message, expected, hint } = facts;
  const place = offset === undefined ? undefined : describePlace(source, offset);
  const shown = place === undefined ? "" : ` (at ${place.line}:${place.column}, near ${JSON.stringify(place.excerpt)})`;
  return new HoldfastError("InvalidQuery", `${message}${shown}`, {
    details: { kind, phase, detail, ...(expected === undefined ? {} : { expected }), ...place },
    ...(hint === undefined ? {} : { hint }),
  });
}

export function syntaxError(source: string, offset: number, detail: string, message: string): HoldfastError {
  return cypherError(source, offset, { kind: "SyntaxError", phase: "compile time", detail, message });
}

/** Valid Cypher that this subset does not have. `part` names it: "CALL", "temporal types". */
export function unsupported(source: string, offset: number, part: string): HoldfastError {
  const place = describePlace(source, offset);
  return new HoldfastError(
    "InvalidQuery",
    `${part} is not supported (at ${place.line}:${place.column}, near ${JSON.stringify(place.excerpt)})`,
    { details: { kind: "Unsupported", phase: "compile time", detail: "Unsupported", part, ...place } },
  );
}

/** An error of evaluation, where no place is known; the evaluator of the expression adds it with `placeError`. */
export class EvaluationError extends Error {
  readonly kind: CypherErrorKind;
  readonly detail: string;

  constructor(kind: CypherErrorKind, detail: string, message: string) {
    super(message);
    this.kind = kind;
    this.detail = detail;
  }
}

/** Gives an error of evaluation the place of the expression that failed. Other errors stay as they are. */
export function placeError(error: unknown, source: string, offset: number | undefined): unknown {
  if (!(error instanceof EvaluationError)) return error;
  return cypherError(source, offset, {
    kind: error.kind,
    phase: "runtime",
    detail: error.detail,
    message: error.message,
  });
}
