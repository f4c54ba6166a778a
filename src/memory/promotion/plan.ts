// Plans the lines of one block: which memories are in it, as many as fit, and which lines of the old value stay. Lines that are no
// memory's are the agent's own and stay where they are.
import type { DemotedMemory } from "../../contracts/promotion.ts";

/** A longer line would take the room of many. */
const MOST_LINE_CHARS = 500;

/** A memory that may be in the block, or is. */
export interface Candidate {
  readonly id: string;
  readonly line: string;
  readonly score: number;
  readonly isPinned: boolean;
  /** Its last promotion put it into this block. */
  readonly isInBlock: boolean;
  /** null: it may be in the block. */
  readonly excluded: DemotedMemory["reason"] | null;
  /** The memory that took its place. */
  readonly supersededBy: string | null;
}

export interface BlockPlan {
  readonly value: string;
  readonly promoted: readonly Candidate[];
  readonly demoted: readonly { readonly candidate: Candidate; readonly reason: DemotedMemory["reason"] }[];
  readonly kept: readonly Candidate[];
  /** Not in the block, for want of room. */
  readonly crowded: readonly Candidate[];
}

/** A memory as a line. */
export function lineFor(content: string): string {
  return `- ${content.trim().replaceAll(/\s+/gu, " ")}`;
}

export function planBlock(value: string, limit: number, candidates: readonly Candidate[]): BlockPlan {
  const lines = value === "" ? [] : value.split("\n");
  const present = new Set(lines);
  const shown = candidates.filter(({ isInBlock, line }) => isInBlock && present.has(line));
  const edited = candidates.filter(({ isInBlock, line }) => isInBlock && !present.has(line));
  const shownLines = new Set(shown.map(({ line }) => line));
  const own = lines.filter((line) => !shownLines.has(line));
  const { chosen, crowded } = choose(
    own,
    limit,
    candidates.filter((one) => !edited.includes(one)),
  );
  const promoted = chosen.filter((one) => !shown.includes(one));
  const dropped = shown.filter((one) => !chosen.includes(one));
  return {
    value: writeLines(lines, dropped, promoted),
    promoted,
    demoted: [
      ...dropped.map((candidate) => ({ candidate, reason: candidate.excluded ?? ("room" as const) })),
      ...edited.map((candidate) => ({ candidate, reason: "edited" as const })),
    ],
    kept: chosen.filter((one) => shown.includes(one)),
    crowded: crowded.filter((one) => !shown.includes(one)),
  };
}

/** The best that fit beside the agent's own lines; pinned ones come first. Of equal ones, the id decides. */
function choose(
  own: readonly string[],
  limit: number,
  candidates: readonly Candidate[],
): { readonly chosen: readonly Candidate[]; readonly crowded: readonly Candidate[] } {
  const ordered = candidates
    .filter(({ excluded }) => excluded === null)
    .sort((a, b) => Number(b.isPinned) - Number(a.isPinned) || b.score - a.score || (a.id < b.id ? -1 : 1));
  const taken = new Set(own);
  const chosen: Candidate[] = [];
  const crowded: Candidate[] = [];
  let room = limit - own.reduce((sum, line) => sum + countChars(line) + 1, 0) + 1;
  for (const candidate of ordered) {
    const { line } = candidate;
    // Another memory, or the agent itself, says the same.
    if (taken.has(line)) continue;
    const size = countChars(line);
    if (size > MOST_LINE_CHARS || size + 1 > room) {
      crowded.push(candidate);
      continue;
    }
    taken.add(line);
    chosen.push(candidate);
    room -= size + 1;
  }
  return { chosen, crowded };
}

/** A new line takes the place of the one that it supersedes; the others come last. */
function writeLines(lines: readonly string[], dropped: readonly Candidate[], promoted: readonly Candidate[]): string {
  const successors = new Map<string, Candidate>();
  for (const old of dropped) {
    const next = promoted.find(({ id }) => id === old.supersededBy);
    if (next !== undefined && ![...successors.values()].includes(next)) successors.set(old.line, next);
  }
  const gone = new Set(dropped.map(({ line }) => line));
  const kept = lines.flatMap((line) => (gone.has(line) ? (successors.get(line)?.line ?? []) : [line]));
  const placed = new Set([...successors.values()]);
  return [...kept, ...promoted.filter((one) => !placed.has(one)).map(({ line }) => line)].join("\n");
}

/** Characters as the limit of a block counts them. */
function countChars(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
