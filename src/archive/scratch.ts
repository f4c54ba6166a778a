// Verifies an archive with the checker: the archive is restored into a private store, checked there like any store, and only then written
// to the target. So an import accepts nothing that a check would report.
import { runCheck } from "../check/check.ts";
import { kindsOf } from "../check/kinds.ts";
import type { CheckIssue, CheckKind, CheckReport } from "../contracts/check.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { BlobWrite, SessionUse, Write } from "../contracts/storage/commit.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { fromHex } from "../core/bytes.ts";
import { refusalError } from "../core/decide.ts";
import { TimeSlice } from "../core/time-slice.ts";
import { corrupted } from "./frames.ts";
import { linkRows } from "./links.ts";
import { type ArchivedSession, agentsOf, rowsOf, usesOf } from "./restores.ts";
import { DAMAGED_BEFORE } from "./verify.ts";

/** An empty store in memory; the caller closes it. */
export type OpenScratch = () => Promise<Storage>;

/**
 * Without two kinds: blobs were compared with their hashes when they arrived, and are empty rows here; cycles of waiting invocations
 * involve several sessions, each of which is valid by itself.
 */
export const KINDS: ReadonlySet<CheckKind> = new Set(
  [...kindsOf("deep")].filter((kind) => kind !== "blob-hash-mismatch" && kind !== "invocation-cycle"),
);
export const UNREAD = { stream: () => (async function* () {})() };

const BLOBS_AT_ONCE = 1000;
const ISSUES_NAMED = 5;

export async function checkContents(
  open: OpenScratch,
  contents: readonly ArchivedSession[],
  blobs: ReadonlySet<string>,
  names: Names,
): Promise<void> {
  const { issueCount, issues } = await issuesOf(open, contents, blobs, KINDS, names);
  if (issueCount > 0) throw contentError(issueCount, issues);
}

/** ArchiveCorrupted when the rows cannot be restored, or not be read after that. */
export async function issuesOf(
  open: OpenScratch,
  contents: readonly ArchivedSession[],
  blobs: ReadonlySet<string>,
  kinds = KINDS,
  names: Names = new Map(),
): Promise<Pick<CheckReport, "issueCount" | "issues">> {
  const storage = await open();
  try {
    await restoreInto(storage, contents, blobs, names);
    return await readable(() => runCheck(storage, UNREAD, { mode: "deep" }, kinds));
  } finally {
    await storage.close();
  }
}

/** Blobs that a blob names. */
type Names = ReadonlyMap<Uint8Array, readonly Uint8Array[]>;

async function restoreInto(
  storage: Storage,
  contents: readonly ArchivedSession[],
  blobs: ReadonlySet<string>,
  names: Names,
): Promise<void> {
  const at = storage.environment.now();
  const all = [...blobs];
  for (let i = 0; i < all.length; i += BLOBS_AT_ONCE) {
    await storage.commit({ blobs: all.slice(i, i + BLOBS_AT_ONCE).map((hex) => placeholder(hex, at)) });
  }
  const links = [...names].flatMap(([parent, children]) =>
    children.map(
      (child, i): Write => ({
        op: "insert",
        table: "blob_links",
        row: { parent_no: parent, ord: -1 - i, child_no: child },
      }),
    ),
  );
  if (links.length > 0) await storage.commit({ writes: links });
  const slice = new TimeSlice(storage.environment);
  const restores = await rowsOf(contents, slice);
  const created = contents.map(({ id }) => id);
  const linked = await linkRows(storage, { contents, restores, created: new Set(created), growing: [] }, at);
  try {
    const outcome = await storage.commit({
      solo: true,
      sessions: [...created.map((id): SessionUse => ({ id, mode: "restore", at })), ...linked.sessions],
      agents: (await agentsOf(restores, slice)).map((id) => ({ id, at })),
      restores: linked.restores,
      writes: linked.writes,
      uses: await usesOf(restores, slice),
    });
    if (!outcome.ok) throw refusalError(outcome.refused);
  } catch (cause) {
    // The store is empty and in memory, so only the rows can be the cause of an error.
    throw corrupted("its rows contradict each other", cause, undefined, DAMAGED_BEFORE);
  }
}

function placeholder(hex: string, at: number): BlobWrite {
  const sha256 = fromHex(hex) ?? new Uint8Array();
  return {
    sha256,
    size: 0,
    media: "application/octet-stream",
    utf8: false,
    form: 0,
    body: new Uint8Array(),
    stored: 0,
    store: "",
    key: null,
    refs: 0,
    expiresAt: null,
    at,
  };
}

/** A reader reports a damaged row as StoreCorrupted; here the archive is damaged. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof HoldfastError && cause.code === "StoreCorrupted") {
      throw corrupted(cause.message, cause, undefined, DAMAGED_BEFORE);
    }
    throw cause;
  }
}

function contentError(count: number, issues: readonly CheckIssue[]): HoldfastError {
  const { where, details } = summarizeIssues(count, issues);
  return corrupted(`its rows and its log do not agree: ${where}`, undefined, details, DAMAGED_BEFORE);
}

/** The text and details of an error about these issues. */
export function summarizeIssues(issueCount: number, issues: readonly CheckIssue[]) {
  const named = issues.slice(0, ISSUES_NAMED).map(({ kind, rows, details }) => ({ kind, rows: [...rows], details }));
  const where = named.slice(0, 1).map(({ kind, rows }) => `${kind} at ${rows.join(", ")}`);
  return { where: where.join(""), details: { issueCount, issues: named } };
}
