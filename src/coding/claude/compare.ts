// Whether a file that is here already is what is to be put there, comes before it, or goes on from it.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, lstat, open, readFile } from "node:fs/promises";
import type { CapturedFile } from "../../contracts/captures.ts";
import { learnSecrets, MASKED, maskSecrets } from "../secrets.ts";

/** What the second file is to the first: "shorter", the first begins with it; "longer", it begins with the first. */
export type Comparison = "absent" | "same" | "shorter" | "longer" | "diverged";

const PIECE = 1024 * 1024;

/** A link, or anything but a file, has diverged: it is not looked into. */
export async function compareFiles(one: string, here: string): Promise<Comparison> {
  const found = await lstat(here).catch(() => null);
  if (found === null) return "absent";
  if (!found.isFile()) return "diverged";
  const a = await open(one, "r");
  try {
    const b = await open(here, "r");
    try {
      return await compare(a, b);
    } finally {
      await b.close();
    }
  } finally {
    await a.close();
  }
}

/** The same where secrets may have been replaced in what was captured: what is here is then compared as it would have been. */
export async function compareCaptured(
  captured: string,
  here: string,
  /** All that the session has here: what was found in one file was replaced in all. */
  filesHere: () => Promise<readonly string[]>,
): Promise<{ readonly is: Comparison; readonly masked: boolean }> {
  const plain = await compareFiles(captured, here);
  if (plain !== "diverged" || !(await lstat(here)).isFile()) return { is: plain, masked: false };
  const kept = await readFile(captured);
  if (!kept.includes(MASKED)) return { is: plain, masked: false };
  const known = await learnSecrets([here, ...(await filesHere())].map((file) => createReadStream(file)));
  const one = Buffer.from(maskSecrets(kept, known));
  const other = maskSecrets(await readFile(here), known);
  const common = Math.min(one.byteLength, other.byteLength);
  if (one.compare(other, 0, common, 0, common) !== 0) return { is: plain, masked: false };
  const is = one.byteLength === other.byteLength ? "same" : other.byteLength < one.byteLength ? "shorter" : "longer";
  return { is, masked: true };
}

async function compare(a: FileHandle, b: FileHandle): Promise<Comparison> {
  const [sizeA, sizeB] = [(await a.stat()).size, (await b.stat()).size];
  const common = Math.min(sizeA, sizeB);
  const [pieceA, pieceB] = [Buffer.alloc(PIECE), Buffer.alloc(PIECE)];
  for (let at = 0; at < common; ) {
    const length = Math.min(PIECE, common - at);
    const [readA, readB] = await Promise.all([a.read(pieceA, 0, length, at), b.read(pieceB, 0, length, at)]);
    const both = Math.min(readA.bytesRead, readB.bytesRead);
    // One of them was cut while it was read.
    if (both === 0) return "diverged";
    if (pieceA.compare(pieceB, 0, both, 0, both) !== 0) return "diverged";
    at += both;
  }
  if (sizeA === sizeB) return "same";
  return sizeB < sizeA ? "shorter" : "longer";
}

/** Without reading what was captured. */
export async function isSame(here: string, file: CapturedFile): Promise<boolean> {
  const found = await lstat(here).catch(() => null);
  if (!found?.isFile() || found.size !== file.size) return false;
  return `sha256:${await hashOf(here)}` === file.ref;
}

export async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: PIECE })) hash.update(piece);
  return hash.digest("hex");
}
