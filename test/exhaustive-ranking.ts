// The ranking of items by scoring every unit of a snapshot: plain loops over maps, so that it is easy to believe.
import { fieldTerm, type IndexSnapshot, type PostingList } from "../src/search/index/reader.ts";
import { frequencyOf } from "../src/search/ranking/impact.ts";
import type { ItemRankingOptions, RankedItem } from "../src/search/ranking/rank-items.ts";
import { compareUnits } from "../src/search/ranking/ranking.ts";
import { ONE, rarityOf, TERM_SCORE_MAX, termScore, WEIGHTS } from "../src/search/ranking/weights.ts";
import type { IndexQuery } from "../src/search/text/query.ts";

type Impacts = ReadonlyMap<number, number>;

/** All items that have a term of the query, best first. */
export async function exhaustiveRanking(
  snapshot: IndexSnapshot,
  query: IndexQuery,
  { selection = {}, factors = { max: ONE, factorOf: () => ONE } }: ItemRankingOptions,
): Promise<readonly RankedItem[]> {
  const { units } = snapshot;
  const weights = WEIGHTS[snapshot.kind];
  const all = Array.from({ length: units.count }, (_, unit) => unit);
  const impactsOf = async (terms: readonly string[]) => (await snapshot.readPostings(terms)).map(toImpacts);
  const itemOf = (unit: number) => `${units.group[unit]}/${units.item[unit]}`;
  const itemsWith = (impacts: Impacts) => new Set([...impacts.keys()].map(itemOf));

  const terms: Impacts[] = await impactsOf([...new Set([...query.terms, ...query.phrases.flat()])]);
  for (const sequence of [...query.phrases, ...query.compounds]) {
    if (sequence.length < 2) continue;
    const parts = await impactsOf(sequence);
    terms.push(
      new Map(
        all
          .filter((unit) => parts.every((part) => part.has(unit)))
          .map((unit) => [unit, Math.min(...parts.map((part) => part.get(unit) ?? 0))]),
      ),
    );
  }
  for (const { prefix, stem } of query.prefixes) {
    const parts = await impactsOf([...new Set([...(await snapshot.termsWithPrefix(prefix, 64)), stem])]);
    terms.push(
      new Map(
        all
          .filter((unit) => parts.some((part) => part.has(unit)))
          .map((unit) => [unit, Math.max(...parts.map((part) => part.get(unit) ?? 0))]),
      ),
    );
  }

  const phrases = await Promise.all(query.phrases.map(async (phrase) => (await impactsOf(phrase)).map(itemsWith)));
  const excludedTerms = query.excluded.phrases.filter(({ length }) => length === 1).flat();
  const excluded = (await impactsOf(excludedTerms)).map(itemsWith);
  const fields = await Promise.all(
    (selection.fields ?? []).map(async ({ field, values, isExcluded }) => ({
      isExcluded,
      lists: await impactsOf(values.map((value) => fieldTerm(field, value))),
    })),
  );
  const isAllowed = (unit: number) =>
    (selection.groups?.(units.groupNumbers[units.group[unit] ?? -1] ?? -1) ?? true) &&
    (selection.flags?.has(units.flags[unit] ?? -1) ?? true) &&
    (units.minutes[unit] ?? 0) >= (selection.since ?? 0) &&
    (units.minutes[unit] ?? 0) <= (selection.until ?? Number.POSITIVE_INFINITY) &&
    fields.every(({ lists, isExcluded }) => lists.some((list) => list.has(unit)) !== isExcluded) &&
    phrases.flat().every((items) => items.has(itemOf(unit))) &&
    excluded.every((items) => !items.has(itemOf(unit)));

  const found = terms.filter(({ size }) => size > 0);
  const groupsOf = (impacts: Impacts) => new Set([...impacts.keys()].map((unit) => units.group[unit]));
  const rarities = found.map((impacts) =>
    weights.isRareByGroup
      ? rarityOf(groupsOf(impacts).size, units.groupNumbers.length)
      : rarityOf(impacts.size, units.count),
  );
  const lengths = Array.from(units.groupNumbers, (_, group) =>
    all.filter((unit) => units.group[unit] === group).reduce((sum, unit) => sum + (units.words[unit] ?? 0), 0),
  );
  const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
  const step = (unit: number, link: Int32Array) => (unit === -1 ? -1 : (link[unit] ?? -1));

  const ranked = all.flatMap((unit) => {
    const near = [step(unit, units.previous), step(unit, units.next)];
    const far = [step(near[0] ?? -1, units.previous), step(near[1] ?? -1, units.next)];
    const group = units.group[unit] ?? -1;
    let text = 0;
    let ofGroup = 0;
    for (const [index, impacts] of found.entries()) {
      const rarity = rarities[index] ?? 0;
      const at = (other: number) => impacts.get(other) ?? 0;
      const sum =
        at(unit) * weights.own +
        near.reduce((total, other) => total + at(other), 0) * weights.near +
        far.reduce((total, other) => total + at(other), 0) * weights.far;
      text += rarity * termScore(sum);
      const frequency = [...impacts]
        .filter(([other]) => units.group[other] === group)
        .reduce((total, [other, impact]) => total + frequencyOf(impact, units.words[other] ?? 0), 0);
      const half = 128 * (0.25 + (0.75 * (lengths[group] ?? 0)) / Math.max(1, mean));
      ofGroup += rarity * Math.ceil((TERM_SCORE_MAX * frequency) / (frequency + half));
    }
    if (text === 0 || !isAllowed(unit)) return [];
    if (weights.group === 0) ofGroup = 0;
    const factor = factors.factorOf(unit);
    const score = (text * ONE + ofGroup * weights.group) * factor;
    return [{ unit, score, text, group: ofGroup, factor }];
  });
  const bestText = rarities.reduce((sum, rarity) => sum + rarity, 0) * TERM_SCORE_MAX;
  const seen = new Set<string>();
  return ranked
    .sort((a, b) => b.score - a.score || compareUnits(units, a.unit, b.unit))
    .filter(({ unit }) => !seen.has(itemOf(unit)) && seen.add(itemOf(unit)))
    .map((one) => ({
      ...one,
      groupNumber: units.groupNumbers[units.group[one.unit] ?? -1] ?? -1,
      item: units.item[one.unit] ?? -1,
      part: units.part[one.unit] ?? -1,
      share: one.score / (bestText * (ONE + weights.group) * factors.max),
      textShare: one.text / bestText,
      groupShare: one.group / bestText,
    }));
}

function toImpacts({ units, impacts, count }: PostingList): Impacts {
  return new Map(Array.from({ length: count }, (_, at) => [units[at] ?? -1, impacts[at] ?? 0]));
}
