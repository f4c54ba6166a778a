// Puts a session of Claude Code back, under the key of the directory in which it is to go on. All files are written and
// verified beside where they go; the transcript comes last, so that the agent finds the whole session or none.

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
  /** Where the agent is to go on. */
  readonly cwd: string;
  readonly configDir: string;
  /** Instead of the working directory's: the one of CLAUDE_CODE_PROJECT_DIR_NAME. */
  readonly key?: string | null;
  /** Paths of the session's own files in its transcripts lead to where they are now. They are not byte for byte what was
   * captured then, and the provider's prompt cache starts anew. */
  readonly rewritePaths?: boolean;
  /** Replace what went on apart here; it is kept beside. */
  readonly overwrite?: boolean;
  /** Everything but placing the files: what would be done is told, and what would be refused is refused. */
  readonly dryRun?: boolean;
}

export interface RestoredClaude extends Restored {
  readonly agent: "claude-code";
  readonly configDir: string;
  readonly key: string;
  /** restored: as captured. unchanged: it was there already. newer: what is here goes on from what was captured, and stays. */
  readonly outcome: "restored" | "unchanged" | "newer";
  /** Files that were written now, where they are, and how many of them differ from what was captured because paths were rewritten. */
  readonly written: number;
  readonly places: readonly string[];
  readonly rewritten: number;
  readonly lines: number;
  readonly lastUuid: string | null;
  /** What was here before and is kept beside. */
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

/** Conflict when the session went on apart here; nothing is written unless all of it can be. */
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
  // What was replaced in the capture is still here: it stays, beside it.
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

/** Every path is one of this session's, there once, and no file is where another has a directory. */
function checkFiles(files: readonly CapturedFile[], place: ClaudeLocation) {
  if (files.length > LIMITS.captureFiles) throw limitExceeded("captureFiles", "the number of files", files.length);
  const seen = new Set<string>();
  const folders = new Set<string>();
  // Where upper and lower case are the same, two names could be one file.
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

/** What is read back of it has the lines and messages that were captured, also after paths in it were rewritten. */
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

/** None when it is here already, or what is here is to stay. */
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
  // A file of which only the beginning is here was not written to its end, or has grown since.
  const isOlder = here === "absent" || here === "shorter";
  if (here === "same") await staging.drop(staged);
  if (here === "same") return [];
  if (isOlder) return [staged];
  // What goes on from the captured stays; what went another way makes room for it, and is kept beside.
  if (here === "diverged" && !keepHere && !isFlat) {
    await keepBeside(work, staged);
    return [staged];
  }
  return keepOrReplace(work, staged, here);
}

/** The conversation is the same and this file is not: what is here stays, unless it is to be overwritten. */
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

/** A link is replaced, and what it leads to stays where it is. */
async function keepBeside(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (!(await lstat(staged.to)).isFile()) return;
  staged.keepAs = `${staged.to}.holdfast-${(await hashOf(staged.to)).slice(0, 12)}`;
  work.kept.push(staged.keepAs);
}

/** Task list and file history are the session's in whatever directory it ran: another copy of it must not be ahead. */
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

/** Files that were here and were not captured stay; they are named, because they may be what the session had removed. */
async function reportUncaptured(work: RestoreWork): Promise<void> {
  const { place, source, left } = work;
  const captured = new Set(source.files.map((file) => file.path));
  const { files } = await filesOfSession(place);
  for (const file of files) {
    if (!captured.has(file.path)) left.push({ path: file.path, why: "it was here, and is no part of the capture" });
  }
}

/** What the second file is to the first: "shorter", the first begins with it; "longer", it begins with the first. */
type Comparison = "absent" | "same" | "shorter" | "longer" | "diverged";

const PIECE = 1024 * 1024;

/** A link, or anything but a file, has diverged: it is not looked into. */
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

/** The same where secrets may have been replaced in what was captured: what is here is then compared as it would have been. */
async function compareCaptured(
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
