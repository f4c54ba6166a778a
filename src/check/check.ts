// The checker (rule SE10): it checks the rows of each session, then the rows that belong to no session. It reads and
// never repairs; every issue says what to do.
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
import { Findings, type IssueReporter } from "./findings.ts";
import { kindsOf } from "./kinds.ts";
import { compareLinks } from "./links.ts";
import { checkMemories } from "./memories.ts";
import { PAGE } from "./pages.ts";
import { Progress } from "./progress.ts";
import { checkReferences } from "./references.ts";
import { withReferrers } from "./referrers.ts";
import { checkSession } from "./session.ts";
import { checkCounters, checkNames, checkStrays, checkTasks } from "./store.ts";
import type { Survey } from "./survey.ts";
import { checkIndexItems, checkIndexRows, checkSegment, indexSources, segmentsOf } from "./text-indexes.ts";
import { checkVectors } from "./vectors.ts";
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
  store: Storage,
  storeBlobs: BlobReader,
  options: NonNullable<Parameters<Checking["check"]>[0]> & { readonly session?: string },
  kinds: ReadonlySet<CheckKind> = kindsOf(options.mode ?? "deep"),
): Promise<CheckReport> {
  const { storage, blobs } = yieldBetweenReads(store, storeBlobs);
  const mode = options.mode ?? "deep";
  const findings = new Findings(kinds);
  const progress = new Progress(storage.environment, options.onProgress, () => findings.count);
  const run: CheckRun = { storage, blobs, findings, progress };
  const engine =
    options.session === undefined
      ? await checkStore(run, mode)
      : await checkSingleSession(run, mode, (await findSession(storage, options.session)).id);
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

/** The state of one call of check(). */
interface CheckRun {
  readonly storage: Storage;
  readonly blobs: BlobReader;
  readonly findings: Findings;
  readonly progress: Progress;
}

async function checkSingleSession(run: CheckRun, mode: CheckReport["mode"], id: string): Promise<null> {
  const { storage, blobs, progress } = run;
  const isDeep = mode === "deep";
  const survey = surveyOf(run, true, isDeep ? { checkBlobOnce: createBlobCheck(storage, blobs, progress) } : {});
  await checkOne(run, survey, id);
  return null;
}

function surveyOf(
  { storage, progress }: CheckRun,
  isSingleSession: boolean,
  more: Pick<Survey, "checkBlobOnce">,
): Survey {
  return {
    storage,
    count: progress.count,
    acyclicBranches: new Set(),
    cyclicSessions: new Set(),
    recountedHeads: new Map(),
    isSingleSession,
    contents: new ContentChars(),
    ...more,
  };
}

/** If a part reads damaged pages, the check reports that part and continues with the next one. */
async function checkPart(
  run: CheckRun,
  rows: readonly string[],
  check: (reporter: IssueReporter) => Promise<void>,
): Promise<void> {
  const { findings, progress } = run;
  progress.isCounting = true;
  await findings.confirm(async (reporter) => {
    try {
      await check(reporter);
    } catch (error) {
      const reason = damageOf(error, findings);
      if (reason === null) throw error;
      reporter.report("page-damaged", rows, { reason });
    }
    progress.isCounting = false;
  });
}

/**
 * The damage that a read reported. Where the engine has found damage, a row may contain anything, and any error may
 * follow.
 */
function damageOf(error: unknown, findings: Findings): string | null {
  if (error instanceof HoldfastError) {
    const isDamage = error.code === "StoreCorrupted" || (error.code === "Internal" && findings.hasPhysicalDamage);
    return isDamage ? error.message : null;
  }
  return findings.hasPhysicalDamage ? String(error) : null;
}

async function checkOne(run: CheckRun, survey: Survey, id: string): Promise<void> {
  run.progress.begin("sessions", id);
  await checkPart(run, [id], async (reporter) => {
    for (const row of await run.storage.query("check.session", { id })) await checkSession(survey, reporter, row);
  });
  run.progress.report();
}

async function checkStore(run: CheckRun, mode: CheckReport["mode"]): Promise<CheckReport["engine"]> {
  const { storage, blobs, findings, progress } = run;
  let engine: EngineOutcome | null = null;
  if (mode === "deep") {
    progress.begin("engine");
    progress.report();
    await checkPart(run, [], async (reporter) => {
      engine = await checkEngine(storage, reporter);
    });
  }
  const outcome = engine as EngineOutcome | null;
  const report = outcome === null ? null : { check: outcome.check, notRun: outcome.notRun };
  if (outcome?.isUnreadable) return report;
  const survey = surveyOf(run, false, {});
  await forEachSession(run, (id) => checkOne(run, survey, id));
  progress.begin("rows");
  progress.report();
  for (const check of [
    checkCounters,
    checkStrays,
    checkNames,
    checkTasks,
    checkAgents,
    checkBlocks,
    checkStoreChecksums,
  ]) {
    await checkPart(run, [], (reporter) => check(storage, reporter));
  }
  await checkPart(run, [], (reporter) => checkVectors(storage, blobs, reporter, progress.count));
  await checkPart(run, [], (reporter) => checkMemories(storage, reporter, progress.count));
  progress.report();
  await checkIndexes(run, mode);
  progress.begin("blobs");
  progress.report();
  await checkPart(run, [], (reporter) => checkParts(storage, reporter));
  if (findings.isRequested("blob-hash-mismatch", "blob-link-missing")) {
    await checkPart(run, [], (reporter) => checkBytes(survey, blobs, reporter, progress));
  }
  progress.report();
  if (findings.isRequested("blob-refs-wrong"))
    await checkPart(run, [], (reporter) => checkReferences(storage, reporter));
  await checkPart(run, [], () => countOrphans(storage, progress.count));
  progress.report();
  return report;
}

/** Each segment is a part of its own: what is found in it is confirmed without looking at the others again. */
async function checkIndexes(run: CheckRun, mode: CheckReport["mode"]): Promise<void> {
  const { storage, blobs, progress } = run;
  const sources = indexSources(storage, blobs);
  for (const source of sources) {
    await checkPart(run, [source.kind], (reporter) => checkIndexRows(storage, source, reporter));
    if (mode === "quick") continue;
    for (const segment of await segmentsOf(storage, source)) {
      await checkPart(run, [source.kind], (reporter) => checkSegment(storage, source, segment, reporter));
      progress.count("indexSegments");
    }
  }
  await checkPart(run, [], (reporter) => checkIndexItems(storage, reporter));
}

/** If the table of sessions is damaged, the check visits the sessions before the damage. */
async function forEachSession(run: CheckRun, visit: (id: string) => Promise<void>): Promise<void> {
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

/** Returns a check that reads each blob once, however many rows name it, together with the blobs that it names. */
function createBlobCheck(
  storage: Storage,
  blobs: BlobReader,
  progress: Progress,
): NonNullable<Survey["checkBlobOnce"]> {
  const REMEMBERED_MAX = 100_000;
  let seen = new Set<string>();
  let reporterSeen: IssueReporter | undefined;
  const read: NonNullable<Survey["checkBlobOnce"]> = async (reporter, row, sha256, as) => {
    // The second pass has another reporter and reads everything again.
    if (reporter !== reporterSeen) seen = new Set();
    reporterSeen = reporter;
    const key = toHex(sha256);
    if (seen.has(key)) return;
    if (seen.size < REMEMBERED_MAX) seen.add(key);
    progress.count("blobs");
    const names = await readThrough(blobs, reporter, sha256, { row, progress, ...(as == null ? {} : { as }) });
    const links: (Uint8Array | null)[] = [];
    for await (const named of namedBy(storage, sha256)) links.push(named);
    if (names !== null) compareLinks(reporter, sha256, names, links);
    for (const named of links) {
      if (named === null) reporter.report("blob-part-missing", [toRef(sha256), row], { part: "named" });
      else await read(reporter, row, named);
    }
  };
  return read;
}
