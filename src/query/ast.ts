// The tree of a parsed query: what a compiler to SQL walks. Variables are plain names (`?x`) that hold within one body;
// clauses stand in an order in which each one's `needs` are bound before it, and say what they bind themselves.
import type { SourcePosition } from "./form.ts";

/** What a fact's value can be compared with. Keywords keep their colon, instants are epoch milliseconds. There is no nil:
 * what is not known is no fact. */
export type Constant =
  | { readonly type: "string" | "keyword" | "uuid"; readonly value: string }
  | { readonly type: "number" | "inst"; readonly value: number }
  | { readonly type: "boolean"; readonly value: boolean };

interface PlacedNode {
  readonly at: SourcePosition | undefined;
}

/** `:session/id`; never a reverse one (`:message/_session`) outside a pull. */
export interface Attribute extends PlacedNode {
  readonly name: string;
}

export interface Variable extends PlacedNode {
  readonly kind: "variable";
  readonly name: string;
}

/** `_`: anything, and never the same as another `_`. */
export interface Blank extends PlacedNode {
  readonly kind: "blank";
}

interface Literal extends PlacedNode {
  readonly kind: "constant";
  readonly value: Constant;
}

/** `[:session/id "x"]`: the entity with that value of a unique attribute. */
export interface Lookup extends PlacedNode {
  readonly kind: "lookup";
  readonly attribute: Attribute;
  readonly value: Constant;
}

export type Term = Variable | Blank | Literal | Lookup;
/** What a predicate or function is given. */
export type Argument = Variable | Literal;
/** Which entity `get-else` and `missing?` ask about. */
export type EntityTerm = Variable | Literal | Lookup;

/** What every clause says about variables: `needs` must be bound before it, `binds` are bound after it. A variable that
 * is bound already when it is bound again must be equal. Both are without repetition; they overlap only when a function
 * gives its own argument (`[(+ ?a 1) ?a]`). */
interface Flow extends PlacedNode {
  readonly needs: readonly string[];
  readonly binds: readonly string[];
}

/** `[?e :attr ?v]`. `[?e :attr]` has a blank value. It needs nothing. */
export interface Pattern extends Flow {
  readonly kind: "pattern";
  readonly entity: Term;
  readonly attribute: Attribute;
  readonly value: Term;
}

export type PredicateName = "<" | "<=" | ">" | ">=" | "=" | "not=" | "starts-with?" | "ends-with?" | "includes?";

/** `[(< ?a ?b)]`. Comparisons take two arguments or more: `<` holds when each is less than the next, `=` when all are
 * equal, `not=` when not all are equal (`!=` is another name of it). The text predicates take two. */
export interface Predicate extends Flow {
  readonly kind: "predicate";
  readonly name: PredicateName;
  readonly args: readonly Argument[];
}

/** `[(missing? $ ?e :attr)]`. */
interface Missing extends Flow {
  readonly kind: "missing";
  readonly entity: EntityTerm;
  readonly attribute: Attribute;
}

/** `-` with one argument negates; `/` never rounds; `mod` has the sign of its divisor; `subs` counts from 0 and its end
 * is exclusive; `count` is the length of a text. */
export type FunctionName = "+" | "-" | "*" | "/" | "mod" | "str" | "subs" | "count" | "lower-case" | "upper-case";

/** `[(+ ?a ?b) ?c]`: every function gives one value. */
export interface FunctionCall extends Flow {
  readonly kind: "function";
  readonly name: FunctionName;
  readonly args: readonly Argument[];
  readonly to: string;
}

/** `[(get-else $ ?e :attr 0) ?v]`. */
export interface GetElse extends Flow {
  readonly kind: "get-else";
  readonly entity: EntityTerm;
  readonly attribute: Attribute;
  readonly otherwise: Constant;
  readonly to: string;
}

/** A table of constants, which is what every binding of data comes to: a scalar is one row of one column, a collection one
 * column, a tuple one row. A column without a variable (`_`) is null. Rows may repeat; they are a set all the same. */
export interface Rows extends PlacedNode {
  readonly shape: "scalar" | "collection" | "tuple" | "relation";
  readonly columns: readonly (string | null)[];
  readonly rows: readonly (readonly Constant[])[];
}

/** `[(ground [1 2 3]) [?x ...]]`. */
interface Ground extends Flow {
  readonly kind: "ground";
  readonly table: Rows;
}

