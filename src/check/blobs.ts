// Blobs: every part is stored, the bytes have the blob's hash, and the links that keep named blobs are there.
import { HoldfastError } from "../contracts/errors.ts";
import type { Queries } from "../contracts/storage/queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedBlobRow } from "../contracts/storage/store-check-queries.ts";
import { toRef } from "../core/bytes.ts";
import { text } from "../core/decode.ts";
import { countChars } from "./char-count.ts";
import type { IssueReporter } from "./findings.ts";
import { compareLinks, namesIn } from "./links.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { Progress } from "./progress.ts";
import { readManifests } from "./references.ts";
import type { BlobUse, Survey } from "./survey.ts";
import type { BlobReader } from "./yielding-reads.ts";

type Count = (what: string, n?: number) => void;

/** The form of an upload in progress: it has a random name and only keeps parts. */
const HOLDER = 4;
const FORMS: ReadonlySet<number> = new Set([0, 1, 2, 3, HOLDER]);

export async function checkParts(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const row of rowsOf<Queries["check.parts"]["row"]>((last) =>
    storage.query("check.parts", { afterParent: last?.parent_no ?? 0, afterOrd: last?.ord ?? 0, limit: PAGE }),
  )) {
    // Links of a deleted blob wait for gc.
    if (row.parent === null || row.child !== null) continue;
    reporter.report("blob-part-missing", [toRef(row.parent)], { part: row.ord < 0 ? "named" : row.ord + 1 });
  }
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", {
      afterBlock: last?.block_id ?? "",
      afterVersion: last?.version ?? 0,
      limit: PAGE,
    }),
  )) {
    if (row.value !== null) continue;
    reporter.report("blob-missing", [row.block_id], {
      table: "block_versions",
      payload: "value",
      version: row.version,
    });
  }
}

/** Reads every blob that a ref may still resolve; expired blobs wait for gc and are only counted. */
export async function checkBytes(
  survey: Survey,
  blobs: BlobReader,
  reporter: IssueReporter,
  progress: Progress,
): Promise<void> {
  const { storage, contents } = survey;
  const manifests = await readManifests(storage);
  const useOf = (no: number): BlobUse | null => (contents.has(no) ? "content" : manifests.has(no) ? "manifest" : null);
  for await (const row of rowsOf<CheckedBlobRow>((last) =>
    storage.query("check.blobs", { after: last?.no ?? 0, limit: PAGE }),
  )) {
    checkColumns(reporter, row);
    if (row.form === HOLDER) continue;
    // Chunks have no expiry of their own; the check reads them with the blobs made of them.
    const isKept = row.refs > 0 || row.pinned === 1 || (row.linked === 1 && row.expires_at !== 0);
    const isInTime = row.expires_at === null || row.expires_at > storage.environment.now();
    if (!isKept && !isInTime) continue;
    progress.count("blobs");
    const as = useOf(row.no);
    const chars = contents.of(row.no);
    const reading = { progress, ...(as === null ? {} : { as }), ...(chars === null ? {} : { chars }) };
    const names = await readThrough(blobs, reporter, row.sha256, reading);
    if (names === null) continue;
    const links: (Uint8Array | null)[] = [];
    for await (const named of namedBy(storage, row.sha256)) links.push(named);
    compareLinks(reporter, row.sha256, names, links);
  }
}

/** The columns that reading the blob relies on and that its bytes do not prove. */
function checkColumns(reporter: IssueReporter, row: CheckedBlobRow): void {
  const isFlag = (value: unknown) => value === 0 || value === 1;
  const wrong = [
    ...(FORMS.has(row.form) ? [] : ["form"]),
    ...(isFlag(row.utf8) ? [] : ["utf8"]),
    ...(isFlag(row.pinned) ? [] : ["pinned"]),
    ...(text.read(row.media) === undefined ? ["media"] : []),
  ];
  for (const column of wrong) reporter.report("column-unreadable", [toRef(row.sha256)], { table: "blobs", column });
}

export interface BlobReading {
  readonly progress: Progress;
  /** The row that names the blob. */
  readonly row?: string;
  /** How the blob is used, when its bytes name other blobs. */
  readonly as?: BlobUse;
  /** The character count in the rows of the messages whose content it is. */
  readonly chars?: number;
}

/** Returns the blobs that the bytes name; null without `as`, or when the bytes are damaged. */
export async function readThrough(
  blobs: BlobReader,
  reporter: IssueReporter,
  sha256: Uint8Array,
  { progress, row, as, chars }: BlobReading,
): Promise<readonly Uint8Array[] | null> {
  const ref = toRef(sha256);
  const rows = row === undefined ? [ref] : [ref, row];
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of blobs.stream(ref)) {
      progress.read(piece.byteLength);
      if (as !== undefined) pieces.push(piece);
    }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { missing, part } = error.details;
    const where = typeof part === "string" ? { part } : {};
    if (error.code === "BlobCorrupted")
      reporter.report(missing === true ? "blob-missing" : "blob-hash-mismatch", rows, where);
    else if (error.code === "BlobNotFound" || error.code === "BlobExpired") {
      // Without a row that names it, gc may have deleted it a moment ago; a row would have prevented that.
      if (row !== undefined) reporter.report("blob-missing", rows, where);
    } else throw error;
    return null;
  }
  if (as === undefined) return null;
  if (chars !== undefined && (countChars(Buffer.concat(pieces)) ?? chars) !== chars) {
    reporter.report("row-mismatch", rows, { table: "events", column: "chars" });
  }
  return namesIn(as, pieces);
}

/**
 * The blobs that links of `sha256` lead to (a message content's attachments, a manifest's files); null for a missing
 * one.
 */
export async function* namedBy(storage: Storage, sha256: Uint8Array): AsyncGenerator<Uint8Array | null> {
  for await (const row of rowsOf<Queries["check.named"]["row"]>((last) =>
    storage.query("check.named", { parent: sha256, afterOrd: last?.ord ?? BEFORE_ALL, limit: PAGE }),
  )) {
    yield row.sha256;
  }
}

/** Blobs that no row needs any more: they wait for gc. */
export async function countOrphans(storage: Storage, count: Count): Promise<void> {
  const now = storage.environment.now();
  count("orphanBlobs", 0);
  for await (const { free, chunk } of rowsOf<Queries["gc.freeable"]["row"]>((last) =>
    storage.query("gc.freeable", { now, after: last?.no ?? 0, limit: PAGE }),
  )) {
    if (free === 1 && chunk === 0) count("orphanBlobs");
  }
}
