// Bindings of data for :in and `ground`: `?x`, `[?x ...]`, `[?x ?y]`, `[[?x ?y]]` with their values. All
// become the same: named columns and rows of constants.
import type { Constant, Rows } from "./ast.ts";
import { type Form, invalidQuery, isSymbol } from "./form.ts";
import { checkColumns, constantOf, isVariable, parseConstant } from "./terms.ts";
import { show } from "./write.ts";

export type Binding = Omit<Rows, "rows">;

const SHAPES = "a binding is ?x, [?x ...], [?x ?y] or [[?x ?y]]; _ leaves a place out";

export function parseBinding(form: Form, what: string): Binding {
  if (form.kind !== "vector") return { shape: "scalar", columns: parseColumns([form], what), at: form.at };
  const [first, second] = form.items;
  if (first?.kind === "vector") {
    if (form.items.length !== 1) throw invalidQuery(form.at, `${what} must not be ${show(form)}`, SHAPES);
    return { shape: "relation", columns: parseColumns(first.items, what), at: form.at };
  }
  if (first !== undefined && isSymbol(second, "...")) {
    if (form.items.length !== 2) throw invalidQuery(form.at, `${what} must not be ${show(form)}`, SHAPES);
    return { shape: "collection", columns: parseColumns([first], what), at: form.at };
  }
  return { shape: "tuple", columns: parseColumns(form.items, what), at: form.at };
}

function parseColumns(forms: readonly Form[], what: string): readonly (string | null)[] {
  checkColumns(forms, what);
  const columns = forms.map((form) => {
    if (isSymbol(form, "_")) return null;
    if (form.kind === "symbol" && isVariable(form)) return form.name;
    throw invalidQuery(form.at, `${what} must not be ${show(form)}`, SHAPES);
  });
  if (columns.length === 0) throw invalidQuery(undefined, `${what} binds nothing`, SHAPES);
  const again = columns.findIndex((name, i) => name !== null && columns.indexOf(name) !== i);
  if (again >= 0) throw invalidQuery(forms[again]?.at, `${what} binds ${columns[again]} twice`);
  return columns;
}

export function columnNames(binding: Binding): readonly string[] {
  return binding.columns.flatMap((name) => (name === null ? [] : [name]));
}

/** Fits a value to a binding: width and depth must match, and all items must be constants. */
export function bindRows(binding: Binding, value: Form, what: string): Rows {
  const { shape, columns } = binding;
  switch (shape) {
    case "scalar":
      return { ...binding, rows: [[scalar(value, what)]] };
    case "collection":
      return {
        ...binding,
        rows: items(value, what, "a collection").map((item) => [scalar(item, `an item of ${what}`)]),
      };
    case "tuple":
      return { ...binding, rows: [row(value, what, columns.length)] };
    case "relation": {
      const rows = items(value, what, "a collection of tuples");
      return { ...binding, rows: rows.map((item) => row(item, `a tuple of ${what}`, columns.length)) };
    }
  }
}

function scalar(form: Form, what: string): Constant {
  const constant = constantOf(form);
  if (constant !== null) return constant;
  if (form.kind === "vector" && form.items[0]?.kind === "keyword") {
    const name = form.items[0].name;
    const allowed = `give its value, and use a pattern: [?e ${name} ?value]`;
    throw invalidQuery(form.at, `${what} is the lookup ref ${show(form)}, which cannot be given`, allowed);
  }
  if (form.kind === "vector") {
    throw invalidQuery(form.at, `${what} must be one value, not ${show(form)}`, "many values are bound by [?x ...]");
  }
  return parseConstant(form, what);
}

function row(form: Form, what: string, width: number): readonly Constant[] {
  const values = items(form, what, "a tuple");
  if (values.length === width) return values.map((value) => scalar(value, `a value of ${what}`));
  throw invalidQuery(form.at, `${what} has ${values.length} values, its binding has ${width}`);
}

function items(form: Form, what: string, wanted: string): readonly Form[] {
  if (form.kind === "vector" || form.kind === "list" || form.kind === "set") return form.items;
  throw invalidQuery(form.at, `${what} must be ${wanted}, not ${show(form)}`);
}
