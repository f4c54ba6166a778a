// Matches relationships of a variable length: walks from the known node, level by level, for all rows of a batch in one request per
// level. Walks that wait are on a stack, so that memory grows with the depth and not with the number of paths.
import type { PlanRelationship } from "../plan/pattern-plan.ts";
import type { NodeEntity, RelationshipEntity } from "./entities.ts";
import {
  assignRelationship,
  directionFrom,
  inputOf,
  isNodeMatch,
  isRelationshipMatch,
  isUsed,
  type MatchContext,
  numbered,
  otherEnd,
  type PartialMatch,
  valuesOf,
} from "./partial-match.ts";

type MatchStream = AsyncIterable<readonly PartialMatch[]>;

/** Walks that go on together. */
const WALKS = 128;

interface Walk {
  readonly match: PartialMatch;
  readonly end: NodeEntity;
  /** From the node where the walk began. */
  readonly path: readonly RelationshipEntity[];
}

interface PathStep {
  readonly context: MatchContext;
  readonly number: number;
  readonly plan: PlanRelationship;
  readonly isReversed: boolean;
  /** Numbers of the nodes where the walk begins and ends. */
  readonly from: number;
  readonly to: number;
  readonly min: number;
  readonly max: number;
}

export async function* expandPaths(
  number: number,
  isReversed: boolean,
  stream: MatchStream,
  context: MatchContext,
): MatchStream {
  const plan = numbered(context.plan.relationships, number);
  const [from, to] = isReversed ? [plan.to, plan.from] : [plan.from, plan.to];
  const { min = 1, max = Number.POSITIVE_INFINITY } = plan.length ?? {};
  const step: PathStep = { context, number, plan, isReversed, from, to, min, max };
  for await (const batch of stream) {
    if (plan.isBound) yield await followLists(batch, step);
    else yield* walkFrom(batch, step);
  }
}

async function* walkFrom(batch: readonly PartialMatch[], step: PathStep): MatchStream {
  const { context, from, min, max } = step;
  const begin = batch.flatMap((match): Walk[] => {
    const end = match.nodes[from];
    return end === undefined ? [] : [{ match, end, path: [] }];
  });
  if (min === 0) yield begin.flatMap((walk) => endWalk(walk, step));
  const waiting: Walk[][] = [];
  const wait = (walks: readonly Walk[]) => {
    for (let at = walks.length; at > 0; at -= WALKS) waiting.push(walks.slice(Math.max(0, at - WALKS), at));
  };
  if (max > 0) wait(begin);
  for (let walks = waiting.pop(); walks !== undefined; walks = waiting.pop()) {
    const open = walks.filter(({ match }) => !context.answered.has(match.input));
    const next = await lengthen(open, step);
    context.meter.countRows(next.length);
    context.meter.checkTime();
    yield next.filter(({ path }) => path.length >= min).flatMap((walk) => endWalk(walk, step));
    wait(next.filter(({ path }) => path.length < max));
    if (context.meter.isSliceSpent) await context.meter.pause();
  }
}

async function lengthen(walks: readonly Walk[], step: PathStep): Promise<readonly Walk[]> {
  const { context, plan, isReversed } = step;
  const { reader, meter } = context;
  const starts = [...new Set(walks.map(({ end }) => end.id))];
  const direction = directionFrom(plan, isReversed);
  const touching = await reader.expand({ nodes: starts, direction, types: plan.types });
  const ends = [...touching].flatMap(([id, list]) => list.map((one) => otherEnd(one, id)));
  const nodes = await reader.nodes(ends);
  const next: Walk[] = [];
  for (const { match, end, path } of walks) {
    const values = valuesOf(context, match);
    for (const relationship of touching.get(end.id) ?? []) {
      if (meter.shouldPause()) await meter.pause();
      if (path.includes(relationship) || isUsed(match, relationship, context.plan)) continue;
      if (!isRelationshipMatch(relationship, plan, values)) continue;
      const node = nodes.get(otherEnd(relationship, end.id));
      if (node === undefined || node.isDeleted) continue;
      next.push({ match, end: node, path: [...path, relationship] });
    }
  }
  return next;
}

/** The match, if the walk may end here. */
function endWalk(walk: Walk, step: PathStep): readonly PartialMatch[] {
  const { context, number, to, isReversed } = step;
  const { match, end, path } = walk;
  const assigned = match.nodes[to];
  const isFit =
    assigned === undefined
      ? isNodeMatch(end, numbered(context.plan.nodes, to), valuesOf(context, match))
      : assigned === end;
  return isFit ? [assignRelationship(match, number, isReversed ? path.toReversed() : path, [[to, end]])] : [];
}

/** A list of relationships from an earlier clause: it must be a path of the pattern. */
async function followLists(batch: readonly PartialMatch[], step: PathStep): Promise<readonly PartialMatch[]> {
  const { context, number, isReversed } = step;
  const lists = batch.map((match) => inputOf(context, match).relationships[number] ?? []);
  const known = await context.reader.relationships(lists.flat());
  const nodes = await context.reader.nodes([...known.values()].flatMap(({ source, target }) => [source, target]));
  return batch.flatMap((match, index) => {
    const list = (lists[index] ?? []).flatMap((id) => known.get(id) ?? []);
    const path = isReversed ? list.toReversed() : list;
    const end = followList(path, match, step, nodes);
    if (end === undefined || path.length < step.min || path.length > step.max) return [];
    return endWalk({ match, end, path }, step);
  });
}

function followList(
  path: readonly RelationshipEntity[],
  match: PartialMatch,
  step: PathStep,
  nodes: ReadonlyMap<string, NodeEntity>,
): NodeEntity | undefined {
  const { context, plan, isReversed, from } = step;
  const direction = directionFrom(plan, isReversed);
  let end = match.nodes[from];
  for (const relationship of path) {
    if (end === undefined) return undefined;
    const isOut = relationship.source === end.id && direction !== "in";
    const isIn = relationship.target === end.id && direction !== "out";
    if (!isOut && !isIn) return undefined;
    if (isUsed(match, relationship, context.plan)) return undefined;
    if (!isRelationshipMatch(relationship, plan, valuesOf(context, match))) return undefined;
    end = nodes.get(isOut ? relationship.target : relationship.source);
  }
  return end;
}
