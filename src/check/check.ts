// The checker (rule SE10): the store's rows session by session, then what belongs to none of them. It reads and never
// mends; every issue says what to do.
import type { Checking, CheckKind, CheckMode, CheckOptions, CheckProgress, CheckReport } from "../contracts/check.ts";
import type { Storage } from "../contracts/storage.ts";
import { toHex, toRef } from "../core/bytes.ts";
import { checkOneOf, checkRecord, invalid } from "../core/check.ts";
import { findSession } from "../sessions/find.ts";
import { type Locate, withoutHead } from "../sessions/locate.ts";
import { checkBytes, checkParts, checkReferences, countOrphans, namedBy, readThrough } from "./blobs.ts";
import { Findings, type Look } from "./findings.ts";
import { kindsOf } from "./kinds.ts";
import { PAGE } from "./pages.ts";
import { patient, type Reading } from "./patience.ts";
import { withReferrers } from "./referrers.ts";
import { checkSession } from "./session.ts";
import { checkNames, checkStrays, checkTasks } from "./store.ts";
import type { Survey } from "./subject.ts";

export function createChecking(storage: Storage, blobs: Reading, locate: Locate): Checking {
  return {
    check: async (options) => {
      const given = checkRecord(options, "options", ["mode", "session", "onProgress"]);
      const mode = given.mode === undefined ? "deep" : checkOneOf<CheckMode>(given.mode, "mode", ["deep", "quick"]);
      const { onProgress } = given;
      if (onProgress !== undefined && typeof onProgress !== "function") {
        throw invalid("onProgress", "a function", onProgress);
      }
      const session = given.session === undefined ? undefined : await wholeSession(locate, given.session);
      return runCheck(storage, blobs, {
        mode,
        ...(session === undefined ? {} : { session }),
        ...(onProgress === undefined ? {} : { onProgress: onProgress as (progress: CheckProgress) => void }),
      });
    },
  };
}

async function wholeSession(locate: Locate, at: unknown): Promise<string> {
  return withoutHead(await locate(at), "a session is checked as a whole", "Name the session without the head.");
}

/** `kinds` is for tests: with a kind left out, the damage it stands for must go unnoticed. */
export async function runCheck(
  given: Storage,
  bytes: Reading,
  options: CheckOptions & { readonly session?: string },
  kinds: ReadonlySet<CheckKind> = kindsOf(options.mode ?? "deep"),
): Promise<CheckReport> {
  const { storage, blobs } = patient(given, bytes);
  const mode = options.mode ?? "deep";
  const findings = new Findings(kinds);
  const counts: Record<string, number> = {};
  // A second look at the same rows counts nothing.
  let counting = true;
  const survey: Survey = {
    storage,
    count: (what, n = 1) => {
      if (counting) counts[what] = (counts[what] ?? 0) + n;
    },
    ...{ sound: new Set(), cyclic: new Set(), recounted: new Map(), alone: options.session !== undefined },
    ...(options.session === undefined || mode === "quick"
      ? {}
      : { blob: onceEach(storage, blobs, (what) => survey.count(what)) }),
  };
  const tell = (at: CheckProgress["at"], session?: string) => {
    const named = session === undefined ? {} : { session };
    options.onProgress?.({ at, ...named, counts: { ...counts }, issueCount: findings.count });
  };
  const part = async (look: (found: Look) => Promise<void>) => {
    counting = true;
    await findings.twice(async (found) => {
      await look(found);
      counting = false;
    });
  };
  const visit = async (id: string) => {
    await part(async (found) => {
      for (const row of await storage.query("check.session", id)) await checkSession(survey, found, row);
    });
    tell("sessions", id);
  };
  if (options.session === undefined) {
    await eachSession(storage, visit);
    await checkStore(storage, blobs, findings, survey, part, tell);
  } else {
    await visit((await findSession(storage, options.session)).id);
  }
  return {
    kind: "session-db/consistency",
    mode,
    status: findings.count === 0 ? "ok" : "issues",
    counts,
    issueCount: findings.count,
    issues: await withReferrers(storage, findings.issues),
  };
}

async function checkStore(
  storage: Storage,
  blobs: Reading,
  findings: Findings,
  survey: Survey,
  part: (look: (found: Look) => Promise<void>) => Promise<void>,
  tell: (at: CheckProgress["at"]) => void,
): Promise<void> {
  tell("rows");
  await part((found) => checkStrays(storage, found));
  await part((found) => checkNames(storage, found));
  await part((found) => checkTasks(storage, found));
  tell("blobs");
  await part((found) => checkParts(storage, found));
  if (findings.wants("blob-hash-mismatch")) {
    await part((found) => checkBytes(storage, blobs, found, survey.count));
  }
  tell("blobs");
  if (findings.wants("blob-refs-wrong")) await part((found) => checkReferences(storage, found));
  await part(() => countOrphans(storage, survey.count));
  tell("blobs");
}

async function eachSession(storage: Storage, visit: (id: string) => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await storage.query("check.sessions", after, PAGE);
    for (const row of rows) {
      await visit(row.id);
      after = row.no;
    }
    if (rows.length < PAGE) return;
  }
}

/** Reads each blob once, however many rows name it, and with it those that it names. */
function onceEach(storage: Storage, blobs: Reading, count: Survey["count"]): NonNullable<Survey["blob"]> {
  const REMEMBERED_MAX = 100_000;
  let seen = new Set<string>();
  let look: Look | undefined;
  const read: NonNullable<Survey["blob"]> = async (found, row, sha256) => {
    // The second look reads everything again.
    if (found !== look) seen = new Set();
    look = found;
    const key = toHex(sha256);
    if (seen.has(key)) return;
    if (seen.size < REMEMBERED_MAX) seen.add(key);
    count("blobs");
    await readThrough(blobs, found, sha256, row);
    for await (const named of namedBy(storage, sha256)) {
      if (named === null) found.report("blob-part-missing", [toRef(sha256), row], { part: "named" });
      else await read(found, row, named);
    }
  };
  return read;
}
