// Repairs the rows of an index before it is made anew: what is sound keeps answering meanwhile, and the items of all else are pending.
// It is one commit, guarded like every change of segments.
import type { Guard, Write } from "../../contracts/storage/commit.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import type { TextLanguage } from "../text/stem.ts";
import type { IndexSource } from "./source.ts";
import { type IndexState, readUncheckedState } from "./state.ts";
import { findStructureDamage, soundPrefix } from "./structure.ts";

/** False: another commit changed the index meanwhile, and nothing was written. */
export async function repairStructure(storage: Storage, source: IndexSource, language: TextLanguage): Promise<boolean> {
  const { kind } = source;
  const state = await readUncheckedState(storage, kind);
  if (state === null) {
    await storage.commit({
      solo: true,
      guards: [guardEpoch(kind, null)],
      writes: [
        { op: "insert", table: "index_kinds", row: { kind, epoch: 0, indexed: 0, settled: 0, language: null, cut: 0 } },
      ],
    });
    return false;
  }
  const kept = keptSegments(state);
  const writes: readonly Write[] = [
    ...(findStructureDamage(state).length === 0 ? [] : [repairedKind(state, kept, language)]),
    ...(await strayPageWrites(storage, state, kept)),
    ...state.segments
      .filter(({ segment }) => !kept.has(segment))
      .map(({ segment }): Write => ({ op: "run", statement: "index.dropSegment", params: { kind, segment } })),
    ...(await strayItemWrites(storage, state, kept)),
    ...(await strayKindWrites(storage)),
    ...source.repairWrites(),
  ];
  if (writes.length === 0) return true;
  const outcome = await storage.commit({ solo: true, guards: [guardEpoch(kind, state.epoch)], writes });
  return outcome.ok;
}

function guardEpoch(kind: string, expect: number | null): Guard {
  return { check: "index.epoch", key: [kind], expect };
}

/** Of messages, those behind the first damage are read from the texts again; of other kinds, the items say what is pending. */
function keptSegments(state: IndexState): ReadonlySet<number> {
  const { kind, segments } = state;
  const kept =
    kind === "messages" ? soundPrefix(state) : segments.filter(({ isDropped, isMarked }) => !isDropped && !isMarked);
  return new Set(kept.map(({ segment }) => segment));
}

function repairedKind(state: IndexState, kept: ReadonlySet<number>, fallback: TextLanguage): Write {
  const { kind, newest, segments } = state;
  const epoch = 1 + segments.reduce((most, { segment, version }) => Math.max(most, segment, version), state.epoch);
  const indexed = segments.reduce((end, { segment, high }) => (kept.has(segment) ? Math.max(end, high) : end), 0);
  const settled = Math.max(indexed, Math.min(state.settled, newest));
  const language = state.language ?? fallback;
  return { op: "run", statement: "index.repair", params: { kind, epoch, indexed, settled, language } };
}

/** Pages of no segment, or of one that has none: they may have words that were erased. */
async function strayPageWrites(
  storage: Storage,
  state: IndexState,
  kept: ReadonlySet<number>,
): Promise<readonly Write[]> {
  const { kind, segments } = state;
  const dropped = new Set(segments.filter(({ isDropped }) => isDropped).map(({ segment }) => segment));
  const named = await storage.query("index.segmentsOfPages", { kind });
  return named
    .filter(({ segment }) => !kept.has(segment) || dropped.has(segment))
    .map(({ segment }): Write => ({ op: "run", statement: "index.dropPages", params: { kind, segment } }));
}

async function strayKindWrites(storage: Storage): Promise<readonly Write[]> {
  const kinds = await storage.query("index.strayKinds", {});
  const statements = ["index.removeKind", "index.removeSegments", "index.removePages", "index.removeItems"] as const;
  return kinds.flatMap(({ kind }) => statements.map((statement) => ({ op: "run", statement, params: { kind } })));
}

async function strayItemWrites(
  storage: Storage,
  { kind }: IndexState,
  kept: ReadonlySet<number>,
): Promise<readonly Write[]> {
  const named = await storage.query("index.segmentsOfItems", { kind });
  return named
    .filter(({ segment }) => !kept.has(segment))
    .map(
      ({ segment }): Write => ({ op: "run", statement: "index.moveItems", params: { kind, from: segment, to: null } }),
    );
}
