// Prints the tree of a query as forms, in one canonical way: `not` and `or` with their join variables,
// clauses in their arranged order. The printed forms parse to the same tree.
import { LIMITS } from "../contracts/limits.ts";
import type {
  Clause,
  Constant,
  Find,
  FindElement,
  Order,
  PullItem,
  PullPattern,
  Query,
  Rows,
  Rule,
  RuleBranch,
  Term,
} from "./ast.ts";
import { type Form, keyword, list, symbol, vector } from "./form.ts";

/** The query in the form of a map, its rules inside, and the values of its inputs. */
export function printQuery(query: Query): { readonly form: Form; readonly inputs: readonly Form[] } {
  const { find, inputs, where, rules, orderBy, limit, offset } = query;
  const entries: [string, Form][] = [[":find", printFind(find)]];
  if (query.with.length > 0) entries.push([":with", vector(query.with.map((name) => symbol(name)))]);
  if (inputs.length > 0) entries.push([":in", vector([symbol("$"), ...inputs.map(printBinding)])]);
  if (where.length > 0) entries.push([":where", vector(where.map(printClause))]);
  if (rules.rules.length > 0) entries.push([":rules", vector(rules.rules.flatMap(printRule))]);
  if (orderBy.length > 0) entries.push([":order-by", vector(orderBy.map((order) => printOrder(order, find)))]);
  if (limit !== null) entries.push([":limit", number(limit)]);
  if (offset > 0) entries.push([":offset", number(offset)]);
  const form: Form = { kind: "map", entries: entries.map(([name, value]) => [keyword(name), value] as const) };
  return { form, inputs: inputs.map(printRows) };
}

function number(value: number): Form {
  return { kind: Number.isInteger(value) ? "int" : "float", value };
}

function printConstant(constant: Constant): Form {
  switch (constant.type) {
    case "string":
    case "uuid":
      return { kind: constant.type, value: constant.value };
    case "keyword":
      return keyword(constant.value);
    case "number":
      return number(constant.value);
    case "inst":
      return { kind: "inst", value: constant.value };
    case "boolean":
      return { kind: "boolean", value: constant.value };
  }
}

function printTerm(term: Term): Form {
  switch (term.kind) {
    case "variable":
      return symbol(term.name);
    case "blank":
      return symbol("_");
    case "constant":
      return printConstant(term.value);
    case "lookup":
      return vector([keyword(term.attribute.name), printConstant(term.value)]);
  }
}

function printFind({ shape, elements }: Find): Form {
  const forms = elements.map(printElement);
  switch (shape) {
    case "relation":
      return vector(forms);
    case "scalar":
      return vector([...forms, symbol(".")]);
    case "collection":
      return vector([vector([...forms, symbol("...")])]);
    case "tuple":
      return vector([vector(forms)]);
  }
}

function printElement(element: FindElement): Form {
  switch (element.kind) {
    case "variable":
      return symbol(element.name);
    case "aggregate":
      return list([symbol(element.name), symbol(element.of)]);
    case "pull":
      return list([symbol("pull"), symbol(element.of), printPull(element.pattern)]);
  }
}

function printOrder({ by, direction }: Order, find: Find): Form {
  const element = "find" in by ? find.elements[by.find] : undefined;
  const key = "with" in by ? symbol(by.with) : element === undefined ? symbol("_") : printElement(element);
  return vector([key, keyword(`:${direction}`)]);
}

function printBinding({ shape, columns }: Rows): Form {
  const names = columns.map((name) => symbol(name ?? "_"));
  switch (shape) {
    case "scalar":
      return names[0] ?? symbol("_");
    case "collection":
      return vector([...names, symbol("...")]);
    case "tuple":
      return vector(names);
    case "relation":
      return vector([vector(names)]);
  }
}

function printRows({ shape, rows }: Rows): Form {
  const values = rows.map((row) => row.map(printConstant));
  switch (shape) {
    case "scalar":
      return values[0]?.[0] ?? { kind: "nil" };
    case "collection":
      return vector(values.flat());
    case "tuple":
      return vector(values[0] ?? []);
    case "relation":
      return vector(values.map((row) => vector(row)));
  }
}

function printClause(clause: Clause): Form {
  const symbols = (names: readonly string[]) => vector(names.map((name) => symbol(name)));
  switch (clause.kind) {
    case "pattern":
      return vector([printTerm(clause.entity), keyword(clause.attribute.name), printTerm(clause.value)]);
    case "predicate":
      return vector([list([symbol(clause.name), ...clause.args.map(printTerm)])]);
    case "function":
      return vector([list([symbol(clause.name), ...clause.args.map(printTerm)]), symbol(clause.to)]);
    case "missing":
      return vector([
        list([symbol("missing?"), symbol("$"), printTerm(clause.entity), keyword(clause.attribute.name)]),
      ]);
    case "get-else": {
      const args = [
        symbol("$"),
        printTerm(clause.entity),
        keyword(clause.attribute.name),
        printConstant(clause.otherwise),
      ];
      return vector([list([symbol("get-else"), ...args]), symbol(clause.to)]);
    }
    case "ground":
      return vector([list([symbol("ground"), printRows(clause.table)]), printBinding(clause.table)]);
    case "rule":
      return list([symbol(clause.name), ...clause.args.map(printTerm)]);
    case "not":
      return list([symbol("not-join"), symbols(clause.join), ...clause.body.map(printClause)]);
    case "or": {
      const required = clause.needs.length === 0 ? [] : [symbols(clause.needs)];
      const head = vector([...required, ...clause.binds.map((name) => symbol(name))]);
      return list([symbol("or-join"), head, ...clause.branches.map(printBranch)]);
    }
  }
}

function printBranch(body: readonly Clause[]): Form {
  const [first, ...more] = body.map(printClause);
  return first !== undefined && more.length === 0 ? first : list([symbol("and"), ...body.map(printClause)]);
}

function printRule(rule: Rule): readonly Form[] {
  return rule.branches.map((branch) => printRuleBranch(rule, branch));
}

function printRuleBranch({ name, required }: Rule, { params, body }: RuleBranch): Form {
  const symbols = params.map((param) => symbol(param));
  const head = required === 0 ? symbols : [vector(symbols.slice(0, required)), ...symbols.slice(required)];
  return vector([list([symbol(name), ...head]), ...body.map(printClause)]);
}

function printPull({ wildcard, items }: PullPattern): Form {
  return vector([...(wildcard ? [symbol("*")] : []), ...items.map(printPullItem)]);
}

function printPullItem(item: PullItem): Form {
  const { attribute, reverse, key, limit, otherwise, nested } = item;
  const name = reverse ? attribute.name.replace("/", "/_") : attribute.name;
  const options: Form[] = [];
  if (key !== name) options.push(keyword(":as"), { kind: "string", value: key });
  if (limit !== LIMITS.page) options.push(keyword(":limit"), number(limit));
  if (otherwise !== undefined) {
    options.push(keyword(":default"), otherwise === null ? { kind: "nil" } : printConstant(otherwise));
  }
  const expression = options.length === 0 ? keyword(name) : vector([keyword(name), ...options]);
  if (nested.kind === "none") return expression;
  const followed = nested.kind === "pattern" ? printPull(nested.pattern) : number(nested.depth);
  return { kind: "map", entries: [[expression, followed]] };
}
