// Nothing is exported that no import would take: a session is checked before it is written, as the import will check it,
// while its store is still there to look at and to mend.
import { runCheck } from "../check/check.ts";
import type { CheckKind } from "../contracts/check.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { GatheredPart } from "./gather.ts";
import { firstOf, issuesOf, KINDS, type OpenScratch, UNREAD } from "./scratch.ts";

/** Its rows, its log and what it inherits; the bytes of blobs are compared with their hashes as they are written. */
export async function checkSound(storage: Storage, session: string): Promise<void> {
  const { issueCount, issues } = await runCheck(storage, UNREAD, { mode: "deep", session }, KINDS);
  if (issueCount === 0) return;
  const { where, details } = firstOf(issueCount, issues);
  throw damaged(session, where, details);
}

/** The sessions that inherit them do not come along. */
const OF_PARTS: ReadonlySet<CheckKind> = new Set([...KINDS].filter((kind) => kind !== "remains-left"));

/** What it inherits, as an import will see it: rows beside the log too, and nothing that came later in its sources. */
export async function checkParts(open: OpenScratch, session: string, parts: readonly GatheredPart[]): Promise<void> {
  const contents = parts.map(({ id, tables }) => ({ id, whole: false, tables }));
  const blobs = new Set(parts.flatMap(({ rows }) => [...rows.blobs.keys()]));
  const { issueCount, issues } = await issuesOf(open, contents, blobs, OF_PARTS).catch((error: unknown) => {
    if (!(error instanceof HoldfastError) || error.code !== "ArchiveCorrupted") throw error;
    throw damaged(session, "what it inherits cannot be read", {}, error);
  });
  if (issueCount === 0) return;
  const { where, details } = firstOf(issueCount, issues);
  throw damaged(session, where, details);
}

function damaged(session: string, what: string, details: HoldfastError["details"], cause?: unknown): HoldfastError {
  return new HoldfastError("StoreCorrupted", `the session ${JSON.stringify(session)} is damaged: ${what}`, {
    details: { kind: "session", id: session, ...details },
    ...(cause === undefined ? {} : { cause }),
    hint:
      "No import would take its archive. `npx holdfast check SESSION` says what is wrong; restore it from a backup, or fork it " +
      "at a head before the damage and export the fork. What can still be read is saved as Markdown: `npx holdfast export " +
      "SESSION --markdown`, sessions.markdown().",
  });
}
