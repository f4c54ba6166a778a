// The checker (rule SE10): the store's rows session by session, then what belongs to none of them. It reads and never
// mends; every issue says what to do.
import type { Checking, CheckKind, CheckReport } from "../contracts/check.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { CheckedSessionRow } from "../contracts/storage/check-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { CHECK_VERBS } from "../contracts/verbs/store.ts";
import { toHex, toRef } from "../core/bytes.ts";
import { findSession, requireNoHead, type SessionLookup } from "../core/session-lookup.ts";
import { bindVerbs } from "../core/verbs.ts";
import { checkAgents, checkBlocks } from "./agents.ts";
import { checkBytes, checkParts, countOrphans, namedBy, readThrough } from "./blobs.ts";
import { checkStoreChecksums } from "./checksums.ts";
import { ContentChars } from "./content-chars.ts";
import { checkEngine, type EngineOutcome } from "./engine.ts";
import { Findings, type SecondLook } from "./findings.ts";
import { kindsOf } from "./kinds.ts";
import { compareLinks } from "./links.ts";
import { PAGE } from "./pages.ts";
import { Progress } from "./progress.ts";
import { checkReferences } from "./references.ts";
import { withReferrers } from "./referrers.ts";
import { checkSession } from "./session.ts";
import { checkCounters, checkNames, checkStrays, checkTasks } from "./store.ts";
import type { Survey } from "./survey.ts";
import { type BlobReader, yieldBetweenReads } from "./yielding-reads.ts";

const CHECKED_WHOLE = "a session is checked as a whole";

export function createChecking(storage: Storage, blobs: BlobReader, lookup: SessionLookup): Checking {
  return bindVerbs(CHECK_VERBS, lookup, {
    check: async ({ session: at, ...options }) => {
      const session =
        at === undefined ? {} : { session: requireNoHead(at, CHECKED_WHOLE, "Name the session without the head.") };
      return runCheck(storage, blobs, { ...options, ...session });
    },
  });
}

/** `kinds` is for tests: with a kind left out, the damage it stands for must go unnoticed. */
export async function runCheck(
  given: Storage,
  bytes: BlobReader,
  options: NonNullable<Parameters<Checking["check"]>[0]> & { readonly session?: string },
  kinds: ReadonlySet<CheckKind> = kindsOf(options.mode ?? "deep"),
): Promise<CheckReport> {
  const { storage, blobs } = yieldBetweenReads(given, bytes);
  const mode = options.mode ?? "deep";
  const findings = new Findings(kinds);
  const progress = new Progress(storage.environment, options.onProgress, () => findings.count);
  const run: Run = { storage, blobs, findings, progress };
  const engine =
    options.session === undefined
      ? await checkStore(run, mode)
      : await checkAlone(run, mode, (await findSession(storage, options.session)).id);
  return {
    kind: "session-db/consistency",
    mode,
    status: findings.count === 0 ? "ok" : "issues",
    counts: progress.counts,
    engine,
    issueCount: findings.count,
    issues: await withReferrers(storage, findings.issues).catch((error: unknown) => {
      if (damageOf(error, findings) === null) throw error;
      return findings.issues;
    }),
  };
}

/** A check under way. */
interface Run {
  readonly storage: Storage;
  readonly blobs: BlobReader;
  readonly findings: Findings;
  readonly progress: Progress;
}

async function checkAlone(run: Run, mode: CheckReport["mode"], id: string): Promise<null> {
  const { storage, blobs, progress } = run;
  const isDeep = mode === "deep";
  const survey = surveyOf(run, true, isDeep ? { blob: onceEach(storage, blobs, progress) } : {});
  await checkOne(run, survey, id);
  return null;
}

function surveyOf({ storage, progress }: Run, alone: boolean, more: Pick<Survey, "blob">): Survey {
  return {
    storage,
    count: progress.count,
    sound: new Set(),
    cyclic: new Set(),
    recounted: new Map(),
    alone,
    contents: new ContentChars(),
    ...more,
  };
}

