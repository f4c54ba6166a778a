// Parses operators, from the loosest (OR) to the tightest (property access). Atoms are in parse-atom.ts.
import type {
  ArithmeticOperator,
  ComparisonOperator,
  Expression,
  LogicalExpression,
  PredicateOperator,
} from "./ast.ts";
import { parseAtom } from "./parse-atom.ts";
import { parseLabels } from "./parse-names.ts";
import type { TokenReader } from "./token-reader.ts";

export function parseExpression(reader: TokenReader): Expression {
  return reader.nest(() => parseLogical(reader, 0));
}

const LOGICAL: readonly LogicalExpression["operator"][] = ["OR", "XOR", "AND"];

function parseLogical(reader: TokenReader, level: number): Expression {
  const operator = LOGICAL[level];
  if (operator === undefined) return parseNot(reader);
  const first = parseLogical(reader, level + 1);
  const operands = [first];
  while (reader.takeKeyword(operator)) operands.push(parseLogical(reader, level + 1));
  return operands.length === 1 ? first : { kind: "logical", operator, operands, at: first.at, end: reader.end };
}

function parseNot(reader: TokenReader): Expression {
  const at = reader.peek().offset;
  if (!reader.isKeyword("NOT")) return parseComparison(reader);
  reader.next();
  const operand = reader.nest(() => parseNot(reader));
  return { kind: "unary", operator: "NOT", operand, at, end: reader.end };
}

const COMPARISONS: readonly ComparisonOperator[] = ["=", "<>", "<=", ">=", "<", ">"];

function parseComparison(reader: TokenReader): Expression {
  const first = parsePredicate(reader);
  const rest: { operator: ComparisonOperator; operand: Expression }[] = [];
  for (;;) {
    const operator = COMPARISONS.find((one) => reader.isSymbol(one));
    if (operator === undefined) break;
    reader.next();
    rest.push({ operator, operand: parsePredicate(reader) });
  }
  return rest.length === 0 ? first : { kind: "comparison", first, rest, at: first.at, end: reader.end };
}

/** IN, STARTS WITH, IS NULL, :Label and the like. */
function parsePredicate(reader: TokenReader): Expression {
  let left = parseSum(reader);
  for (;;) {
    const { at } = left;
    if (reader.takeKeyword("IS")) {
      const isNegated = reader.takeKeyword("NOT");
      reader.expectKeyword("NULL");
      left = { kind: "isNull", operand: left, isNegated, at, end: reader.end };
      continue;
    }
    if (reader.isSymbol(":")) {
      left = { kind: "hasLabels", object: left, labels: parseLabels(reader), at, end: reader.end };
      continue;
    }
    const operator = takePredicateOperator(reader);
    if (operator === undefined) return left;
    left = { kind: "predicate", operator, left, right: parseSum(reader), at, end: reader.end };
  }
}

function takePredicateOperator(reader: TokenReader): PredicateOperator | undefined {
  if (reader.takeKeyword("IN")) return "IN";
  if (reader.takeKeyword("CONTAINS")) return "CONTAINS";
  if (reader.takeSymbol("=~")) return "=~";
  for (const word of ["STARTS", "ENDS"] as const) {
    if (!reader.takeKeyword(word)) continue;
    reader.expectKeyword("WITH");
    return `${word} WITH`;
  }
  return undefined;
}

const SUM: readonly ArithmeticOperator[] = ["+", "-"];
const PRODUCT: readonly ArithmeticOperator[] = ["*", "/", "%"];
const POWER: readonly ArithmeticOperator[] = ["^"];

function parseSum(reader: TokenReader): Expression {
  return parseChain(reader, SUM, parseProduct);
}

function parseProduct(reader: TokenReader): Expression {
  return parseChain(reader, PRODUCT, parsePower);
}

function parsePower(reader: TokenReader): Expression {
  return parseChain(reader, POWER, parseSign);
}

function parseChain(
  reader: TokenReader,
  operators: readonly ArithmeticOperator[],
  parseOperand: (reader: TokenReader) => Expression,
): Expression {
  const first = parseOperand(reader);
  const rest: { operator: ArithmeticOperator; operand: Expression }[] = [];
  for (;;) {
    const operator = operators.find((one) => reader.isSymbol(one));
    if (operator === undefined) break;
    reader.next();
    rest.push({ operator, operand: parseOperand(reader) });
  }
  return rest.length === 0 ? first : { kind: "arithmetic", first, rest, at: first.at, end: reader.end };
}

/** The smallest integer has no positive counterpart, so the sign belongs to the number. */
function parseSign(reader: TokenReader): Expression {
  const at = reader.peek().offset;
  const operator = reader.isSymbol("-") ? "-" : reader.isSymbol("+") ? "+" : undefined;
  if (operator === undefined) return parseOperand(reader);
  reader.next();
  const number = reader.peek();
  if (operator === "-" && (number.kind === "integer" || number.kind === "float")) {
    const atom = parseAtom(reader, true);
    if (atom.kind === "literal" && (typeof atom.value === "bigint" || typeof atom.value === "number")) {
      return parsePostfix(reader, { kind: "literal", value: -atom.value, at, end: reader.end });
    }
  }
  const operand = reader.nest(() => parseSign(reader));
  return { kind: "unary", operator, operand, at, end: reader.end };
}

/** An atom with its properties and indexes, and no operators. */
export function parseOperand(reader: TokenReader): Expression {
  return parsePostfix(reader, parseAtom(reader, false));
}

function parsePostfix(reader: TokenReader, atom: Expression): Expression {
  let object = atom;
  const { at } = atom;
  for (;;) {
    if (reader.takeSymbol(".")) {
      const key = reader.expectName("a property key");
      object = { kind: "property", object, key, at, end: reader.end };
    } else if (reader.takeSymbol("[")) {
      const accessed = parseBrackets(reader, object);
      object = { ...accessed, at, end: reader.end };
    } else return object;
  }
}

function parseBrackets(reader: TokenReader, object: Expression): Expression {
  const { at } = object;
  const from = reader.isSymbol("..") ? undefined : parseExpression(reader);
  if (reader.takeSymbol("..")) {
    const to = reader.isSymbol("]") ? undefined : parseExpression(reader);
    reader.expectSymbol("]");
    return { kind: "slice", object, from, to, at, end: reader.end };
  }
  reader.expectSymbol("]");
  if (from === undefined) throw reader.unexpected(["an index"]);
  return { kind: "index", object, index: from, at, end: reader.end };
}
