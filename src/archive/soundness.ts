// Checks a session before it is exported, in the same way as an import: a damaged session is found while its store still exists and can be
// repaired.
import { runCheck } from "../check/check.ts";
import type { CheckKind } from "../contracts/check.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { GatheredPart } from "./gather.ts";
import { issuesOf, KINDS, type OpenScratch, summarizeIssues, UNREAD } from "./scratch.ts";

/** Checks the session's rows, its log and the rows that it inherits. Bytes of blobs are compared with their hashes during the export. */
export async function checkSound(storage: Storage, session: string): Promise<void> {
  const { issueCount, issues } = await runCheck(storage, UNREAD, { mode: "deep", session }, KINDS);
  if (issueCount === 0) return;
  const { where, details } = summarizeIssues(issueCount, issues);
  throw damaged(session, where, details);
}

/** Without the check that sessions inherit the kept rows: those sessions are not part of the check. */
const OF_PARTS: ReadonlySet<CheckKind> = new Set([...KINDS].filter((kind) => kind !== "remains-left"));

/** Checks the inherited parts as an import will see them: with the rows of all tables, and without later rows of their sessions. */
export async function checkParts(open: OpenScratch, session: string, parts: readonly GatheredPart[]): Promise<void> {
  const contents = parts.map(({ id, tables }) => ({ id, whole: false, tables }));
  const blobs = new Set(parts.flatMap(({ rows }) => [...rows.blobs.keys()]));
  const { issueCount, issues } = await issuesOf(open, contents, blobs, OF_PARTS).catch((error: unknown) => {
    if (!(error instanceof HoldfastError) || error.code !== "ArchiveCorrupted") throw error;
    throw damaged(session, "the rows that it inherits cannot be read", {}, error);
  });
  if (issueCount === 0) return;
  const { where, details } = summarizeIssues(issueCount, issues);
  throw damaged(session, where, details);
}

function damaged(session: string, what: string, details: HoldfastError["details"], cause?: unknown): HoldfastError {
  return new HoldfastError("StoreCorrupted", `the session ${JSON.stringify(session)} is damaged: ${what}`, {
    details: { kind: "session", id: session, ...details },
    ...(cause === undefined ? {} : { cause }),
    hint:
      "An import would refuse its archive. `npx holdfast check SESSION` reports the damage; restore it from a backup, or fork it " +
      "at a head before the damage and export the fork. What can still be read is saved as Markdown: `npx holdfast export " +
      "SESSION --markdown`, sessions.markdown().",
  });
}
