// Rules: `[(ancestor ?a ?b) clause ...]`, several definitions to a name. Heads are read before bodies, because rules
// may call each other in any order.
import { arrangeClauses, checkClauses } from "./arrange.ts";
import type { Rule, RuleBranch } from "./ast.ts";
import { CALL_NAMES } from "./calls.ts";
import { type Form, invalidQuery, type SourcePosition } from "./form.ts";
import { callSites } from "./strata.ts";
import { isVariable } from "./terms.ts";
import { CLAUSE_NAMES, type Context, parseClauses, parseHead, type Signature } from "./where.ts";
import { show } from "./write.ts";

const SHAPE = "a rule is [(name ?a ?b) clause …]; [(name [?a] ?b) clause …] requires ?a to be bound by its callers";

/** Names that the grammar uses; a rule with such a name could not be called. */
const RESERVED = [...CLAUSE_NAMES, ...CALL_NAMES, "pull", "count-distinct", "sum", "min", "max", "avg"];

interface Definition {
  readonly name: string;
  readonly required: readonly string[];
  readonly free: readonly string[];
  readonly body: readonly Form[];
  readonly at: SourcePosition | undefined;
}

export function parseDefinitions(form: Form): readonly Definition[] {
  if (form.kind !== "vector") throw invalidQuery(form.at, `rules are a vector of rules, not ${show(form)}`, SHAPE);
  // A rule has at least one clause, so the limit of clauses also limits rules.
  checkClauses(form.at, form.items.length);
  return form.items.map(parseDefinition);
}

function parseDefinition(form: Form): Definition {
  const [head, ...body] = form.kind === "vector" ? form.items : [];
  const [name, ...params] = head?.kind === "list" ? head.items : [];
  if (name?.kind !== "symbol" || isVariable(name)) throw invalidQuery(form.at, `${show(form)} is no rule`, SHAPE);
  if (RESERVED.includes(name.name) || /^[$%_.]/.test(name.name)) {
    throw invalidQuery(name.at, `a rule cannot be called ${name.name}, which has a meaning already`, SHAPE);
  }
  if (params.length === 0) throw invalidQuery(head?.at, `the rule ${name.name} has no parameters`, SHAPE);
  if (body.length === 0) throw invalidQuery(form.at, `the rule ${name.name} has no clauses`, SHAPE);
  return { name: name.name, ...parseHead(params, `the head of ${name.name}`), body, at: form.at };
}

/** All definitions of a name must have the same parameters. */
export function signaturesOf(definitions: readonly Definition[]): ReadonlyMap<string, Signature> {
  const signatures = new Map<string, Signature>();
  for (const { name, required, free, at } of definitions) {
    const signature = { arity: required.length + free.length, required: required.length };
    const first = signatures.get(name) ?? signature;
    if (first.arity !== signature.arity || first.required !== signature.required) {
      const takes = (one: Signature) => `${one.arity} parameters, ${one.required} of them required`;
      throw invalidQuery(at, `the rule ${name} has ${takes(signature)}, before it had ${takes(first)}`);
    }
    signatures.set(name, first);
  }
  return signatures;
}

export function parseRules(definitions: readonly Definition[], context: Context): readonly Rule[] {
  const grouped = Map.groupBy(definitions, (definition) => definition.name);
  return [...grouped].map(([name, group]) => {
    const branches = group.map((definition) => parseBranch(definition, context));
    const sites = branches.flatMap((branch) => callSites(branch.body));
    const distinct = new Map(sites.map((site) => [`${site.negated} ${site.name}`, site]));
    const { arity = 0, required = 0 } = context.signatures.get(name) ?? {};
    return {
      name,
      arity,
      required,
      needs: [...new Set(branches.flatMap((branch) => branch.needs))].sort((a, b) => a - b),
      branches: branches.map(({ params, body, at }): RuleBranch => ({ params, body, at })),
      calls: [...distinct.values()].map((site) => ({ name: site.name, negated: site.negated })),
    };
  });
}

function parseBranch(definition: Definition, context: Context): RuleBranch & { readonly needs: readonly number[] } {
  const { name, required, free, body, at } = definition;
  const arranged = arrangeClauses(parseClauses(body, context), [], new Set(required));
  const absent = free.filter((param) => !arranged.binds.has(param));
  if (absent.length > 0) {
    const allowed = `bind it in the rule's clauses, or require it of the callers: [(${name} [${absent.join(" ")}] …) …]`;
    throw invalidQuery(at, `${absent.join(" and ")} in the head of ${name} is not bound by its clauses`, allowed);
  }
  const needs = required.flatMap((param, i) => (arranged.needs.has(param) || !arranged.binds.has(param) ? [i] : []));
  return { params: [...required, ...free], body: arranged.clauses, needs, at };
}
