// Compiles recursive rules to WITH RECURSIVE with set semantics, so that cycles end. A call whose arguments are
// narrowed by constants gets a its own table that starts from them, so that a query for one session's ancestors does
// not compute those of all sessions.
import { LIMITS } from "../contracts/limits.ts";
import { type Arm, armsOf } from "./arms.ts";
import type { Clause, Component, RuleCall } from "./ast.ts";
import { connected, termValue, union, valueIn } from "./bindings.ts";
import { argumentNames } from "./expand.ts";
import { invalidQuery, overLimit } from "./form.ts";
import {
  addItem,
  type Build,
  bind,
  bodyText,
  equate,
  newAlias,
  newScope,
  type RuleTable,
  type Scope,
} from "./scope.ts";
import { join, raw, type Sql, sql, unite } from "./sql.ts";
import { columnsAs, columnTypes, mergeTypes, type Type, type Value, valueFrom } from "./values.ts";

export function compileRuleCall(call: RuleCall, scope: Scope): void {
  const { build } = scope;
  const making = build.current.get(call.name);
  if (making !== undefined && !scope.arm) {
    const problem = `alternatives need the result of the recursive call of ${call.name}`;
    throw invalidQuery(call.at, problem, "write the alternatives as branches of the rule");
  }
  const seeded = making === undefined ? seededTable(call, scope) : null;
  const table = making ?? seeded ?? wholeTable(call, build);
  const columns = table.params.flatMap((param) => param.columns);
  const alias = addItem(
    scope,
    raw(table.name),
    "r",
    table.tag === null ? columns : ["tag", ...columns],
    seeded !== null,
  );
  if (table.tag !== null) {
    scope.where.push(raw(`${alias}.tag = ${table.tag}`));
    scope.equalities.push([raw(`${alias}.tag`), raw(String(table.tag))]);
  }
  for (const [i, term] of call.args.entries()) {
    const param = table.params[i];
    if (param === undefined || term.kind === "blank") continue;
    const value = valueFrom(
      param.type,
      param.columns.map((name) => `${alias}.${name}`),
    );
    if (term.kind === "variable") bind(scope, term.name, value, term.at);
    else equate(scope, termValue(term, scope) ?? value, value, term.at, `an argument of ${call.name}`);
  }
}

function componentOf(name: string, build: Build): Component {
  const component = build.components.get(name);
  if (component === undefined) throw new Error(`bug: ${name} belongs to no component`);
  return component;
}

/** The full table of the rule, compiled once for all calls. */
function wholeTable(call: RuleCall, build: Build): RuleTable {
  const known = build.tables.get(call.name);
  if (known !== undefined) return known;
  const component = componentOf(call.name, build);
  const tables = recursiveTables(armsOf(component, build), component.rules, build, () => {});
  for (const [name, table] of tables) build.tables.set(name, table);
  const made = tables.get(call.name);
  if (made === undefined) throw new Error(`bug: ${call.name} was not made`);
  return made;
}

type Types = ReadonlyMap<string, readonly Type[]>;

/**
 * Compiles the rules' arms to one named query. The types of the parameters are inferred by iteration: first from the
 * arms that do not recur, then from all arms until nothing changes.
 */
function recursiveTables(
  arms: readonly Arm[],
  rules: readonly string[],
  build: Build,
  begin: (arm: Arm, scope: Scope) => void,
): ReadonlyMap<string, RuleTable> {
  const recurring = arms.filter((arm) => arm.call !== null);
  if (recurring.length > LIMITS.queryBranches) {
    const what = "the number of branches that recur";
    throw overLimit(recurring[0]?.call?.at, "queryBranches", what, recurring.length);
  }
  const name = newAlias(build, "q");
  const arity = (rule: string) => build.rules.get(rule)?.arity ?? 0;
  let types: Types = new Map(
    rules.map((rule) => [rule, Array.from({ length: arity(rule) }, (): Type => ({ is: "nothing" }))]),
  );
  for (;;) {
    const tables = layout(name, types);
    const scopes = arms.map((arm) => compileArm(arm, tables, build, begin));
    const next = mergeArms(types, arms, scopes);
    if (JSON.stringify([...next]) === JSON.stringify([...types])) {
      emit(name, tables, arms, scopes, build);
      return tables;
    }
    types = next;
  }
}

