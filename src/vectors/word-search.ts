// Ranks the documents of a collection by the words of a query. Documents of one language are ranked together, by the query in that
// language; the scores of all are of one scale, because words are rare by how many documents of the whole collection have them.
import type { TimeSlice } from "../core/time-slice.ts";
import { LANGUAGE_FIELD } from "../search/index/document-index.ts";
import { oneGroup } from "../search/index/one-group.ts";
import { fieldTerm, type IndexSnapshot, type UnitTable } from "../search/index/reader.ts";
import type { TextIndex } from "../search/index/text-index.ts";
import { checkQueryTerms } from "../search/ranking/query-limits.ts";
import { type FieldValues, openItemRanking, type RankedItem } from "../search/ranking/rank-items.ts";
import { type IndexQuery, parseQuery, toIndexQuery } from "../search/text/query.ts";
import { TEXT_LANGUAGES, type TextLanguage } from "../search/text/stem.ts";

/** A query and the index that it searches. */
export class WordQuery {
  readonly index: TextIndex;
  /** That of documents without one of their own. */
  readonly language: TextLanguage;
  readonly #text: string;
  readonly #queries = new Map<TextLanguage, IndexQuery>();

  private constructor(index: TextIndex, language: TextLanguage, text: string) {
    this.index = index;
    this.language = language;
    this.#text = text;
  }

  /** Refuses a query of too many words before anything is searched. */
  static async read(index: TextIndex, text: string): Promise<WordQuery> {
    const query = new WordQuery(index, await index.readLanguage(), text);
    query.in(query.language);
    return query;
  }

  in(language: TextLanguage): IndexQuery {
    const known = this.#queries.get(language);
    if (known !== undefined) return known;
    const query = toIndexQuery(parseQuery(this.#text, []), language);
    checkQueryTerms(query);
    this.#queries.set(language, query);
    return query;
  }
}

export interface WordMatch {
  readonly item: number;
  /** The passage that has most of the query. */
  readonly part: number;
  /** From 0 to 1. */
  readonly share: number;
}

export interface WordSelection {
  readonly collection: number;
  /** null: all. */
  readonly items: readonly number[] | null;
  readonly limit: number;
}

/** Best first. What other collections hold changes no score. */
export function rankByWords(
  query: WordQuery,
  { collection, items, limit }: WordSelection,
  slice: TimeSlice,
): Promise<readonly WordMatch[]> {
  const allowed = items === null ? null : new Set(items);
  const groups = allowed === null ? {} : { groups: (item: number) => allowed.has(item) };
  return query.index.read(async (snapshot) => {
    const documents = oneGroup(snapshot, collection);
    if (documents === null) return [];
    const found: LanguageRanking[] = [];
    for (const { language, fields } of await readLanguages(documents, query.language)) {
      const ranking = await openItemRanking(documents, query.in(language), slice, { selection: { ...groups, fields } });
      found.push({ best: await ranking.best(limit), highestScore: ranking.highestScore });
    }
    return mergeRankings(found, limit);
  });
}

interface LanguageSelection {
  readonly language: TextLanguage;
  /** What tells its documents from the others; of a collection of one language nothing. */
  readonly fields: readonly FieldValues[];
}

/** How many units have each language as their own. Searches of an index that has not changed share it. */
const counted = new WeakMap<UnitTable, ReadonlyMap<TextLanguage, number>>();

async function readLanguages(documents: IndexSnapshot, store: TextLanguage): Promise<readonly LanguageSelection[]> {
  const counts = counted.get(documents.units) ?? (await countLanguages(documents));
  counted.set(documents.units, counts);
  const others = [...counts.keys()].filter((language) => language !== store);
  const withOthers = others.reduce((sum, language) => sum + (counts.get(language) ?? 0), 0);
  const isMixed = others.length > 1 || withOthers < documents.units.count;
  const own = others.map((language): LanguageSelection => {
    const fields = [{ field: LANGUAGE_FIELD, values: [language], isExcluded: false }];
    return { language, fields: isMixed ? fields : [] };
  });
  if (withOthers === documents.units.count) return own;
  const fields = [{ field: LANGUAGE_FIELD, values: others, isExcluded: true }];
  return [{ language: store, fields: isMixed && others.length > 0 ? fields : [] }, ...own];
}

async function countLanguages(documents: IndexSnapshot): Promise<ReadonlyMap<TextLanguage, number>> {
  const lists = await documents.readPostings(TEXT_LANGUAGES.map((language) => fieldTerm(LANGUAGE_FIELD, language)));
  const counts = TEXT_LANGUAGES.map((language, index) => [language, lists[index]?.count ?? 0] as const);
  return new Map(counts.filter(([, count]) => count > 0));
}

interface LanguageRanking {
  readonly best: readonly RankedItem[];
  readonly highestScore: number;
}

/** Scores compare across languages; shares are of the highest that there could be in any. Of equal scores the newer document is first. */
function mergeRankings(rankings: readonly LanguageRanking[], limit: number): readonly RankedItem[] {
  const [first, ...others] = rankings;
  if (first === undefined || others.length === 0) return first?.best ?? [];
  const highest = Math.max(...rankings.map(({ highestScore }) => highestScore));
  return rankings
    .flatMap(({ best }) => best)
    .sort((a, b) => b.score - a.score || b.item - a.item)
    .slice(0, limit)
    .map((one) => ({ ...one, share: highest === 0 ? 0 : one.score / highest }));
}
