// Parses forms to the tree of a query: its sections, and the checks between them. The text or JSON is parsed
// before (edn.ts, json.ts); attributes are looked up after, by the compiler.
import { arrangeClauses, boundText } from "./arrange.ts";
import type { Find, Query, Rows } from "./ast.ts";
import { elementVariable, parseFind, parseOrderBy } from "./find.ts";
import { type Form, invalidQuery, isSymbol, type Sequence, type SourcePosition } from "./form.ts";
import { type Binding, bindRows, columnNames, parseBinding } from "./rows.ts";
import { parseDefinitions, parseRules, signaturesOf } from "./rules.ts";
import { callSites, stratify } from "./strata.ts";
import { checkColumns, parseVariables } from "./terms.ts";
import { type Context, parseClauses } from "./where.ts";
import { show } from "./write.ts";

/** Sections with any number of forms, and sections with exactly one. */
const MANY = [":find", ":with", ":in", ":where"];
const SINGLE = [":rules", ":order-by", ":limit", ":offset"];
const SECTIONS = `a query is [:find … :where …] or {:find […] :where […]}; its parts are ${[...MANY, ...SINGLE].join(" ")}`;

interface Section {
  readonly forms: readonly Form[];
  readonly at: SourcePosition | undefined;
}

type Sections = ReadonlyMap<string, Section>;

/** `inputs` are the values for what :in names, in its order and without `$`, which is the store itself. */
export function parseQuery(form: Form, inputs: readonly Form[] = []): Query {
  const sections = parseSections(form);
  const find = parseFind(sections.get(":find")?.forms ?? [], sections.get(":find")?.at ?? form.at);
  const { rows, rules: rulesInput } = parseInputs(sections.get(":in"), inputs);
  const definitions = parseDefinitions(rulesForm(sections, rulesInput));
  const context: Context = { signatures: signaturesOf(definitions), clauses: 0 };
  const rules = parseRules(definitions, context);
  const given = rows.flatMap(columnNames);
  const drafts = parseClauses(sections.get(":where")?.forms ?? [], context);
  const where = arrangeClauses(drafts, given, new Set());
  const bound = new Set([...given, ...where.binds]);
  checkFind(find, bound);
  const withs = parseWith(sections.get(":with"), find, bound);
  const roots = callSites(where.clauses).map((site) => site.name);
  return {
    find,
    with: withs,
    inputs: rows,
    where: where.clauses,
    rules: { rules, components: stratify(rules, roots) },
    orderBy: parseOrderBy(itemsOf(sections.get(":order-by"), ":order-by"), find, withs),
    limit: parseCount(sections.get(":limit"), ":limit"),
    offset: parseCount(sections.get(":offset"), ":offset") ?? 0,
  };
}

/** The index of the rules (`%`) among the inputs, so that the caller can parse them as rules; -1 if there are none. */
export function rulesPosition(form: Form): number {
  const names = parseSections(form).get(":in")?.forms ?? [];
  return names.filter((name) => !isSymbol(name, "$")).findIndex((name) => isSymbol(name, "%"));
}

function parseSections(form: Form): Sections {
  if (form.kind !== "vector" && form.kind !== "map") throw invalidQuery(form.at, `${show(form)} is no query`, SECTIONS);
  const sections = form.kind === "map" ? mapSections(form.entries) : vectorSections(form);
  if (!sections.has(":find")) throw invalidQuery(form.at, "the query has no :find", SECTIONS);
  for (const [name, { forms, at }] of sections) {
    if (!MANY.includes(name) && !SINGLE.includes(name)) throw invalidQuery(at, `a query has no ${name}`, SECTIONS);
    if (SINGLE.includes(name) && forms.length !== 1) {
      throw invalidQuery(
        at,
        `${name} holds ${forms.length} forms, not one`,
        ":order-by [[?x :desc]] :limit 10 :rules [[…]]",
      );
    }
  }
  return sections;
}

function vectorSections(form: Sequence): Sections {
  const sections = new Map<string, { forms: Form[]; at: SourcePosition | undefined }>();
  let current: { forms: Form[] } | undefined;
  for (const item of form.items) {
    if (item.kind === "keyword") {
      if (sections.has(item.name)) throw invalidQuery(item.at, `${item.name} is in the query twice`);
      const section = { forms: [], at: item.at };
      sections.set(item.name, section);
      current = section;
    } else if (current === undefined) throw invalidQuery(item.at, `the query begins with ${show(item)}`, SECTIONS);
    else current.forms.push(item);
  }
  return sections;
}

