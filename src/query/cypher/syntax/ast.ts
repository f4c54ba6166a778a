// The tree of a query as plain data. `at` and `end` are offsets in the query's text: errors show them, and a column without
// a name is named by its text.

interface TreeNode {
  readonly at: number;
  readonly end: number;
}

export interface Literal extends TreeNode {
  readonly kind: "literal";
  readonly value: null | boolean | bigint | number | string;
}

export interface Variable extends TreeNode {
  readonly kind: "variable";
  readonly name: string;
}

export interface Parameter extends TreeNode {
  readonly kind: "parameter";
  readonly name: string;
}

export interface PropertyAccess extends TreeNode {
  readonly kind: "property";
  readonly object: Expression;
  readonly key: string;
}

interface IndexAccess extends TreeNode {
  readonly kind: "index";
  readonly object: Expression;
  readonly index: Expression;
}

interface SliceAccess extends TreeNode {
  readonly kind: "slice";
  readonly object: Expression;
  readonly from: Expression | undefined;
  readonly to: Expression | undefined;
}

interface LabelPredicate extends TreeNode {
  readonly kind: "hasLabels";
  readonly object: Expression;
  readonly labels: readonly string[];
}

export interface LogicalExpression extends TreeNode {
  readonly kind: "logical";
  readonly operator: "AND" | "OR" | "XOR";
  readonly operands: readonly Expression[];
}

interface UnaryExpression extends TreeNode {
  readonly kind: "unary";
  readonly operator: "NOT" | "-" | "+";
  readonly operand: Expression;
}

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "^";

/** A chain of the same precedence, evaluated from the left. */
interface ArithmeticChain extends TreeNode {
  readonly kind: "arithmetic";
  readonly first: Expression;
  readonly rest: readonly { readonly operator: ArithmeticOperator; readonly operand: Expression }[];
}

export type ComparisonOperator = "=" | "<>" | "<" | "<=" | ">" | ">=";

/** `a < b <= c` holds if both comparisons do. */
interface ComparisonChain extends TreeNode {
  readonly kind: "comparison";
  readonly first: Expression;
  readonly rest: readonly { readonly operator: ComparisonOperator; readonly operand: Expression }[];
}

export type PredicateOperator = "IN" | "STARTS WITH" | "ENDS WITH" | "CONTAINS" | "=~";

export interface PredicateExpression extends TreeNode {
  readonly kind: "predicate";
  readonly operator: PredicateOperator;
  readonly left: Expression;
  readonly right: Expression;
}

interface NullPredicate extends TreeNode {
  readonly kind: "isNull";
  readonly operand: Expression;
  readonly isNegated: boolean;
}

export interface FunctionCall extends TreeNode {
  readonly kind: "call";
  /** In lower case; `shownName` is as written. `count(*)` is a call of "count" with `isStar`. */
  readonly name: string;
  readonly shownName: string;
  readonly isDistinct: boolean;
  readonly isStar: boolean;
  readonly operands: readonly Expression[];
}

interface ListLiteral extends TreeNode {
  readonly kind: "list";
  readonly items: readonly Expression[];
}

export interface MapLiteral extends TreeNode {
  readonly kind: "map";
  readonly entries: readonly { readonly key: string; readonly value: Expression }[];
}

export type ProjectionItem =
  | { readonly kind: "all" }
  | { readonly kind: "property"; readonly key: string }
  | { readonly kind: "entry"; readonly key: string; readonly value: Expression };

interface MapProjection extends TreeNode {
  readonly kind: "mapProjection";
  readonly object: Expression;
  readonly items: readonly ProjectionItem[];
}

export interface ListComprehension extends TreeNode {
  readonly kind: "listComprehension";
  readonly variable: string;
  readonly list: Expression;
  readonly where: Expression | undefined;
  readonly projection: Expression | undefined;
}

export interface Quantifier extends TreeNode {
  readonly kind: "quantifier";
  readonly quantifier: "all" | "any" | "none" | "single";
  readonly variable: string;
  readonly list: Expression;
  readonly where: Expression;
}

export interface Reduction extends TreeNode {
  readonly kind: "reduce";
  readonly accumulator: string;
  readonly initial: Expression;
  readonly variable: string;
  readonly list: Expression;
  readonly body: Expression;
}

export interface CaseExpression extends TreeNode {
  readonly kind: "case";
  readonly subject: Expression | undefined;
  readonly branches: readonly { readonly when: Expression; readonly result: Expression }[];
  readonly otherwise: Expression | undefined;
}

/** True if the pattern matches at least once. */
interface PatternPredicate extends TreeNode {
  readonly kind: "patternPredicate";
  readonly pattern: PathPattern;
}

interface PatternComprehension extends TreeNode {
  readonly kind: "patternComprehension";
  readonly pattern: PathPattern;
  readonly where: Expression | undefined;
  readonly projection: Expression;
}

/** EXISTS { … } and COUNT { … }: a query, or the patterns of a MATCH without the word. */
interface Subquery extends TreeNode {
  readonly kind: "subquery";
  readonly result: "exists" | "count";
  readonly query: Query;
}

