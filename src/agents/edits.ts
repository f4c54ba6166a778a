// One edit of one block: its checks, and the part of a commit that writes the new version.
import type { Block, BlockVersion } from "../contracts/agents.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Prepare } from "../contracts/storage/payloads.ts";
import { encodeText } from "../core/bytes.ts";
import { blockColumns, versionColumns } from "./rows.ts";

export type EditKind = BlockVersion["edit"];
type EditCommit = Required<Pick<Commit, "blobs" | "uses" | "writes">>;

const VALUE = { media: "text/plain; charset=utf-8", utf8: true } as const;

/**
 * Writes the block with a new version. `stored` is a blob that has the value already and gets one more reference
 * instead of being written again; null if there is none.
 */
export async function writeVersion(
  prepare: Prepare,
  block: Block,
  edit: EditKind,
  stored: Uint8Array | null,
): Promise<EditCommit> {
  const rows = (value: Uint8Array): readonly Write[] => [
    { op: edit === "created" ? "insert" : "put", table: "blocks", row: blockColumns(block) },
    { op: "insert", table: "block_versions", row: versionColumns(block, value, edit) },
  ];
  if (stored !== null) return { blobs: [], uses: [[stored, 1]], writes: rows(stored) };
  const payload = await prepare(encodeText(block.value), VALUE);
  return { blobs: payload.blobs, uses: payload.uses, writes: [...payload.writes, ...rows(payload.sha256)] };
}

/** The block with another value, one version on. */
export function withValue(block: Block, value: string, at: number): Block {
  return { ...block, value: checkFits(block.label, value, block.limit), version: block.version + 1, updatedAt: at };
}

/** A block's limit counts characters as people do: code points, not UTF-16 units. */
export function checkFits(label: string, value: string, limit: number): string {
  if (value.length <= limit) return value;
  let actual = 0;
  for (const _ of value) actual++;
  if (actual <= limit) return value;
  throw new HoldfastError(
    "LimitExceeded",
    `the block ${JSON.stringify(label)} would have ${actual} characters; its limit is ${limit}`,
    { details: { label, limit, actual }, hint: "Shorten the text, or raise the block's limit with saveBlocks()." },
  );
}

/** 0 is the version of a block that does not exist yet. */
export function checkVersion(label: string, actual: number, expected: number | undefined): void {
  if (expected === undefined || expected === actual) return;
  throw new HoldfastError("Conflict", `the block ${JSON.stringify(label)} has version ${actual}, not ${expected}`, {
    details: { label, expected, actual },
    hint: "Load the block again, and repeat the edit if it is still right.",
  });
}

export function checkWritable(block: Block): void {
  if (!block.readOnly) return;
  throw new HoldfastError("ReadOnly", `the block ${JSON.stringify(block.label)} is read-only`, {
    details: { label: block.label },
    hint: "An operator can change it with saveBlocks().",
  });
}

/** Replaces `find`, which must occur exactly once. */
export function replaceOnce(block: Block, find: string, put: string): string {
  const first = block.value.indexOf(find);
  if (first !== -1 && block.value.indexOf(find, first + 1) === -1) {
    return block.value.slice(0, first) + put + block.value.slice(first + find.length);
  }
  const where = first === -1 ? "nowhere" : "more than once";
  throw new HoldfastError(
    "Conflict",
    `the text to replace occurs ${where} in the block ${JSON.stringify(block.label)}`,
    {
      details: { label: block.label, found: first === -1 ? 0 : 2 },
      hint: first === -1 ? "Load the block: it may have changed." : "Include more of the text around it.",
    },
  );
}
