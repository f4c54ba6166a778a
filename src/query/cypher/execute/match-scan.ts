// Assigns a node that nothing is known of but its labels and properties: one scan for all rows of a batch.
import { equalityOf } from "../plan/node-filter.ts";
import type { PlanNode } from "../plan/pattern-plan.ts";
import { rowKey, valueKey } from "../values/equality.ts";
import { type CypherValue, isList } from "../values/value.ts";
import type { NodeEntity } from "./entities.ts";
import { isNodeMatch, type MatchContext, numbered, type PartialMatch, valuesOf } from "./partial-match.ts";
import { BATCH_ROWS } from "./row.ts";

type MatchStream = AsyncIterable<readonly PartialMatch[]>;

/** Rows whose filters have the same values. */
interface RowGroup {
  readonly values: readonly CypherValue[];
  readonly matches: readonly PartialMatch[];
}

export async function* scanNodes(number: number, stream: MatchStream, context: MatchContext): MatchStream {
  const plan = numbered(context.plan.nodes, number);
  for await (const batch of stream) {
    const groups = groupRows(plan, batch, context);
    for await (const nodes of findCandidates(plan, groups, context)) {
      yield* assignNodes(groups, nodeChooser(plan, nodes), number, context);
    }
  }
}

function groupRows(
  { filters, id }: PlanNode,
  batch: readonly PartialMatch[],
  context: MatchContext,
): readonly RowGroup[] {
  const numbers = [...filters.map(({ value }) => value), ...(id === undefined ? [] : [id])];
  const keyOf = (match: PartialMatch) => {
    const values = valuesOf(context, match);
    return rowKey(numbers.map((value) => values[value] ?? null));
  };
  return [...Map.groupBy(batch, keyOf).values()].flatMap((matches) => {
    const [first] = matches;
    return first === undefined ? [] : [{ values: valuesOf(context, first), matches }];
  });
}

/** Nodes that may be those of any group. */
async function* findCandidates(
  { labels, filters, id }: PlanNode,
  groups: readonly RowGroup[],
  { reader }: MatchContext,
): AsyncGenerator<readonly NodeEntity[]> {
  if (id === undefined) {
    yield* reader.scanNodes({ labels, filters, values: groups.map(({ values }) => values) });
    return;
  }
  const ids = new Set(groups.flatMap(({ values }) => idsOf(values[id] ?? null)));
  const nodes = await reader.nodes(ids);
  yield [...ids].flatMap((one) => nodes.get(one) ?? []);
}

/** An id, or a list of ids; what is no text is no id. */
function idsOf(value: CypherValue): readonly string[] {
  return (isList(value) ? value : [value]).filter((one) => typeof one === "string");
}

/** Gives the nodes that pass with the values of a group: found by id or by an equal property, where there is one. */
function nodeChooser(
  plan: PlanNode,
  nodes: readonly NodeEntity[],
): (values: readonly CypherValue[]) => readonly NodeEntity[] {
  const { id, filters } = plan;
  const equal = equalityOf(filters);
  const choose = (candidates: readonly NodeEntity[], values: readonly CypherValue[]) =>
    candidates.filter((node) => isNodeMatch(node, plan, values));
  if (id !== undefined) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    return (values) => {
      const ids = new Set(idsOf(values[id] ?? null));
      return choose(
        [...ids].flatMap((one) => byId.get(one) ?? []),
        values,
      );
    };
  }
  if (equal === undefined) return (values) => choose(nodes, values);
  const byKey = Map.groupBy(nodes, (node) => valueKey(node.properties.get(equal.key) ?? null));
  return (values) => choose(byKey.get(valueKey(values[equal.value] ?? null)) ?? [], values);
}

/** The matches of all groups together, so that the batches stay large. */
async function* assignNodes(
  groups: readonly RowGroup[],
  choose: (values: readonly CypherValue[]) => readonly NodeEntity[],
  number: number,
  { meter }: MatchContext,
): MatchStream {
  let out: PartialMatch[] = [];
  for (const { values, matches } of groups) {
    if (meter.shouldPause()) await meter.pause();
    const nodes = choose(values);
    for (const match of matches) {
      for (const node of nodes) {
        out.push({ ...match, nodes: match.nodes.map((one, index) => (index === number ? node : one)) });
        if (out.length < BATCH_ROWS) continue;
        meter.countRows(out.length);
        yield out;
        out = [];
      }
    }
  }
  meter.countRows(out.length);
  yield out;
}
