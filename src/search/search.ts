// Conversation search: words of a query in the messages of all sessions, ranked, read and shown.
import { HoldfastError } from "../contracts/errors.ts";
import type { SearchHit, Searching, SearchOptions, SearchResults } from "../contracts/search.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { TextLanguage } from "../contracts/text-index.ts";
import { SEARCH_VERBS } from "../contracts/verbs/search.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { invalid } from "../core/check.ts";
import type { SessionLookup } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { type MeaningSearch, questionOf, readMeaning } from "../embeddings/query-vector.ts";
import { isQuestion } from "../vectors/query-text.ts";
import { MESSAGES_COLLECTION } from "../vectors/reserved.ts";
import { readMessageFactors } from "./factors.ts";
import { FILTER_FIELDS, readMessageFilter } from "./filters.ts";
import { type FoundHit, findHits } from "./find-hits.ts";
import { type MessageRanking, openHybridRanking } from "./hybrid-ranking.ts";
import { searchIsOff } from "./index/search-off.ts";
import { searchSlice } from "./index/slice.ts";
import { type MessageIndexOptions, textIndexOf } from "./index/snapshot.ts";
import { readNeighbours } from "./neighbours.ts";
import { checkQueryTerms } from "./ranking/query-limits.ts";
import { openItemRanking } from "./ranking/rank-items.ts";
import { fitBudget } from "./select-hits.ts";
import { shownAnywhere, shownIn } from "./shown-messages.ts";
import { type IndexQuery, parseQuery, toIndexQuery } from "./text/query.ts";
import { openVectorsBeside } from "./vectors-beside.ts";

const LIMIT_DEFAULT = 10;
/** A budget ends the list, so that it may be longer. */
const LIMIT_WITH_BUDGET = 100;
/** What a reranking gets, for each hit that it may return. */
const RERANKED_SHARE = 4;

type Options = ValueOf<(typeof SEARCH_VERBS.search.params)[1]["schema"]>;

/** `settings` is null if the store was opened without an index. */
export function createSearching(
  { storage, payloads, settings, meaning }: SearchParts,
  lookup: SessionLookup,
): Searching {
  return bindVerbs(SEARCH_VERBS, lookup, {
    search: async (query, options) => {
      if (settings === null) throw searchIsOff();
      const index = { payloads, language: settings.language };
      return searchMessages({ storage, index, meaning }, query, options);
    },
  });
}

interface SearchParts {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly settings: { readonly language: TextLanguage } | null;
  /** null: without an embedder, or it does not embed messages. */
  readonly meaning: MeaningSearch | null;
}

interface MessageSearch {
  readonly storage: Storage;
  readonly index: MessageIndexOptions;
  readonly meaning: MeaningSearch | null;
}

async function searchMessages(
  { storage, index, meaning }: MessageSearch,
  text: string,
  options: Options,
): Promise<SearchResults> {
  const { payloads } = index;
  checkAborted(options.signal);
  const reading = await textIndexOf(storage, "messages", index).startReading();
  const { language } = reading;
  const parsed = parseQuery(text, FILTER_FIELDS);
  const query = toIndexQuery(parsed, language);
  checkQueryTerms(query);
  const { since = 0, until = Number.MAX_SAFE_INTEGER } = options;
  if (since > until) throw invalid("since", "at most until", since);
  const { session, rewound, neighbours, rerank, tokens, signal } = options;
  const shown = session === undefined ? shownAnywhere(storage, rewound) : await shownIn(storage, session, rewound);
  const question = meaning === null ? "" : questionOf(text, parsed);
  const mode = meaning === null ? "text" : "hybrid";
  if (isEmpty(query) && !isQuestion(question)) return { mode, hits: [] };
  // The embedder may be a server: its answer is not waited for before the index is read.
  const asking = meaning === null ? null : readMeaning(storage, meaning, MESSAGES_COLLECTION, question, signal);
  asking?.catch(() => undefined);
  const slice = searchSlice(storage.environment);
  const filter = await readMessageFilter(storage, options, parsed, shown.logs);
  const limit = options.limit ?? (tokens === undefined ? LIMIT_DEFAULT : LIMIT_WITH_BUDGET);
  let about: Omit<SearchResults, "hits"> = { mode };
  const found = await reading.read(async (snapshot) => {
    const factors = await readMessageFactors(snapshot, query);
    const byWords = await openItemRanking(snapshot, query, slice, { selection: filter.selection, factors });
    const asked = await asking;
    checkAborted(signal);
    let ranking: MessageRanking = byWords;
    if (asked !== null && asked.vector !== null) {
      const beside = await openVectorsBeside(snapshot, { storage, filter, shown, slice });
      const hybrid = await openHybridRanking(snapshot, byWords, asked, beside, slice);
      about = { mode, waiting: hybrid.waiting };
      ranking = hybrid;
    } else if (asked !== null) {
      about =
        asked.warning === null ? { mode, waiting: snapshot.units.count } : { mode: "text", warning: asked.warning };
    }
    return findHits(
      { storage, payloads, query, language, ranking, factors, filter, shown, slice },
      rerank === undefined ? limit : limit * RERANKED_SHARE,
      options.perSession,
    );
  });
  const ordered = rerank === undefined ? found : (await rerankHits(found, text, rerank)).slice(0, limit);
  const hits = await Promise.all(
    ordered.map(async ({ hit, showing }): Promise<SearchHit> => {
      if (neighbours === 0) return hit;
      const reads = { storage, payloads, query, language } as const;
      return { ...hit, ...(await readNeighbours(reads, await showing.readLine(), hit.seq, neighbours)) };
    }),
  );
  return { ...about, hits: tokens === undefined ? hits : fitBudget(hits, tokens) };
}

function checkAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new HoldfastError("Aborted", "the search ended, because its signal was aborted", { cause: signal.reason });
}

function isEmpty({ terms, phrases, prefixes }: IndexQuery): boolean {
  return terms.length === 0 && phrases.length === 0 && prefixes.length === 0;
}

async function rerankHits(
  found: readonly FoundHit[],
  text: string,
  rerank: NonNullable<SearchOptions["rerank"]>,
): Promise<readonly FoundHit[]> {
  const scores: unknown = await rerank(
    text,
    found.map(({ hit }) => hit),
  );
  if (!Array.isArray(scores) || scores.length !== found.length || !scores.every(Number.isFinite)) {
    throw new HoldfastError("InvalidArgument", "rerank did not return a finite number for each hit", {
      details: { hits: found.length },
      hint: "Return a list with one score for each hit, in the order of the hits.",
    });
  }
  return found
    .map(({ hit, showing }, index) => {
      const value = Number(scores[index]);
      return {
        value,
        showing,
        hit: { ...hit, signals: [...hit.signals, { name: "rerank" as const, value, weight: 1 }] },
      };
    })
    .sort((a, b) => b.value - a.value);
}
