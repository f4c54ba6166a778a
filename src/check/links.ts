// Finds the blobs that another blob's bytes name, and checks the links that keep them: a message's content names its
// attachments, a capture's list names its files. Without the link, gc deletes the named blob when it expires.
import { fromRef, toHex, toRef } from "../core/bytes.ts";
import { json, list, plainObject } from "../core/decode.ts";
import type { IssueReporter } from "./findings.ts";
import type { BlobUse } from "./survey.ts";

const NOTHING: readonly Uint8Array[] = [];

export function namesIn(as: BlobUse, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const bytes = Buffer.concat(pieces);
  // Most contents name nothing.
  if (!bytes.includes('"sha256:')) return NOTHING;
  const value = plainObject.read(json.read(bytes));
  if (value === undefined) return NOTHING;
  const found = new Map<string, Uint8Array>();
  const add = (ref: unknown) => {
    const sha256 = typeof ref === "string" ? fromRef(ref) : null;
    if (sha256 !== null) found.set(toHex(sha256), sha256);
  };
  if (as === "content") attachmentsIn(value.content, add);
  else for (const file of list.read(value.files) ?? []) add(plainObject.read(file)?.ref);
  return [...found.values()];
}

/** Finds attachments as history/append.ts does: sources of media, also inside tool results. */
function attachmentsIn(content: unknown, add: (ref: unknown) => void): void {
  for (const item of list.read(content) ?? []) {
    const block = plainObject.read(item) ?? {};
    if (MEDIA.has(block.type)) add(plainObject.read(block.source)?.ref);
    else if (block.type === "tool_result") attachmentsIn(block.content, add);
  }
}

const MEDIA: ReadonlySet<unknown> = new Set(["image", "audio", "document"]);

/** Reports named blobs without a link; an extra link keeps a blob longer and loses nothing. */
export function compareLinks(
  reporter: IssueReporter,
  parent: Uint8Array,
  names: readonly Uint8Array[],
  links: readonly (Uint8Array | null)[],
): void {
  // A link without a blob is reported separately, and belongs to one of the names.
  if (names.length === 0 || links.includes(null)) return;
  const linked = new Set(links.map((sha256) => (sha256 === null ? "" : toHex(sha256))));
  for (const name of names) {
    if (!linked.has(toHex(name))) reporter.report("blob-link-missing", [toRef(parent), toRef(name)], {});
  }
}