function layout(name: string, types: Types): ReadonlyMap<string, RuleTable> {
  let width = 0;
  return new Map(
    [...types].map(([rule, own], i) => {
      const params = own.map((type) => ({ type, columns: columnTypes(type).map(() => `c${width++}`) }));
      return [rule, { name, tag: types.size > 1 ? i : null, params }];
    }),
  );
}

function compileArm(
  arm: Arm,
  tables: ReadonlyMap<string, RuleTable>,
  build: Build,
  begin: (arm: Arm, scope: Scope) => void,
): Scope {
  const scope = newScope(build, { arm: true });
  begin(arm, scope);
  const before = new Map(build.current);
  for (const [rule, table] of tables) build.current.set(rule, table);
  if (arm.call !== null) compileRuleCall(arm.call, scope);
  build.compileBody(arm.clauses, scope);
  build.current.clear();
  for (const [rule, table] of before) build.current.set(rule, table);
  return scope;
}

function mergeArms(types: Types, arms: readonly Arm[], scopes: readonly Scope[]): Types {
  return new Map(
    [...types].map(([rule, own]) => [
      rule,
      own.map((type, i) =>
        arms.reduce((merged, arm, k) => {
          const scope = scopes[k];
          if (arm.rule !== rule || scope === undefined) return merged;
          const both = mergeTypes(merged, valueIn(scope, arm.params[i] ?? "").type);
          if (both !== null) return both;
          throw invalidQuery(arm.call?.at, `parameter ${i + 1} of ${rule} is of two kinds that are never equal`);
        }, type),
      ),
    ]),
  );
}

/** PostgreSQL requires equal types and collations in all terms of a recursive query. */
function exact(cell: Sql, type: "int" | "real" | "text" | "bytes", { fragments }: Build): Sql {
  return sql`CAST(${cell} AS ${raw(fragments[type])})${raw(type === "text" ? fragments.collate : "")}`;
}

function emit(
  name: string,
  tables: ReadonlyMap<string, RuleTable>,
  arms: readonly Arm[],
  scopes: readonly Scope[],
  build: Build,
): void {
  const cellsOf = (arm: Arm, scope: Scope) => {
    const cells = [...tables].flatMap(([rule, table]) =>
      table.params.flatMap(({ type }, i) => {
        const kinds = columnTypes(type);
        if (rule !== arm.rule) return kinds.map((kind) => exact(raw("NULL"), kind, build));
        const columns = columnsAs(valueIn(scope, arm.params[i] ?? ""), type, build.fragments);
        return kinds.map((kind, k) => exact(columns[k] ?? raw("NULL"), kind, build));
      }),
    );
    const tag = tables.get(arm.rule)?.tag ?? null;
    return tag === null ? cells : [exact(raw(String(tag)), "int", build), ...cells];
  };
  const texts = arms.map((arm, k) => {
    const scope = scopes[k] ?? newScope(build);
    return sql`SELECT ${join(cellsOf(arm, scope), ", ")}${bodyText(scope)}`;
  });
  const columns = [...tables.values()].flatMap((table) => table.params.flatMap((param) => param.columns));
  const tagged = tables.size > 1 ? ["tag", ...columns] : columns;
  const bases = texts.filter((_, k) => arms[k]?.call === null);
  const again = texts.filter((_, k) => arms[k]?.call !== null);
  pushRecursive(name, tagged, bases, again, build);
}

function pushRecursive(
  name: string,
  columns: readonly string[],
  bases: readonly Sql[],
  again: readonly Sql[],
  build: Build,
): void {
  const head = raw(`${name}(${columns.join(", ")})`);
  const none = raw(`SELECT ${columns.map(() => "NULL").join(", ")} WHERE 1 = 0`);
  let text = bases.length === 0 ? none : unite(bases);
  if (bases.length > 0 && again.length > 0) {
    const renamed = (one: Sql) => (given: string) => one.text.replaceAll(`${name} AS `, `${given} AS `);
    const recursive = build.fragments.recursive(name, again.map(renamed));
    text = sql`${text} UNION ${{ text: recursive, params: again.flatMap((one) => one.params) }}`;
  }
  build.named.push({ name, text: sql`${head} AS (${text})` });
}