/** A part that reads damaged pages is named for it, and the parts after it are looked at all the same. */
async function checkPart(run: Run, rows: readonly string[], look: (found: SecondLook) => Promise<void>): Promise<void> {
  const { findings, progress } = run;
  progress.isCounting = true;
  await findings.twice(async (found) => {
    try {
      await look(found);
    } catch (error) {
      const reason = damageOf(error, findings);
      if (reason === null) throw error;
      found.report("page-damaged", rows, { reason });
    }
    progress.isCounting = false;
  });
}

/**
 * The damage that a read reported. Where the engine has found damage, a row may hold anything, and any error may
 * follow.
 */
function damageOf(error: unknown, findings: Findings): string | null {
  if (error instanceof HoldfastError) {
    const isDamage = error.code === "StoreCorrupted" || (error.code === "Internal" && findings.hasPhysicalDamage);
    return isDamage ? error.message : null;
  }
  return findings.hasPhysicalDamage ? String(error) : null;
}

async function checkOne(run: Run, survey: Survey, id: string): Promise<void> {
  run.progress.begin("sessions", id);
  await checkPart(run, [id], async (found) => {
    for (const row of await run.storage.query("check.session", { id })) await checkSession(survey, found, row);
  });
  run.progress.report();
}

async function checkStore(run: Run, mode: CheckReport["mode"]): Promise<CheckReport["engine"]> {
  const { storage, blobs, findings, progress } = run;
  let engine: EngineOutcome | null = null;
  if (mode === "deep") {
    progress.begin("engine");
    progress.report();
    await checkPart(run, [], async (found) => {
      engine = await checkEngine(storage, found);
    });
  }
  const outcome = engine as EngineOutcome | null;
  const said = outcome === null ? null : { check: outcome.check, notRun: outcome.notRun };
  if (outcome?.isUnreadable) return said;
  const survey = surveyOf(run, false, {});
  await eachSession(run, (id) => checkOne(run, survey, id));
  progress.begin("rows");
  progress.report();
  for (const look of [
    checkCounters,
    checkStrays,
    checkNames,
    checkTasks,
    checkAgents,
    checkBlocks,
    checkStoreChecksums,
  ]) {
    await checkPart(run, [], (found) => look(storage, found));
  }
  progress.begin("blobs");
  progress.report();
  await checkPart(run, [], (found) => checkParts(storage, found));
  if (findings.isRequested("blob-hash-mismatch", "blob-link-missing")) {
    await checkPart(run, [], (found) => checkBytes(survey, blobs, found, progress));
  }
  progress.report();
  if (findings.isRequested("blob-refs-wrong")) await checkPart(run, [], (found) => checkReferences(storage, found));
  await checkPart(run, [], () => countOrphans(storage, progress.count));
  progress.report();
  return said;
}

/** Where the table of sessions itself cannot be read, those before the damage are checked. */
async function eachSession(run: Run, visit: (id: string) => Promise<void>): Promise<void> {
  for (let after = 0; ; ) {
    let rows: readonly CheckedSessionRow[] = [];
    await checkPart(run, ["sessions"], async () => {
      rows = await run.storage.query("check.sessions", { after, limit: PAGE });
    });
    for (const row of rows) {
      await visit(row.id);
      after = row.no;
    }
    if (rows.length < PAGE) return;
  }
}

/** Reads each blob once, however many rows name it, and with it those that it names. */
function onceEach(storage: Storage, blobs: BlobReader, progress: Progress): NonNullable<Survey["blob"]> {
  const REMEMBERED_MAX = 100_000;
  let seen = new Set<string>();
  let look: SecondLook | undefined;
  const read: NonNullable<Survey["blob"]> = async (found, row, sha256, as) => {
    // The second look reads everything again.
    if (found !== look) seen = new Set();
    look = found;
    const key = toHex(sha256);
    if (seen.has(key)) return;
    if (seen.size < REMEMBERED_MAX) seen.add(key);
    progress.count("blobs");
    const names = await readThrough(blobs, found, sha256, { row, progress, ...(as == null ? {} : { as }) });
    const links: (Uint8Array | null)[] = [];
    for await (const named of namedBy(storage, sha256)) links.push(named);
    if (names !== null) compareLinks(found, sha256, names, links);
    for (const named of links) {
      if (named === null) found.report("blob-part-missing", [toRef(sha256), row], { part: "named" });
      else await read(found, row, named);
    }
  };
  return read;
}
