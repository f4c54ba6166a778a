// Blobs: every part is there, every byte has its hash, and each is referred to by as many rows as it counts.

import { HoldfastError } from "../contracts/errors.ts";
import type { Queries } from "../contracts/storage/queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedBlobRow } from "../contracts/storage/store-check-queries.ts";
import { toRef } from "../core/bytes.ts";
import { text } from "../core/decode.ts";
import { countChars } from "./char-count.ts";
import type { SecondLook } from "./findings.ts";
import { compareLinks, namesIn } from "./links.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";
import type { Progress } from "./progress.ts";
import { readManifests } from "./references.ts";
import type { BlobUse, Survey } from "./survey.ts";
import type { BlobReader } from "./yielding-reads.ts";

type Count = (what: string, n?: number) => void;

/** Under a random name it only holds parts that are on their way. */
const HOLDER = 4;
const FORMS: ReadonlySet<number> = new Set([0, 1, 2, 3, HOLDER]);

export async function checkParts(storage: Storage, look: SecondLook): Promise<void> {
  for await (const row of rowsOf<Queries["check.parts"]["row"]>((last) =>
    storage.query("check.parts", { afterParent: last?.parent_no ?? 0, afterOrd: last?.ord ?? 0, limit: PAGE }),
  )) {
    // Links of what is gone wait for gc.
    if (row.parent === null || row.child !== null) continue;
    look.report("blob-part-missing", [toRef(row.parent)], { part: row.ord < 0 ? "named" : row.ord + 1 });
  }
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", {
      afterBlock: last?.block_id ?? "",
      afterVersion: last?.version ?? 0,
      limit: PAGE,
    }),
  )) {
    if (row.value !== null) continue;
    look.report("blob-missing", [row.block_id], { table: "block_versions", payload: "value", version: row.version });
  }
}

/** Every blob that a ref may still resolve; expired blobs wait for gc and are counted. */
export async function checkBytes(
  survey: Survey,
  blobs: BlobReader,
  look: SecondLook,
  progress: Progress,
): Promise<void> {
  const { storage, contents } = survey;
  const manifests = await readManifests(storage);
  const useOf = (no: number): BlobUse | null => (contents.has(no) ? "content" : manifests.has(no) ? "manifest" : null);
  for await (const row of rowsOf<CheckedBlobRow>((last) =>
    storage.query("check.blobs", { after: last?.no ?? 0, limit: PAGE }),
  )) {
    checkColumns(look, row);
    if (row.form === HOLDER) continue;
    // Chunks have no time of their own; they are read with the blobs made of them.
    const isKept = row.refs > 0 || row.pinned === 1 || (row.linked === 1 && row.expires_at !== 0);
    const isInTime = row.expires_at === null || row.expires_at > storage.environment.now();
    if (!isKept && !isInTime) continue;
    progress.count("blobs");
    const as = useOf(row.no);
    const chars = contents.of(row.no);
    const reading = { progress, ...(as === null ? {} : { as }), ...(chars === null ? {} : { chars }) };
    const names = await readThrough(blobs, look, row.sha256, reading);
    if (names === null) continue;
    const links: (Uint8Array | null)[] = [];
    for await (const named of namedBy(storage, row.sha256)) links.push(named);
    compareLinks(look, row.sha256, names, links);
  }
}

/** What reading it relies on and its bytes do not prove. */
function checkColumns(look: SecondLook, row: CheckedBlobRow): void {
  const isFlag = (value: unknown) => value === 0 || value === 1;
  const wrong = [
    ...(FORMS.has(row.form) ? [] : ["form"]),
    ...(isFlag(row.utf8) ? [] : ["utf8"]),
    ...(isFlag(row.pinned) ? [] : ["pinned"]),
    ...(text.read(row.media) === undefined ? ["media"] : []),
  ];
  for (const column of wrong) look.report("column-unreadable", [toRef(row.sha256)], { table: "blobs", column });
}

export interface BlobReading {
  readonly progress: Progress;
  /** The row that names it. */
  readonly row?: string;
  /** Its bytes name other blobs. */
  readonly as?: BlobUse;
  /** How many characters the messages whose content it is say that it has. */
  readonly chars?: number;
}

/** Answers the blobs that its bytes name, when they name some; null where that was not asked or the bytes are damaged. */
export async function readThrough(
  blobs: BlobReader,
  look: SecondLook,
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
      look.report(missing === true ? "blob-missing" : "blob-hash-mismatch", rows, where);
    else if (error.code === "BlobNotFound" || error.code === "BlobExpired") {
      // It may just have been deleted, which a row that names it would have prevented.
      if (row !== undefined) look.report("blob-missing", rows, where);
    } else throw error;
    return null;
  }
  if (as === undefined) return null;
  if (chars !== undefined && (countChars(Buffer.concat(pieces)) ?? chars) !== chars) {
    look.report("row-mismatch", rows, { table: "events", column: "chars" });
  }
  return namesIn(as, pieces);
}

/** What a blob names, as the content of a message its attachments; null where that is not there. */
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