/** The argument positions of a call that constants narrow, with the values or the query that binds them. */
interface Seed {
  readonly places: readonly number[];
  readonly values: ReadonlyMap<number, Value>;
  readonly text: Sql | null;
  readonly columns: ReadonlyMap<number, { readonly type: Type; readonly columns: readonly string[] }>;
}

function seededTable(call: RuleCall, scope: Scope): RuleTable | null {
  const { build } = scope;
  const component = componentOf(call.name, build);
  if (component.rules.length > 1 || build.current.size > 0) return null;
  const arms = armsOf(component, build);
  const narrowed = call.args.flatMap((_, i) => (isNarrowed(call, i, scope) ? [i] : []));
  const kept = narrowed.filter((i) => arms.every((arm) => arm.call === null || isKept(arm, i)));
  if (kept.length > 0) {
    const seed = seedOf(call, kept, scope);
    const begin = (arm: Arm, inside: Scope) => {
      if (arm.call === null) addSeed(seed, inside, arm.params);
    };
    return recursiveTables(arms, component.rules, build, begin).get(call.name) ?? null;
  }
  if (narrowed.length === 0 || !arms.every((arm) => arm.call === null || isContext(arm, narrowed))) return null;
  return contextTable(call, arms, seedOf(call, narrowed, scope), build);
}

/** Whether a constant narrows the argument, directly or through clauses that connect it with a constant. */
function isNarrowed(call: RuleCall, i: number, scope: Scope): boolean {
  const term = call.args[i];
  if (term === undefined || term.kind === "blank") return false;
  if (term.kind !== "variable") return true;
  const value = scope.vars.get(term.name);
  if (value === undefined) return false;
  if (value.constant !== undefined) return true;
  const clauses = connected(scope.done, [term.name]);
  const names = clauses.flatMap((clause) => [...clause.binds, ...clause.needs]);
  const isOuter = (name: string) => !scope.local.has(name) && scope.vars.get(name)?.constant === undefined;
  return scope.local.has(term.name) && !names.some(isOuter) && clauses.some(isAnchor);
}

function isAnchor(clause: Clause): boolean {
  if (clause.kind === "ground") return true;
  if (clause.kind !== "pattern") return false;
  return [clause.entity, clause.value].some((term) => term.kind === "constant" || term.kind === "lookup");
}

/** Whether the recursive call passes the parameter on unchanged. */
function isKept({ params, call }: Arm, i: number): boolean {
  const arg = call?.args[i];
  return arg?.kind === "variable" && arg.name === params[i];
}

/** Whether the recursive call changes only these argument positions and passes all others on. */
function isContext(arm: Arm, places: readonly number[]): boolean {
  const used = new Set(arm.clauses.flatMap((clause) => [...clause.needs, ...clause.binds]));
  return arm.params.every((param, i) => {
    const arg = arm.call?.args[i];
    if (places.includes(i)) return arg?.kind === "variable" && used.has(arg.name);
    return isKept(arm, i) && !used.has(param);
  });
}

function seedOf(call: RuleCall, places: readonly number[], scope: Scope): Seed {
  const { build } = scope;
  const { names, before } = argumentNames(call, build);
  const own = places.map((i) => names[i] ?? "");
  const around = new Map(
    [...scope.vars].filter(([name, value]) => !scope.local.has(name) && value.constant !== undefined),
  );
  const domain = newScope(build, { vars: around });
  const binding = before.filter((clause) => clause.binds.some((name) => own.includes(name)));
  build.compileBody([...binding, ...connected(scope.done, own)], domain);
  const constants = places.map((i) => [i, domain.vars.get(names[i] ?? "")] as const);
  if (constants.every(([, value]) => value?.constant !== undefined)) {
    const values = new Map(constants.flatMap(([i, value]) => (value === undefined ? [] : [[i, value] as const])));
    return { places, values, text: null, columns: new Map() };
  }
  const { text, values } = union([domain], [...new Set(own)], call.at);
  const columns = places.flatMap((i) => {
    const column = values.get(names[i] ?? "");
    return column === undefined ? [] : [[i, column] as const];
  });
  return { places, values: new Map(), text, columns: new Map(columns) };
}

