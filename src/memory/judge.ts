// Asks the caller's judge about facts that look alike. What it names is guarded, so that its verdict is about what it has seen: if
// one of the memories that it names changes meanwhile, it is asked again.
import { LIMITS } from "../contracts/limits.ts";
import type { JudgedFact, Memory, MemoryVerdict } from "../contracts/memory.ts";
import type { Guard } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import { checkArray, checkId, checkRecord, invalid } from "../core/check.ts";
import type { NewFact } from "./new-fact.ts";
import { isExpired, isOpen, memoryOf, versionGuard } from "./rows.ts";
import { findAlike, type IndexedMemories } from "./search.ts";

export interface Judgement {
  /** The memory that says the same. */
  readonly same: MemoryRow | null;
  readonly replaced: readonly MemoryRow[];
  readonly guards: readonly Guard[];
}

const NO_JUDGEMENT: Judgement = { same: null, replaced: [], guards: [] };

/** The judge is not asked twice about the same versions of the same memories. */
export function judgeFact(stores: IndexedMemories, fact: NewFact, scope: number): (now: number) => Promise<Judgement> {
  const { judge } = fact;
  if (judge === undefined) return async () => NO_JUDGEMENT;
  let answered: { readonly about: string; readonly verdict: MemoryVerdict } | undefined;
  return async (now) => {
    const rows = (await findCandidates(stores, fact, scope, now)).slice(0, LIMITS.memoriesJudged);
    if (rows.length === 0) return NO_JUDGEMENT;
    const about = JSON.stringify(rows.map(({ id, version }) => [id, version]));
    if (answered?.about !== about) {
      const given = await judge(describeFact(fact, now), rows.map(memoryOf));
      answered = { about, verdict: checkVerdict(given, rows) };
    }
    return judgementOf(answered.verdict, rows);
  };
}

/** What its words find first, then what is known about its subject. */
async function findCandidates(
  stores: IndexedMemories,
  fact: NewFact,
  scope: number,
  now: number,
): Promise<readonly MemoryRow[]> {
  const limit = LIMITS.memoriesJudged;
  const alike = await findAlike(stores, { scope, text: fact.content, limit, now });
  const params = { scope, last: Number.MAX_SAFE_INTEGER, now, kind: null, all: 0, limit };
  const about =
    fact.subjectKey === null
      ? []
      : await stores.storage.query("memories.bySubject", { ...params, subject: fact.subjectKey });
  const rows = [...alike, ...about].filter((row) => !isExpired(row, now) && isOpen(row, now));
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

function describeFact({ content, kind, subject, attribute, value, validFrom }: NewFact, now: number): JudgedFact {
  return { content, kind, subject, attribute, value, validFrom: validFrom ?? now };
}

/** A verdict comes from the caller's code: it is checked like an argument. */
function checkVerdict(given: unknown, rows: readonly MemoryRow[]): MemoryVerdict {
  if (given === null || given === undefined) return {};
  const verdict = checkRecord(given, "the judge's verdict", ["sameAs", "supersedes"]);
  const known = (value: unknown, what: string): Memory["id"] => {
    const id = checkId(value, what);
    if (rows.some((row) => row.id === id)) return id;
    throw invalid(what, "the id of one of the candidates", id, "Name only memories that the judge was given.");
  };
  const { sameAs, supersedes } = verdict;
  return {
    ...(sameAs === undefined ? {} : { sameAs: known(sameAs, "the verdict's sameAs") }),
    ...(supersedes === undefined
      ? {}
      : {
          supersedes: checkArray(supersedes, "the verdict's supersedes", "memoriesJudged").map((id, i) =>
            known(id, `the verdict's supersedes[${i}]`),
          ),
        }),
  };
}

function judgementOf({ sameAs, supersedes = [] }: MemoryVerdict, rows: readonly MemoryRow[]): Judgement {
  const same = rows.find(({ id }) => id === sameAs) ?? null;
  const replaced = rows.filter(({ id }) => supersedes.includes(id) && id !== sameAs);
  return { same, replaced, guards: [...(same === null ? [] : [same]), ...replaced].map(versionGuard) };
}
