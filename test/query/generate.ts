// Random queries that make sense: each begins at some entity, goes from there along facts that exist, and then tests,
// negates, offers alternatives, calls rules and aggregates. Both sides get the same text.
import { attributes } from "../../src/query/catalogue.ts";
import type { Attribute } from "../../src/query/facts.ts";
import type { KindName } from "../../src/query/kinds.ts";
import { type Fact, isReference } from "./facts.ts";
import type { Random } from "./random.ts";
import { RULES, type RuleSet } from "./rules.ts";

/** text, number, boolean, the kind of an entity, or that of an id. */
type Type = "text" | "number" | "boolean" | `of ${KindName}` | `id ${KindName}`;

export interface GeneratedQuery {
  readonly find: string;
  readonly where: string;
  /** The same clauses in an order in which each finds bound what it needs: DataScript takes them one by one. */
  readonly ordered: string;
  readonly rules: string | null;
  readonly simpleRules: string | null;
  /** How each column is compared: an entity by its id, a tree by its facts, anything else as it is. */
  readonly columns: readonly ("value" | "entity" | "pull")[];
}

/** What can be drawn: attributes that have facts, with some of their values. */
export interface Pool {
  readonly byKind: ReadonlyMap<KindName, readonly Attribute[]>;
  readonly into: ReadonlyMap<KindName, readonly Attribute[]>;
  readonly values: ReadonlyMap<string, readonly Fact["value"][]>;
  readonly kinds: readonly KindName[];
}

export function poolOf(facts: readonly Fact[]): Pool {
  const values = Map.groupBy(facts, ({ attribute }) => attribute.name);
  const known = attributes().filter(({ name }) => values.has(name));
  const byKind = Map.groupBy(known, ({ kind }) => kind);
  const references = known.filter(isReference);
  return {
    byKind,
    into: Map.groupBy(references, ({ type }) => (type.is === "entity" ? type.kind : "session")),
    values: new Map([...values].map(([name, list]) => [name, list.map(({ value }) => value)])),
    kinds: [...byKind.keys()].filter((kind) => (byKind.get(kind)?.length ?? 0) > 3),
  };
}

function typeOf({ type, identity }: Attribute): Type {
  if (type.is === "entity") return identity ? `id ${type.kind}` : `of ${type.kind}`;
  if (type.is === "boolean") return "boolean";
  return type.is === "int" || type.is === "real" || type.is === "instant" ? "number" : "text";
}

const literal = (value: Fact["value"]) => JSON.stringify(value);

class Draft {
  readonly clauses: string[] = [];
  readonly vars: { readonly name: string; readonly type: Type }[] = [];
  rules: RuleSet | null = null;
  readonly #draw: Random;
  readonly #pool: Pool;

  constructor(draw: Random, pool: Pool) {
    this.#draw = draw;
    this.#pool = pool;
  }

  variable(type: Type): string {
    const name = `?${"abcdefghijklmnop"[this.vars.length] ?? "z"}${this.vars.length}`;
    this.vars.push({ name, type });
    return name;
  }

  of(test: (type: Type, name: string) => boolean): string | null {
    const fitting = this.vars.filter(({ type, name }) => test(type, name));
    return fitting.length === 0 ? null : this.#draw.pick(fitting).name;
  }

  entity(): { readonly name: string; readonly kind: KindName } {
    const hasFacts = (type: Type) => type.startsWith("of ") && this.#pool.byKind.has(type.slice(3) as KindName);
    const entities = this.vars.filter(({ type }) => hasFacts(type));
    const { name, type } = this.#draw.pick(entities);
    return { name, kind: type.slice(3) as KindName };
  }