/** shortestPath((a)-[*]->(b)) as a value. */
interface PathExpression extends TreeNode {
  readonly kind: "pathExpression";
  readonly pattern: PathPattern;
}

export type Expression =
  | Literal
  | Variable
  | Parameter
  | PropertyAccess
  | IndexAccess
  | SliceAccess
  | LabelPredicate
  | LogicalExpression
  | UnaryExpression
  | ArithmeticChain
  | ComparisonChain
  | PredicateExpression
  | NullPredicate
  | FunctionCall
  | ListLiteral
  | MapLiteral
  | MapProjection
  | ListComprehension
  | Quantifier
  | Reduction
  | CaseExpression
  | PatternPredicate
  | PatternComprehension
  | Subquery
  | PathExpression;

export interface NodePattern extends TreeNode {
  readonly variable: string | undefined;
  readonly labels: readonly string[];
  readonly properties: MapLiteral | Parameter | undefined;
}

export interface RelationshipPattern extends TreeNode {
  readonly variable: string | undefined;
  readonly types: readonly string[];
  readonly properties: MapLiteral | Parameter | undefined;
  /** As written, from left to right. `<-->` and `--` both mean either; only `both` of them has arrow heads. */
  readonly direction: "out" | "in" | "either" | "both";
  /** Of a variable length; without an upper bound `max` is null. */
  readonly length: { readonly min: number | undefined; readonly max: number | undefined } | undefined;
}

/** Nodes and relationships in turn: there is one node more. */
export interface PathPattern extends TreeNode {
  readonly variable: string | undefined;
  readonly shortest: "one" | "all" | undefined;
  readonly nodes: readonly NodePattern[];
  readonly relationships: readonly RelationshipPattern[];
}

export interface ReturnItem extends TreeNode {
  readonly expression: Expression;
  readonly alias: string | undefined;
}

export interface SortItem {
  readonly expression: Expression;
  readonly isDescending: boolean;
}

/** What RETURN and WITH have in common. */
export interface Projection extends TreeNode {
  readonly isDistinct: boolean;
  /** `*`: all variables, before the items. */
  readonly isStar: boolean;
  readonly items: readonly ReturnItem[];
  readonly orderBy: readonly SortItem[];
  readonly skip: Expression | undefined;
  readonly limit: Expression | undefined;
}

export interface MatchClause extends TreeNode {
  readonly kind: "match";
  readonly isOptional: boolean;
  readonly patterns: readonly PathPattern[];
  readonly where: Expression | undefined;
}

export interface UnwindClause extends TreeNode {
  readonly kind: "unwind";
  readonly list: Expression;
  readonly variable: string;
}

interface WithClause extends TreeNode {
  readonly kind: "with";
  readonly projection: Projection;
  readonly where: Expression | undefined;
}

interface ReturnClause extends TreeNode {
  readonly kind: "return";
  readonly projection: Projection;
}

export interface CreateClause extends TreeNode {
  readonly kind: "create";
  readonly patterns: readonly PathPattern[];
}

export interface MergeClause extends TreeNode {
  readonly kind: "merge";
  readonly pattern: PathPattern;
  readonly onCreate: readonly SetItem[];
  readonly onMatch: readonly SetItem[];
}

export type SetItem = TreeNode &
  (
    | { readonly kind: "setProperty"; readonly target: PropertyAccess; readonly value: Expression }
    | {
        readonly kind: "setDynamicProperty";
        readonly object: Expression;
        readonly key: Expression;
        readonly value: Expression;
      }
    | {
        readonly kind: "replaceProperties" | "mergeProperties";
        readonly variable: Variable;
        readonly value: Expression;
      }
    | { readonly kind: "setLabels"; readonly variable: Variable; readonly labels: readonly string[] }
  );

export type RemoveItem = TreeNode &
  (
    | { readonly kind: "removeProperty"; readonly target: PropertyAccess }
    | { readonly kind: "removeLabels"; readonly variable: Variable; readonly labels: readonly string[] }
  );

export interface SetClause extends TreeNode {
  readonly kind: "set";
  readonly items: readonly SetItem[];
}

export interface RemoveClause extends TreeNode {
  readonly kind: "remove";
  readonly items: readonly RemoveItem[];
}

export interface DeleteClause extends TreeNode {
  readonly kind: "delete";
  readonly isDetach: boolean;
  readonly targets: readonly Expression[];
}

export type Clause =
  | MatchClause
  | UnwindClause
  | WithClause
  | ReturnClause
  | CreateClause
  | MergeClause
  | SetClause
  | RemoveClause
  | DeleteClause;

export interface SingleQuery {
  readonly clauses: readonly Clause[];
}

export interface Query extends TreeNode {
  readonly parts: readonly [SingleQuery, ...SingleQuery[]];
  /** How the parts are joined; undefined for a single part. */
  readonly union: "all" | "distinct" | undefined;
}
