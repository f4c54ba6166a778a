// Restores a session of Claude Code, under the key of the directory in which the agent will continue it. All files are written and
// verified in a temporary folder first; the transcript is moved last, so that the agent finds the whole session or none. A file
// that is here already is compared with the captured one: it may be the same, older, newer, or have continued differently.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, lstat, open, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CapturedFile } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { unsafe } from "../../core/paths.ts";
import { learnSecrets, MASKED, maskSecrets } from "../secrets.ts";
import { guarded, type StagedFile, Staging } from "../staging.ts";
import { movedDirectory, type Rewriting, rewriteLines, rewritings } from "./rewrite-paths.ts";
import {
  type ClaudeLocation,
  checkKey,
  checkSessionId,
  filesOfSession,
  isFlatAgent,
  listCopies,
  locateFile,
  projectKeyOf,
  transcriptPath,
} from "./session-files.ts";
import { factsOf, type TranscriptFacts, TranscriptReader } from "./transcript.ts";

export interface ClaudeTarget {
  /** The directory in which the agent will continue. */
  readonly cwd: string;
  readonly configDir: string;
  /** The key that CLAUDE_CODE_PROJECT_DIR_NAME sets; otherwise that of the working directory. */
  readonly key?: string | null;
  /** Changes the paths of the session's own files in its transcripts to where they are now. They are not byte for byte what was
   * captured then, and the provider's prompt cache starts anew. */
  readonly rewritePaths?: boolean;
  /** Replaces a session that continued differently here; its files are kept under other names. */
  readonly overwrite?: boolean;
  /** Does everything except placing the files: it reports what would be done, and refuses what would be refused. */
  readonly dryRun?: boolean;
}

export interface RestoredClaude extends Restored {
  readonly agent: "claude-code";
  readonly configDir: string;
  readonly key: string;
  /** restored: as captured. unchanged: it was here already. newer: the session here continues the captured one, and stays. */
  readonly outcome: "restored" | "unchanged" | "newer";
  /** Files that were written now, where they are, and how many of them differ from what was captured because paths were rewritten. */
  readonly written: number;
  readonly places: readonly string[];
  readonly rewritten: number;
  readonly lines: number;
  readonly lastUuid: string | null;
  /** Files that were here before, under their new names. */
  readonly kept: readonly string[];
}

interface RestoreWork {
  readonly source: CaptureSource;
  readonly place: ClaudeLocation;
  readonly target: ClaudeTarget;
  readonly changes: readonly Rewriting[];
  readonly staging: Staging;
  readonly left: { path: string; why: string }[];
  readonly kept: string[];
}

/** Conflict when the session continued differently here. Either all files are written or none. */
export async function restoreClaude(source: CaptureSource, target: ClaudeTarget): Promise<RestoredClaude> {
  const sessionId = checkSessionId(source.sessionId);
  if (source.agent !== "claude-code") throw invalid("what is restored", "a session of Claude Code", source.agent);
  const configDir = path.resolve(target.configDir);
  const key = target.key == null ? await projectKeyOf(target.cwd) : checkKey(target.key);
  const place = { configDir, key, sessionId };
  const { transcript, others } = checkFiles(source.files, place);
  const staging = await Staging.in(target.dryRun ? tmpdir() : configDir);
  try {
    const changes = target.rewritePaths ? await rewritesFor(source, place, target.cwd) : [];
    const work: RestoreWork = { source, place, target, changes, staging, left: [], kept: [] };
    return await guarded(configDir, () => restore(work, transcript, others));
  } finally {
    await staging.close();
  }
}

async function restore(work: RestoreWork, transcript: CapturedFile, others: CapturedFile[]): Promise<RestoredClaude> {
  const { source, place, staging, target } = work;
  const { staged, facts: captured } = await stageTranscript(work, transcript);
  await refuseElsewhere(work, staged);
  const { is: here, masked } = await compareCaptured(staged.from, staged.to, () => filesHere(work.place));
  if (here === "diverged") await replaceDiverged(work, staged);
  // The file here still has the secrets that were replaced in the capture: it is kept under another name.
  if (here === "shorter" && masked) await keepBeside(work, staged);
  const outcome = here === "same" ? "unchanged" : here === "longer" ? "newer" : "restored";
  if (outcome !== "restored") await staging.drop(staged);
  const writes: StagedFile[] = outcome === "restored" ? [staged] : [];
  if (outcome === "newer") {
    work.left.push({ path: transcript.path, why: "what is here goes on from it, and is newer" });
    for (const file of others) work.left.push({ path: file.path, why: "the session that is here is newer" });
  } else {
    for (const file of others) writes.push(...(await stageOther(work, file, outcome === "unchanged")));
    await reportUncaptured(work);
  }
  if (!target.dryRun) await staging.place();
  const left = new Set(work.left.map((file) => file.path));
  const put = source.files.filter((file) => !left.has(file.path));
  const refs = new Map(source.files.map((file) => [file.path, file.ref]));
  const facts = outcome === "newer" ? await factsOf(staged.to) : captured;
  return {
    agent: "claude-code",
    sessionId: place.sessionId,
    cwd: target.cwd,
    configDir: place.configDir,
    key: place.key,
    files: put.length,
    bytes: put.reduce((sum, file) => sum + file.size, 0),
    messages: facts.messages,
    lines: facts.lines,
    lastUuid: facts.lastUuid,
    isAhead: outcome === "newer",
    left: work.left,
    outcome,
    written: writes.length,
    places: writes.map(({ to }) => to),
    rewritten: writes.filter((file) => refs.get(file.path) !== file.ref).length,
    kept: work.kept,
  };
}

