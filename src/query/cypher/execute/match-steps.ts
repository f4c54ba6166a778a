// Matches a plan step by step for many rows at once: each step reads what it needs for all rows of a batch in one request. The
// steps are a pipeline, so that a LIMIT ends them early.
import { type MatchStep, orderSteps } from "../plan/match-order.ts";
import type { MatchInput, PatternPlan } from "../plan/pattern-plan.ts";
import type { NodeEntity, RelationshipEntity } from "./entities.ts";
import { expandPaths } from "./match-paths.ts";
import { scanNodes } from "./match-scan.ts";
import { findShortestPaths } from "./match-shortest.ts";
import type { QueryMeter } from "./meter.ts";
import {
  assignRelationship,
  directionFrom,
  type EntityReader,
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
import { BATCH_ROWS } from "./row.ts";

/** A match of one input row, by the numbers of the plan. */
export interface Match {
  readonly input: number;
  readonly nodes: readonly NodeEntity[];
  readonly relationships: readonly (readonly RelationshipEntity[])[];
}

type MatchStream = AsyncIterable<readonly PartialMatch[]>;

export async function* matchStepwise(
  reader: EntityReader,
  meter: QueryMeter,
  plan: PatternPlan,
  inputs: readonly MatchInput[],
): AsyncGenerator<readonly Match[]> {
  const context: MatchContext = { reader, meter, plan, inputs, answered: new Set() };
  let stream: MatchStream = beginMatches(context);
  for (const step of orderSteps(plan)) stream = pausing(runStep(step, stream, context), context);
  for await (const batch of stream) yield (plan.isExistence ? answerOnce(batch, context) : batch).map(completeMatch);
}

/** One match of each row; the steps leave the others of its row out from now on. */
function answerOnce(batch: readonly PartialMatch[], { answered }: MatchContext): readonly PartialMatch[] {
  return batch.filter(({ input }) => {
    if (answered.has(input)) return false;
    answered.add(input);
    return true;
  });
}

function completeMatch(match: PartialMatch): Match {
  const isAssigned = <T>(one: T | undefined): one is T => one !== undefined;
  const { input, nodes, relationships } = match;
  if (nodes.every(isAssigned) && relationships.every(isAssigned)) return { input, nodes, relationships };
  throw new Error("bug: the steps of a match do not assign all of its parts");
}

async function* pausing(stream: MatchStream, { meter, answered }: MatchContext): MatchStream {
  for await (const batch of stream) {
    meter.step();
    const open = answered.size === 0 ? batch : batch.filter(({ input }) => !answered.has(input));
    if (open.length > 0) yield open;
    if (meter.isSliceSpent) await meter.pause();
  }
}

/** Bound nodes are assigned at the beginning; a row whose node is deleted has no match. */
async function* beginMatches({ reader, plan, inputs }: MatchContext): MatchStream {
  for (let from = 0; from < inputs.length; from += BATCH_ROWS) {
    const batch = inputs.slice(from, from + BATCH_ROWS);
    const nodes = await reader.nodes(batch.flatMap((input) => input.nodes.filter((id) => id !== undefined)));
    const matches = batch.map((input, index) => ({
      input: from + index,
      nodes: plan.nodes.map((_, node) => nodes.get(input.nodes[node] ?? "")),
      relationships: plan.relationships.map(() => undefined),
    }));
    const isThere = (match: PartialMatch) =>
      plan.nodes.every(({ isBound }, node) => !isBound || match.nodes[node]?.isDeleted === false);
    yield matches.filter(isThere);
  }
}

function runStep(step: MatchStep, stream: MatchStream, context: MatchContext): MatchStream {
  switch (step.kind) {
    case "checkNode":
      return checkNode(step.node, stream, context);
    case "scanNodes":
      return scanNodes(step.node, stream, context);
    case "bindRelationship":
      return bindRelationship(step.relationship, stream, context);
    case "expand":
      return expand(step.relationship, step.isReversed, stream, context);
    case "expandPath":
      return expandPaths(step.relationship, step.isReversed, stream, context);
    case "shortest":
      return findShortestPaths(step.relationship, stream, context);
  }
}

async function* checkNode(number: number, stream: MatchStream, context: MatchContext): MatchStream {
  const plan = numbered(context.plan.nodes, number);
  for await (const batch of stream) {
    yield batch.filter((match) => {
      const node = match.nodes[number];
      return node !== undefined && isNodeMatch(node, plan, valuesOf(context, match));
    });
  }
}

/** The relationship of an earlier clause gives its nodes, in either direction if the pattern has none. */
async function* bindRelationship(number: number, stream: MatchStream, context: MatchContext): MatchStream {
  const plan = numbered(context.plan.relationships, number);
  for await (const batch of stream) {
    const known = await context.reader.relationships(
      batch.flatMap((match) => inputOf(context, match).relationships[number] ?? []),
    );
    const ends = [...known.values()].flatMap(({ source, target }) => [source, target]);
    const nodes = await context.reader.nodes(ends);
    yield batch.flatMap((match) => {
      const [id = ""] = inputOf(context, match).relationships[number] ?? [];
      const relationship = known.get(id);
      if (relationship === undefined || !isRelationshipMatch(relationship, plan, valuesOf(context, match))) return [];
      if (isUsed(match, relationship, context.plan)) return [];
      const { source, target } = relationship;
      const directions: (readonly [string, string])[] = plan.direction === "in" ? [] : [[source, target]];
      if (plan.direction === "in" || (plan.direction === "either" && source !== target))
        directions.push([target, source]);
      return directions.flatMap(([from, to]) => {
        const fromNode = nodes.get(from);
        const toNode = nodes.get(to);
        if (fromNode === undefined || toNode === undefined) return [];
        if (plan.from === plan.to && from !== to) return [];
        if (!fits(plan.from, fromNode, match, context) || !fits(plan.to, toNode, match, context)) return [];
        return [
          assignRelationship(
            match,
            number,
            [relationship],
            [
              [plan.from, fromNode],
              [plan.to, toNode],
            ],
          ),
        ];
      });
    });
  }
}

/** An assigned node must be this one; another one must pass the filters. */
function fits(number: number, node: NodeEntity, match: PartialMatch, context: MatchContext): boolean {
  const assigned = match.nodes[number];
  if (assigned !== undefined) return assigned === node;
  return isNodeMatch(node, numbered(context.plan.nodes, number), valuesOf(context, match));
}

async function* expand(number: number, isReversed: boolean, stream: MatchStream, context: MatchContext): MatchStream {
  const { reader, meter } = context;
  const plan = numbered(context.plan.relationships, number);
  const [from, to] = isReversed ? [plan.to, plan.from] : [plan.from, plan.to];
  const direction = directionFrom(plan, isReversed);
  for await (const batch of stream) {
    const starts = [...new Set(batch.flatMap((match) => match.nodes[from]?.id ?? []))];
    const touching = await reader.expand({ nodes: starts, direction, types: plan.types });
    const ends = [...touching].flatMap(([id, list]) => list.map((one) => otherEnd(one, id)));
    const nodes = await reader.nodes(ends);
    let out: PartialMatch[] = [];
    for (const match of batch) {
      const start = match.nodes[from]?.id ?? "";
      const values = valuesOf(context, match);
      for (const relationship of touching.get(start) ?? []) {
        if (meter.shouldPause()) await meter.pause();
        const end = nodes.get(otherEnd(relationship, start));
        if (end === undefined || end.isDeleted || !isRelationshipMatch(relationship, plan, values)) continue;
        if (isUsed(match, relationship, context.plan) || !fits(to, end, match, context)) continue;
        out.push(assignRelationship(match, number, [relationship], [[to, end]]));
        if (out.length < BATCH_ROWS) continue;
        meter.countRows(out.length);
        yield out;
        out = [];
      }
    }
    meter.countRows(out.length);
    yield out;
  }
}
