// Saves a fact: confirms the memory that says the same, or adds one, which takes the place of others for a reason that the caller
// or the fact's attribute gives. The lock of the scope makes this decision once for all writers.
import type { JsonObject } from "../contracts/json.ts";
import type { SavedMemory } from "../contracts/memory.ts";
import type { Commit, Guard, Write } from "../contracts/storage/commit.ts";
import type { MemoryRow } from "../contracts/storage/memory-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { encodeText } from "../core/bytes.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import { fieldsOf } from "../core/metadata-fields.ts";
import { removeFieldsWrite } from "../core/metadata-index.ts";
import { newId } from "../core/new-id.ts";
import { type Judgement, judgeFact } from "./judge.ts";
import { endAfter, expiryOf, type NewFact } from "./new-fact.ts";
import {
  IMPORTANCE_UNITS,
  insertChange,
  insertMemory,
  isExpired,
  isOpen,
  type MemoryColumns,
  memoryOf,
  putMemory,
  versionGuard,
  writable,
} from "./rows.ts";
import { ensureScope, scopeGuard } from "./scopes.ts";
import type { IndexedMemories } from "./search.ts";
import { planSupersession, replaceMemory, type SupersessionPlan } from "./supersession.ts";

type SaveDecision = Decision<SavedMemory> | FinalAnswer<SavedMemory>;

export async function saveFact(stores: IndexedMemories, fact: NewFact): Promise<SavedMemory> {
  const { storage } = stores;
  const scope = await ensureScope(storage, fact);
  const judged = judgeFact(stores, fact, scope);
  return decide(storage, async (): Promise<SaveDecision> => {
    const now = storage.environment.now();
    const [mark] = await storage.query("memory.newestSame", { digest: fact.digest, scope });
    const guards: readonly Guard[] = [
      scopeGuard(scope),
      { check: "memory.same", key: [fact.digest, scope], expect: mark?.value ?? null },
    ];
    const same = await storage.query("memories.same", { scope, digest: fact.digest });
    const known = same.findLast((row) => !isExpired(row, now) && isOpen(row, now));
    const judgement: Judgement = known === undefined ? await judged(now) : { same: known, replaced: [], guards: [] };
    const held = judgement.same;
    const plan = await planSupersession(storage, { fact, scope, now, judged: judgement.replaced, kept: held });
    const save: PlannedFact = {
      storage,
      fact,
      scope,
      now,
      plan,
      guards: distinctGuards([...guards, ...judgement.guards, ...plan.guards]),
    };
    return held === null ? addMemory(save) : confirmMemory(save, held);
  });
}

interface PlannedFact {
  readonly storage: Storage;
  readonly fact: NewFact;
  readonly scope: number;
  readonly now: number;
  readonly plan: SupersessionPlan;
  readonly guards: readonly Guard[];
}

function addMemory({ storage, fact, scope, now, plan, guards }: PlannedFact): Decision<SavedMemory> {
  const { namespace, agent, content, kind, subject, attribute, value, digest } = fact;
  const validFrom = fact.validFrom ?? now;
  const row: MemoryColumns = {
    id: newId(storage.environment, "mem"),
    scope_no: scope,
    namespace,
    agent,
    digest,
    subject_key: fact.subjectKey,
    fact_key: fact.factKey,
    content: encodeText(content),
    kind,
    subject,
    attribute,
    value: value === null ? null : encodeText(value),
    importance: Math.round((fact.importance ?? DEFAULT_IMPORTANCE) * IMPORTANCE_UNITS),
    metadata: fact.metadataBytes ?? null,
    valid_from: validFrom,
    valid_to: endAfter(validFrom, fact.validTo),
    recorded_at: now,
    confirmations: 0,
    confirmed_at: now,
    expires_at: expiryOf(fact, now),
    superseded_by: plan.successor?.id ?? null,
    superseded_from: plan.successor?.valid_from ?? null,
    version: 1,
  };
  const commit: Commit = {
    guards,
    writes: [
      insertMemory(row),
      insertChange(row, { change: "created", at: now, source: fact.source }),
      { op: "run", statement: "memory.addIndexItem", params: { id: row.id } },
      ...addFields(row.id, fact.metadata ?? {}),
      ...plan.replaced.flatMap((old) => replaceMemory(old, { by: row.id, from: validFrom, at: now })),
    ],
  };
  return answerWith(commit, row, plan, true);
}

const DEFAULT_IMPORTANCE = 0.5;

function confirmMemory({ fact, now, plan, guards }: PlannedFact, held: MemoryRow): Decision<SavedMemory> {
  const before = writable(held);
  const row: MemoryColumns = {
    ...before,
    importance: fact.importance === undefined ? held.importance : Math.round(fact.importance * IMPORTANCE_UNITS),
    metadata: fact.metadataBytes ?? held.metadata,
    valid_to: fact.validTo === undefined ? held.valid_to : endAfter(held.valid_from, fact.validTo),
    expires_at: laterOf(held.expires_at, expiryOf(fact, now)),
    confirmations: held.confirmations + 1,
    confirmed_at: now,
    version: held.version + 1,
  };
  const fields: readonly Write[] =
    fact.metadata === undefined
      ? []
      : [removeFieldsWrite({ kind: "memories", scope: held.scope_no }, held.no), ...addFields(held.id, fact.metadata)];
  const commit: Commit = {
    guards: distinctGuards([...guards, versionGuard(held)]),
    writes: [
      putMemory(row),
      insertChange(row, { change: "saved", at: now, source: fact.source }),
      ...fields,
      ...plan.replaced.flatMap((old) => replaceMemory(old, { by: held.id, from: held.valid_from, at: now })),
    ],
  };
  return answerWith(commit, row, plan, false);
}

function answerWith(
  commit: Commit,
  row: MemoryColumns,
  { replaced }: SupersessionPlan,
  isNew: boolean,
): Decision<SavedMemory> {
  const answer = { ...memoryOf(row), isNew, superseded: replaced.map(({ id }) => id) };
  return { commit, answer: () => answer };
}

/** The rows of the index of metadata. They name the memory by its number, so they are made after its row. */
function addFields(id: string, metadata: JsonObject): readonly Write[] {
  return fieldsOf(metadata).map(({ path, value }) => ({
    op: "run",
    statement: "memory.addField",
    params: { path, value, id },
  }));
}

/** null is for ever. */
function laterOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b);
}

function distinctGuards(guards: readonly Guard[]): readonly Guard[] {
  return [...new Map(guards.map((guard) => [JSON.stringify([guard.check, guard.key]), guard])).values()];
}