/** Checks that every path belongs to this session and occurs once, and that no file is where another has a directory. */
function checkFiles(files: readonly CapturedFile[], place: ClaudeLocation) {
  if (files.length > LIMITS.captureFiles) throw limitExceeded("captureFiles", "the number of files", files.length);
  const seen = new Set<string>();
  const folders = new Set<string>();
  // On a file system that ignores case, two names could be one file.
  const isFolding = process.platform === "darwin" || process.platform === "win32";
  for (const { path: name, size } of files) {
    locateFile(name, place);
    if (!Number.isSafeInteger(size) || size < 0) throw invalid(`the size of ${JSON.stringify(name)}`, "a number", size);
    if (size > LIMITS.blobBytes) throw limitExceeded("blobBytes", `the size of ${JSON.stringify(name)}`, size);
    const folded = isFolding ? name.normalize("NFC").toLowerCase() : name;
    if (seen.has(folded)) throw unsafe(name, "it is there twice");
    seen.add(folded);
    for (let at = folded.lastIndexOf("/"); at > 0; at = folded.lastIndexOf("/", at - 1))
      folders.add(folded.slice(0, at));
  }
  const both = [...seen].find((name) => folders.has(name));
  if (both !== undefined) throw unsafe(both, "it is a file and a directory");
  const transcript = files.find(({ path: name }) => name === transcriptPath(place.sessionId));
  if (transcript === undefined) {
    throw new HoldfastError("NotFound", `the capture has no transcript of session ${place.sessionId}`, {
      details: { sessionId: place.sessionId, files: files.length },
      hint: "Nothing was put back: without it Claude Code finds no session.",
    });
  }
  return { transcript, others: files.filter((file) => file !== transcript) };
}

async function rewritesFor(source: CaptureSource, place: ClaudeLocation, cwd: string): Promise<Rewriting[]> {
  const directory = movedDirectory(source.cwd, await realpath(cwd));
  if (source.configDir === null || source.key === null) return directory;
  return [...rewritings({ ...place, configDir: source.configDir, key: source.key }, place), ...directory];
}

/** Checks that the written transcript has the captured lines and messages, also after its paths were rewritten. */
async function stageTranscript(
  work: RestoreWork,
  file: CapturedFile,
): Promise<{ staged: StagedFile; facts: TranscriptFacts }> {
  const { place, changes, source, staging } = work;
  const written = new TranscriptReader();
  const readBack = (piece: Uint8Array) => written.push(piece);
  const to = locateFile(file.path, place);
  const captured = new TranscriptReader();
  const change = makeRewriter(changes);
  const seen = change && ((piece: Uint8Array) => captured.push(piece));
  const staged = await staging.add(file, to, source.read(file.path), { last: true, readBack, change, seen });
  const facts = written.end();
  if (change !== undefined && JSON.stringify(captured.end()) !== JSON.stringify(facts)) {
    throw new Error(`bug: rewriting the paths in ${file.path} changed more than paths`);
  }
  return { staged, facts };
}

function makeRewriter(changes: readonly Rewriting[]) {
  if (changes.length === 0) return undefined;
  return (pieces: AsyncIterable<Uint8Array>) => rewriteLines(pieces, changes);
}

