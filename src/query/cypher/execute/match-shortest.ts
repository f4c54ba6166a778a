// Matches shortestPath and allShortestPaths between two known nodes: breadth first, until the level where the other node is found.
import type { PlanRelationship } from "../plan/pattern-plan.ts";
import type { RelationshipEntity } from "./entities.ts";
import {
  assignRelationship,
  isRelationshipMatch,
  type MatchContext,
  numbered,
  otherEnd,
  type PartialMatch,
  valuesOf,
} from "./partial-match.ts";

type MatchStream = AsyncIterable<readonly PartialMatch[]>;

export async function* findShortestPaths(number: number, stream: MatchStream, context: MatchContext): MatchStream {
  const plan = numbered(context.plan.relationships, number);
  for await (const batch of stream) {
    for (const match of batch) {
      const paths = await shortestPaths(plan, match, context);
      context.meter.countRows(paths.length);
      yield paths.map((path) => assignRelationship(match, number, path, []));
    }
  }
}

/** How the nodes of a level were reached: by relationships from nodes of the level before. */
type Arrivals = Map<string, { readonly from: string; readonly by: RelationshipEntity }[]>;

async function shortestPaths(
  plan: PlanRelationship,
  match: PartialMatch,
  context: MatchContext,
): Promise<readonly (readonly RelationshipEntity[])[]> {
  const { reader, meter } = context;
  const start = match.nodes[plan.from]?.id;
  const goal = match.nodes[plan.to]?.id;
  if (start === undefined || goal === undefined) return [];
  const { min, max = Number.POSITIVE_INFINITY } = plan.length ?? { min: 1, max: 1 };
  if (start === goal) return min === 0 ? [[]] : [];
  const levels: Arrivals[] = [];
  const seen = new Set([start]);
  let frontier: readonly string[] = [start];
  while (frontier.length > 0 && levels.length < max) {
    const arrivals: Arrivals = new Map();
    const touching = await reader.expand({ nodes: frontier, direction: plan.direction, types: plan.types });
    const nodes = await reader.nodes([...touching].flatMap(([id, list]) => list.map((one) => otherEnd(one, id))));
    for (const [from, list] of touching) {
      for (const by of list) {
        meter.step();
        const to = otherEnd(by, from);
        if (seen.has(to) || nodes.get(to)?.isDeleted !== false) continue;
        if (!isRelationshipMatch(by, plan, valuesOf(context, match))) continue;
        const known = arrivals.get(to);
        if (known === undefined) arrivals.set(to, [{ from, by }]);
        else if (plan.shortest === "all") known.push({ from, by });
      }
    }
    levels.push(arrivals);
    if (arrivals.has(goal)) return pathsBack(goal, levels, context);
    frontier = [...arrivals.keys()];
    for (const id of frontier) seen.add(id);
    if (meter.isSliceSpent) await meter.pause();
  }
  return [];
}

/** Follows the arrivals from the goal to the start. */
function pathsBack(
  goal: string,
  levels: readonly Arrivals[],
  { meter }: MatchContext,
): readonly (readonly RelationshipEntity[])[] {
  let ends: readonly { readonly node: string; readonly path: readonly RelationshipEntity[] }[] = [
    { node: goal, path: [] },
  ];
  for (const arrivals of levels.toReversed()) {
    ends = ends.flatMap(({ node, path }) =>
      (arrivals.get(node) ?? []).map(({ from, by }) => ({ node: from, path: [by, ...path] })),
    );
    meter.countRows(ends.length);
  }
  return ends.map(({ path }) => path);
}