/** `not` and `not-join`: no way to satisfy the body. Only the variables of `join`, all of them bound before, are those of
 * the outside; any other name in the body is another variable, even when it is spelt the same. */
export interface Not extends Flow {
  readonly kind: "not";
  readonly join: readonly string[];
  readonly body: readonly Clause[];
}

/** `or` and `or-join`: the union of the branches, projected to `join`; scoped as in `Not`. `join` is `needs`, then `binds`;
 * every branch binds all of `binds`. */
export interface Or extends Flow {
  readonly kind: "or";
  readonly join: readonly string[];
  readonly branches: readonly (readonly Clause[])[];
}

/** `(rule ?a "b" _)`. It needs the variables in the rule's required places, and binds those in the others. */
export interface RuleCall extends Flow {
  readonly kind: "rule";
  readonly name: string;
  readonly args: readonly Term[];
}

export type Clause = Pattern | Predicate | Missing | FunctionCall | GetElse | Ground | Not | Or | RuleCall;

/** One definition `[(name [?required] ?free) clause ...]`: a scope of its own. The parameters are distinct. */
export interface RuleBranch extends PlacedNode {
  readonly params: readonly string[];
  readonly body: readonly Clause[];
}

/** All definitions of one name: their union. */
export interface Rule {
  readonly name: string;
  readonly arity: number;
  /** How many parameters, the first ones, the author requires to be bound by the caller. */
  readonly required: number;
  /** Those among them that some branch really cannot bind by itself: such a rule is no table, only its calls are. */
  readonly needs: readonly number[];
  readonly branches: readonly RuleBranch[];
  /** Which rules its branches call, each once for each sign. */
  readonly calls: readonly { readonly name: string; readonly negated: boolean }[];
}

/** Rules that call each other in a circle, or one rule. */
export interface Component {
  readonly rules: readonly string[];
  readonly recursive: boolean;
  /** No way through a branch passes more than one call of a rule of this component: what WITH RECURSIVE can do. */
  readonly linear: boolean;
}

interface RuleBook {
  /** In the order of their first definitions, used or not. */
  readonly rules: readonly Rule[];
  /** Of the rules the query reaches; each component comes after those it calls. No negation lies inside one. */
  readonly components: readonly Component[];
}

export type AggregateName = "count" | "count-distinct" | "sum" | "min" | "max" | "avg";

export type FindElement =
  | Variable
  | (PlacedNode & { readonly kind: "aggregate"; readonly name: AggregateName; readonly of: string })
  | (PlacedNode & { readonly kind: "pull"; readonly of: string; readonly pattern: PullPattern });

/**
 * The answer is a set of rows of the elements' variables and those of :with; aggregates group it by the other elements.
 */
export interface Find {
  readonly shape: "relation" | "collection" | "tuple" | "scalar";
  readonly elements: readonly FindElement[];
}

/** By an element of :find (its place), or by a variable of :with, which then is part of the row that is ordered. */
export interface Order extends PlacedNode {
  readonly by: { readonly find: number } | { readonly with: string };
  readonly direction: "asc" | "desc";
}

export interface PullPattern extends PlacedNode {
  /** `*`: every attribute the entity has. */
  readonly wildcard: boolean;
  readonly items: readonly PullItem[];
}

/** What to follow a reference with: its id only, a pattern, or the pattern this item stands in, again. */
export type PullNested =
  | { readonly kind: "none" }
  | { readonly kind: "pattern"; readonly pattern: PullPattern }
  /** At most `depth` times; `...` is the limit pullDepth. */
  | { readonly kind: "again"; readonly depth: number };

export interface PullItem extends PlacedNode {
  /** Without the underscore of a reverse one. */
  readonly attribute: Attribute;
  readonly reverse: boolean;
  /** The key in the answer: the attribute as written, or what `:as` says. No two items of a pattern have the same. */
  readonly key: string;
  /** Of an attribute with many values, and of a reverse one. */
  readonly limit: number;
  /** Undefined without `:default`; null when that is nil. */
  readonly otherwise: Constant | null | undefined;
  readonly nested: PullNested;
}

export interface Query {
  readonly find: Find;
  readonly with: readonly string[];
  /** What :in names, with the values that were given; `$` and `%` are not among them. */
  readonly inputs: readonly Rows[];
  readonly where: readonly Clause[];
  readonly rules: RuleBook;
  readonly orderBy: readonly Order[];
  readonly limit: number | null;
  readonly offset: number;
}