/** Empty when the file is here already, or the one that is here stays. */
async function stageOther(work: RestoreWork, file: CapturedFile, keepHere: boolean): Promise<StagedFile[]> {
  const { place, source, staging } = work;
  const to = locateFile(file.path, place);
  const change = file.path.endsWith(".jsonl") ? makeRewriter(work.changes) : undefined;
  if (change === undefined && (await isSame(to, file))) return [];
  const isFlat =
    isFlatAgent(path.basename(to)) && path.dirname(to) === path.join(place.configDir, "projects", place.key);
  const reader = isFlat ? new TranscriptReader() : null;
  const seen = (piece: Uint8Array) => reader?.push(piece);
  const staged = await staging.add(file, to, source.read(file.path), { change, seen });
  if (reader !== null && reader.end().sessionId !== place.sessionId) {
    throw unsafe(file.path, "it is a sub-agent's of another session");
  }
  const here = await compareFiles(staged.from, staged.to);
  // If only the beginning is here, the file was not written completely, or has grown since.
  const isOlder = here === "absent" || here === "shorter";
  if (here === "same") await staging.drop(staged);
  if (here === "same") return [];
  if (isOlder) return [staged];
  // A file that continues the captured one stays. One that differs is replaced, and kept under another name.
  if (here === "diverged" && !keepHere && !isFlat) {
    await keepBeside(work, staged);
    return [staged];
  }
  return keepOrReplace(work, staged, here);
}

/** The conversation is the same and this file differs: the file here stays, unless the caller wants to overwrite it. */
async function keepOrReplace(work: RestoreWork, staged: StagedFile, here: Comparison): Promise<StagedFile[]> {
  if (work.target.overwrite) {
    await keepBeside(work, staged);
    return [staged];
  }
  await work.staging.drop(staged);
  work.left.push({
    path: staged.path,
    why: here === "longer" ? "what is here goes on from it, and is newer" : "what is here differs, and stays",
  });
  return [];
}

async function replaceDiverged(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (!work.target.overwrite) throw conflict(work, staged.to, "went on apart from what was captured");
  await keepBeside(work, staged);
}

/** A link is replaced, and its target stays. */
async function keepBeside(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (!(await lstat(staged.to)).isFile()) return;
  staged.keepAs = `${staged.to}.holdfast-${(await hashOf(staged.to)).slice(0, 12)}`;
  work.kept.push(staged.keepAs);
}

/** A session has one task list and file history for all directories that it ran in: no other copy of it may be ahead. */
async function refuseElsewhere(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (work.target.overwrite) return;
  for await (const copy of listCopies(work.place.configDir, work.place.sessionId)) {
    if (copy.key === work.place.key) continue;
    const { is: there } = await compareCaptured(staged.from, copy.file, () =>
      filesHere({ ...work.place, key: copy.key }),
    );
    const how =
      there === "longer" ? "goes on" : there === "diverged" && work.changes.length === 0 ? "went on apart" : null;
    if (how === null) continue;
    throw conflict(work, copy.file, `${how} from what was captured, in another directory`, true);
  }
}

async function filesHere(place: ClaudeLocation): Promise<readonly string[]> {
  return (await filesOfSession(place)).files.map(({ file }) => file);
}

function conflict({ place }: RestoreWork, file: string, how: string, isElsewhere = false): HoldfastError {
  return new HoldfastError("Conflict", `session ${place.sessionId} is on this machine and ${how}`, {
    details: { sessionId: place.sessionId, file, isElsewhere },
    hint: "Go on with the one that is here, or restore with `overwrite`: then what is here is kept beside it.",
  });
}

/** Files that are here and not in the capture stay. They are reported, because the session may have removed them. */
async function reportUncaptured(work: RestoreWork): Promise<void> {
  const { place, source, left } = work;
  const captured = new Set(source.files.map((file) => file.path));
  const { files } = await filesOfSession(place);
  for (const file of files) {
    if (!captured.has(file.path)) left.push({ path: file.path, why: "it was here, and is no part of the capture" });
  }
}

/** How the second file relates to the first. shorter: the first begins with it. longer: it begins with the first. */
type Comparison = "absent" | "same" | "shorter" | "longer" | "diverged";

const PIECE = 1024 * 1024;

/** A link, or anything but a file, counts as diverged and is not read. */
async function compareFiles(one: string, here: string): Promise<Comparison> {
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

/** If secrets were replaced in the capture, the file here is compared after the same replacement. */
async function compareCaptured(
  captured: string,
  here: string,
  /** All files of the session here: a secret that was found in one was replaced in all. */
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
    // One of the files was shortened while it was read.
    if (both === 0) return "diverged";
    if (pieceA.compare(pieceB, 0, both, 0, both) !== 0) return "diverged";
    at += both;
  }
  if (sizeA === sizeB) return "same";
  return sizeB < sizeA ? "shorter" : "longer";
}

/** Compares with the captured hash, without reading the capture. */
async function isSame(here: string, file: CapturedFile): Promise<boolean> {
  const found = await lstat(here).catch(() => null);
  if (!found?.isFile() || found.size !== file.size) return false;
  return `sha256:${await hashOf(here)}` === file.ref;
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(file, { highWaterMark: PIECE })) hash.update(piece);
  return hash.digest("hex");
}