function mapSections(entries: readonly (readonly [Form, Form])[]): Sections {
  return new Map(
    entries.map(([key, value]): [string, Section] => {
      if (key.kind !== "keyword") throw invalidQuery(key.at, `${show(key)} is no part of a query`, SECTIONS);
      if (!MANY.includes(key.name)) return [key.name, { forms: [value], at: key.at }];
      if (value.kind === "vector" || value.kind === "list") return [key.name, { forms: value.items, at: key.at }];
      throw invalidQuery(value.at, `${key.name} must be a vector, not ${show(value)}`, SECTIONS);
    }),
  );
}

function itemsOf(section: Section | undefined, name: string): readonly Form[] {
  const [form] = section?.forms ?? [];
  if (form === undefined) return [];
  if (form.kind === "vector") return form.items;
  throw invalidQuery(form.at, `${name} must be a vector, not ${show(form)}`, `${name} [?x [?y :desc]]`);
}

function parseCount(section: Section | undefined, name: string): number | null {
  const [form] = section?.forms ?? [];
  if (form === undefined) return null;
  if ((form.kind === "int" || form.kind === "float") && Number.isInteger(form.value) && form.value >= 0)
    return form.value;
  throw invalidQuery(form.at, `${name} must be a whole number from 0, not ${show(form)}`);
}

function parseInputs(section: Section | undefined, inputs: readonly Form[]): { rows: readonly Rows[]; rules?: Form } {
  const names = (section?.forms ?? []).filter((name) => !isSymbol(name, "$"));
  checkColumns(names, ":in");
  if (names.length !== inputs.length) {
    const listed = names.length === 0 ? "nothing" : names.map(show).join(" ");
    const problem = `the query takes ${names.length} inputs (${listed}), and ${inputs.length} are given`;
    throw invalidQuery(section?.at, problem, "$ is the store and is not given; everything else in :in is");
  }
  const percent = names.filter((name) => isSymbol(name, "%"));
  if (percent.length > 1) throw invalidQuery(percent[1]?.at, ":in names the rules % twice");
  const bindings = names.map((name) => (isSymbol(name, "%") ? null : parseBinding(name, "an input")));
  checkDistinct(bindings);
  const rows = bindings.flatMap((binding, i) => {
    const input = inputs[i];
    return binding === null || input === undefined ? [] : [bindRows(binding, input, `input ${i + 1}`)];
  });
  const rules = inputs[bindings.indexOf(null)];
  return rules === undefined ? { rows } : { rows, rules };
}

function checkDistinct(bindings: readonly (Binding | null)[]): void {
  const seen = new Set<string>();
  for (const binding of bindings) {
    for (const name of binding === null ? [] : columnNames(binding)) {
      if (seen.has(name)) throw invalidQuery(binding?.at, `:in binds ${name} twice`);
      seen.add(name);
    }
  }
}

function rulesForm(sections: Sections, input: Form | undefined): Form {
  const [section] = sections.get(":rules")?.forms ?? [];
  if (section !== undefined && input !== undefined) {
    throw invalidQuery(section.at, "the query has rules of its own and is given % as well", "give one or the other");
  }
  return section ?? input ?? { kind: "vector", items: [] };
}

function checkFind(find: Find, bound: ReadonlySet<string>): void {
  for (const element of find.elements) {
    const name = elementVariable(element);
    if (!bound.has(name)) throw invalidQuery(element.at, `${name} in :find is not bound`, boundText(bound));
  }
}

function parseWith(section: Section | undefined, find: Find, bound: ReadonlySet<string>): readonly string[] {
  const names = parseVariables(section?.forms ?? [], ":with");
  for (const [i, name] of names.entries()) {
    const at = section?.forms[i]?.at;
    if (!bound.has(name)) throw invalidQuery(at, `${name} in :with is not bound`, boundText(bound));
    const inFind = find.elements.some((element) => element.kind === "variable" && element.name === name);
    if (inFind) throw invalidQuery(at, `${name} is in :find and in :with`, ":with is for what :find leaves out");
  }
  return names;
}