  constant(attribute: Attribute): string | null {
    if (isReference(attribute)) return null;
    return literal(this.#draw.pick(this.#pool.values.get(attribute.name) ?? [""]));
  }

  attribute(kind: KindName): Attribute {
    return this.#draw.pick(this.#pool.byKind.get(kind) ?? attributes());
  }

  /** One more fact of an entity, or of one that refers to it. */
  pattern(): void {
    const draw = this.#draw;
    const { name, kind } = this.entity();
    const into = this.#pool.into.get(kind) ?? [];
    if (into.length > 0 && draw.chance(0.35)) {
      const attribute = draw.pick(into);
      this.clauses.push(`[${this.variable(`of ${attribute.kind}`)} ${attribute.name} ${name}]`);
      return;
    }
    const attribute = this.attribute(kind);
    const type = typeOf(attribute);
    const constant = this.constant(attribute);
    const same = draw.chance(0.12) ? this.of((other, one) => other === type && one !== name) : null;
    const value = draw.chance(0.1)
      ? "_"
      : constant !== null && draw.chance(0.25)
        ? constant
        : (same ?? this.variable(type));
    this.clauses.push(`[${name} ${attribute.name} ${value}]`);
  }

  predicate(): void {
    const draw = this.#draw;
    const number = this.of((type) => type === "number");
    const text = this.of((type) => type === "text" || type.startsWith("id "));
    if (number !== null && draw.chance(0.5)) {
      const other = draw.chance(0.4) ? (this.of((type) => type === "number") ?? "5") : String(draw.below(30));
      this.clauses.push(`[(${draw.pick(["<", "<=", ">", ">=", "=", "not="])} ${number} ${other})]`);
    } else if (number !== null && draw.chance(0.6)) {
      const call = draw.pick([`+ ${number} 2`, `- ${number} 1`, `* ${number} 3`, `mod ${number} 7`, `- ${number}`]);
      this.clauses.push(`[(${call}) ${this.variable("number")}]`);
    } else if (text !== null) {
      const part = literal(draw.pick(["s", "e", "open", "1", ""]));
      const call = draw.pick(["starts-with? T P", "ends-with? T P", "includes? T P", "< T P", "not= T P"]);
      const name = call.replace("T", text).replace("P", part);
      this.clauses.push(
        `[(${name.includes("?") && !name.startsWith("<") && !name.startsWith("not") ? `clojure.string/${name}` : name})]`,
      );
    }
  }

  negation(): void {
    const draw = this.#draw;
    const { name, kind } = this.entity();
    const into = this.#pool.into.get(kind) ?? [];
    if (into.length > 0 && draw.chance(0.5)) {
      const attribute = draw.pick(into);
      const more = this.attribute(attribute.kind);
      const value = this.constant(more) ?? "_";
      this.clauses.push(
        `(not [?none ${attribute.name} ${name}] [?none ${more.name} ${draw.chance(0.5) ? value : "_"}])`,
      );
      return;
    }
    const attribute = this.attribute(kind);
    const value = draw.chance(0.6) ? (this.constant(attribute) ?? "_") : "_";
    // DataScript takes a reference to what has no facts for none.
    if (value === "_" && !isReference(attribute) && draw.chance(0.5))
      this.clauses.push(`[(missing? $ ${name} ${attribute.name})]`);
    else this.clauses.push(`(not [${name} ${attribute.name} ${value}])`);
  }

  alternatives(): void {
    const draw = this.#draw;
    const { name, kind } = this.entity();
    const [first, second] = [this.attribute(kind), this.attribute(kind)];
    const number = this.of((type) => type === "number");
    if (number !== null && draw.chance(0.3)) {
      const to = this.variable("number");
      this.clauses.push(
        `(or-join [[${number}] ${to}] [(+ ${number} 1) ${to}] (and [(> ${number} 10)] [(* ${number} 2) ${to}]))`,
      );
    } else if (typeOf(first) === typeOf(second) && draw.chance(0.6)) {
      const to = this.variable(typeOf(first));
      this.clauses.push(`(or [${name} ${first.name} ${to}] [${name} ${second.name} ${to}])`);
    } else {
      const side = (one: Attribute) => `[${name} ${one.name} ${this.constant(one) ?? "_"}]`;
      const into = this.#pool.into.get(kind) ?? [];
      const third = into.length === 0 ? side(second) : `(and [?other ${draw.pick(into).name} ${name}] ${side(second)})`;
      this.clauses.push(`(or-join [${name}] ${side(first)} ${third})`);
    }
  }

  getElse(): void {
    const { name, kind } = this.entity();
    const attribute = this.attribute(kind);
    const type = typeOf(attribute);
    if (attribute.many || attribute.identity || (type !== "text" && type !== "number")) return;
    const otherwise = type === "number" ? "7" : '"none"';
    this.clauses.push(`[(get-else $ ${name} ${attribute.name} ${otherwise}) ${this.variable(type)}]`);
  }

  callRule(): void {
    const draw = this.#draw;
    const set = this.rules ?? draw.pick(RULES);
    this.rules = set;
    const { name, params } = draw.pick(set.calls);
    const args: string[] = [];
    for (const kind of params) {
      // DataScript does not come back from a closure that begins anywhere, nor see that one variable stands twice.
      const free = this.vars.filter((one) => one.type === `of ${kind}` && !args.includes(one.name));
      const isKnown = free.length > 0 && (args.length === 0 || draw.chance(0.5));
      args.push(isKnown ? draw.pick(free).name : this.variable(`of ${kind}`));
    }
    this.clauses.push(`(${name} ${args.join(" ")})`);
  }
}

export function generate(draw: Random, pool: Pool): GeneratedQuery {
  const draft = new Draft(draw, pool);
  const start = draw.chance(0.35) ? draw.pick(RULES) : null;
  const kind = start === null ? draw.pick(pool.kinds) : (start.calls[0]?.params[0] ?? "session");
  const first = draft.variable(`of ${kind}`);
  const own = draft.attribute(kind);
  const constant = draft.constant(own);
  draft.clauses.push(`[${first} ${own.name} ${constant !== null && draw.chance(0.5) ? constant : "_"}]`);
  draft.rules = start;
  if (start !== null) draft.callRule();
  for (let n = 1 + draw.below(3); n > 0; n--) draft.pattern();
  if (draw.chance(0.45)) draft.predicate();
  if (draw.chance(0.35)) draft.negation();
  if (draw.chance(0.35)) draft.alternatives();
  if (draw.chance(0.2)) draft.getElse();
  if (draft.rules !== null && draw.chance(0.3)) draft.callRule();
  if (draw.chance(0.3)) draft.predicate();
  return finish(draft, draw, pool);
}

function finish(draft: Draft, draw: Random, pool: Pool): GeneratedQuery {
  const where = shuffled(draft.clauses, draw).join(" ");
  const ordered = draft.clauses.join(" ");
  const rules = draft.rules?.text ?? null;
  const simpleRules = draft.rules?.simple ?? null;
  const entity = draft.entity();
  if (draw.chance(0.15)) {
    const find = `${entity.name} (pull ${entity.name} ${pullOf(entity.kind, draw, pool)})`;
    return { find, where, ordered, rules, simpleRules, columns: ["entity", "pull"] };
  }
  const chosen = draft.vars.filter(() => draw.chance(0.5)).slice(0, 4);
  const vars = chosen.length === 0 ? draft.vars.slice(0, 1) : chosen;
  const column = (type: Type) => (type.startsWith("of ") ? "entity" : "value");
  const number = draft.of((type) => type === "number");
  const other = draft.vars.filter(
    ({ name }) => !vars.some((one) => one.name === name) && name !== number && name !== entity.name,
  );
  const aggregated = draw.chance(0.35);
  if (!aggregated) {
    const find = vars.map(({ name }) => name).join(" ");
    return { find, where, ordered, rules, simpleRules, columns: vars.map(({ type }) => column(type)) };
  }
  const group = vars.filter(({ name }) => name !== number).slice(0, 2);
  const names =
    number === null
      ? [`(count ${entity.name})`, `(count-distinct ${entity.name})`]
      : [`(${draw.pick(["sum", "min", "max", "avg", "count"])} ${number})`];
  const withs = other.length > 0 && draw.chance(0.5) ? ` :with ${other[0]?.name}` : "";
  return {
    find: `${[...group.map(({ name }) => name), ...names].join(" ")}${withs}`,
    where,
    ordered,
    rules,
    simpleRules,
    columns: [...group.map(({ type }) => column(type)), ...names.map(() => "value" as const)],
  };
}

function shuffled<T>(items: readonly T[], draw: Random): readonly T[] {
  const left = [...items];
  return items.map(() => left.splice(draw.below(left.length), 1)[0] as T);
}

function pullOf(kind: KindName, draw: Random, pool: Pool): string {
  const own = pool.byKind.get(kind) ?? [];
  const plain = own.filter((one) => !isReference(one));
  const hasFacts = ({ type }: Attribute) => type.is === "entity" && pool.byKind.has(type.kind);
  const references = own.filter((one) => isReference(one) && hasFacts(one));
  const items = new Set([draw.pick(plain).name, draw.pick(plain).name]);
  if (draw.chance(0.3)) items.add("*");
  const nested = (target: KindName) =>
    `[${draw.pick((pool.byKind.get(target) ?? own).filter((one) => !isReference(one))).name}]`;
  if (references.length > 0 && draw.chance(0.6)) {
    const { name, type } = draw.pick(references);
    const target = type.is === "entity" ? type.kind : kind;
    items.add(target === kind && draw.chance(0.5) ? `{${name} 3}` : `{${name} ${nested(target)}}`);
  }
  const into = pool.into.get(kind) ?? [];
  if (into.length > 0 && draw.chance(0.6)) {
    const { name, kind: from } = draw.pick(into);
    items.add(`{${name.replace("/", "/_")} ${nested(from)}}`);
  }
  return `[${[...items].join(" ")}]`;
}
