// Bundles of captures: the list of files and their bytes, in one compressed piece.
import type { CapturedFile, CaptureOrigin, CodingAgent, LeftOutFile, NewCapturedFile } from "../contracts/captures.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import { corruptedBundle, encodeBundle, isBundle, readBundle } from "../core/bundle.ts";
import { sanitizeBundle } from "../core/bundle-sanitizer.ts";
import { fromRef } from "../core/bytes.ts";
import { limitExceeded } from "../core/check.ts";
import { hasAtMostParts } from "../core/json-parts.ts";
import { decodeManifest, encodeManifest, type Manifest } from "./rows.ts";

export async function createBundle(payloads: Payloads, manifest: Manifest): Promise<Uint8Array> {
  const size = manifest.files.reduce((sum, file) => sum + file.size, 0);
  if (size > LIMITS.bundleBytes) throw limitExceeded("bundleBytes", "the files in bytes", size);
  const files: Uint8Array[] = [];
  for (const { ref } of manifest.files) {
    for await (const piece of payloads.stream(fromRef(ref) as Uint8Array)) files.push(piece);
  }
  return encodeBundle(encodeManifest(manifest), files);
}

export interface BundleCapture extends CaptureOrigin {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly files: readonly CapturedFile[];
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

/** Reads and verifies a bundle. */
export async function readCaptureBundle(bytes: Uint8Array): Promise<BundleCapture> {
  if (!isBundle(bytes)) throw corruptedBundle("it is not a bundle of Holdfast");
  const { list, contents } = await readBundle(bytes, readList);
  return { ...list, contents };
}

/** Fields of a list and of each of its files, with room for more of them in later versions. */
const MOST_PARTS = 16 * (LIMITS.captureFiles + 1);

function readList(bytes: Uint8Array): Manifest {
  const isPlain = hasAtMostParts(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1"),
    MOST_PARTS,
  );
  if (!isPlain) throw corruptedBundle("its list has more parts than a list of files");
  try {
    return decodeManifest(bytes, "of a bundle");
  } catch (cause) {
    throw corruptedBundle("its list of files is damaged", cause);
  }
}

export interface FilesToSave {
  readonly files: readonly NewCapturedFile[];
  readonly left: readonly LeftOutFile[];
}

/** The files of a bundle, without those that an untrusted file may not bring. */
export function filesToSave(found: BundleCapture): FilesToSave {
  const { files, contents, left } = sanitizeBundle(found);
  const accepted = files.map(({ role, path }) => ({
    role,
    path,
    content: contents.get(path) ?? new Uint8Array(0),
    grows: path.endsWith(".jsonl"),
  }));
  return { files: accepted, left };
}

/** Makes a bundle of files on disk, without a store. */
export async function bundleFiles(
  origin: Omit<BundleCapture, "files" | "contents">,
  files: readonly (Omit<CapturedFile, "stored"> & { readonly content: Uint8Array })[],
): Promise<Uint8Array> {
  const ordered = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const listed = ordered.map(({ role, path, size, ref }) => ({ role, path, size, ref, stored: size }));
  return encodeBundle(
    encodeManifest({ ...origin, files: listed }),
    ordered.map(({ content }) => content),
  );
}