/** Binds the parameters of the SELECT to the seed. */
function addSeed(seed: Seed, scope: Scope, params: readonly string[]): void {
  for (const [i, value] of seed.values) bind(scope, params[i] ?? "", value, undefined);
  if (seed.text === null) return;
  const unique = [...new Set([...seed.columns.values()].flatMap(({ columns }) => columns))];
  const alias = addItem(scope, sql`(${seed.text})`, "s", unique);
  for (const [i, { type, columns }] of seed.columns) {
    const value = valueFrom(
      type,
      columns.map((column) => `${alias}.${column}`),
    );
    bind(scope, params[i] ?? "", value, undefined);
  }
}

/**
 * For `r(a, c)` with `r(a, c) :- step(a, b), r(b, c)`: first computes all values that steps reach from the seed, each
 * with its start, then evaluates the other branches at these values.
 */
function contextTable(call: RuleCall, arms: readonly Arm[], seed: Seed, build: Build): RuleTable {
  const width = seed.places.length;
  const rule = `${call.name} from`;
  const start = Array.from({ length: width }, (_, k) => `?from ${build.aliases++}.${k}`);
  const begin: Arm = { rule, params: [...start, ...start], clauses: [], call: null };
  const steps = arms.flatMap((arm): readonly Arm[] => {
    if (arm.call === null) return [];
    const froms = start.map((name) => ({ kind: "variable", name, at: call.at }) as const);
    const heres = seed.places.map((i) => ({ kind: "variable", name: arm.params[i] ?? "", at: call.at }) as const);
    const next = seed.places.map((i) => {
      const arg = arm.call?.args[i];
      return arg?.kind === "variable" ? arg.name : "";
    });
    const binds = [...froms, ...heres].map(({ name }) => name);
    const from: RuleCall = { kind: "rule", name: rule, args: [...froms, ...heres], needs: [], binds, at: call.at };
    return [{ rule, params: [...start, ...next], clauses: arm.clauses, call: from }];
  });
  const arity = { name: rule, arity: 2 * width, required: 0, needs: [], branches: [], calls: [] };
  const inner: Build = { ...build, rules: new Map([...build.rules, [rule, arity]]) };
  const places = recursiveTables([begin, ...steps], [rule], inner, (arm, scope) => {
    if (arm.call === null) addSeed(seed, scope, spread(seed, start));
  }).get(rule);
  Object.assign(build, { aliases: inner.aliases, clauses: inner.clauses, cells: inner.cells, chars: inner.chars });
  if (places === undefined) throw new Error("bug: the table of reached values is missing");
  return answersAt(call, arms, seed, places, build);
}

/** Puts the seed's names at their argument positions in the call. */
function spread(seed: Seed, names: readonly string[]): readonly string[] {
  const all: string[] = [];
  for (const [k, i] of seed.places.entries()) all[i] = names[k] ?? "";
  return all;
}

function answersAt(call: RuleCall, arms: readonly Arm[], seed: Seed, places: RuleTable, build: Build): RuleTable {
  const width = seed.places.length;
  const names = call.args.map((_, i) => `?answer ${build.aliases++}.${i}`);
  const branches = arms.flatMap((arm) => {
    if (arm.call !== null) return [];
    const scope = newScope(build);
    const columns = places.params.flatMap((param) => param.columns);
    const alias = addItem(scope, raw(places.name), "r", columns);
    const valueAt = (k: number): Value => {
      const param = places.params[k];
      if (param === undefined) throw new Error("bug: a parameter is missing");
      return valueFrom(
        param.type,
        param.columns.map((name) => `${alias}.${name}`),
      );
    };
    for (const [k, i] of seed.places.entries()) {
      bind(scope, arm.params[i] ?? "", valueAt(width + k), call.at);
      // Bound like any other variable, so that it stays available when the SELECT becomes a level.
      bind(scope, names[i] ?? "", valueAt(k), call.at);
    }
    build.compileBody(arm.clauses, scope);
    for (const [i, name] of names.entries()) {
      if (!seed.places.includes(i)) scope.vars.set(name, valueIn(scope, arm.params[i] ?? ""));
    }
    return [scope];
  });
  const name = newAlias(build, "q");
  const { text, values } = union(branches, names, call.at);
  build.named.push({ name, text: sql`${raw(name)} AS (${text})` });
  const params = names.map((one) => values.get(one) ?? { type: { is: "nothing" } as const, columns: [] });
  return { name, tag: null, params };
}
