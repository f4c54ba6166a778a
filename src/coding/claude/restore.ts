// Restores a session of Claude Code, under the key of the directory in which the agent will continue it. All files are written and
// verified in a temporary folder first; the transcript is moved last, so that the agent finds the whole session or none. A file that
// exists already is compared with the captured one: it may be the same, older, newer, or have continued differently.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, lstat, open, readFile, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CapturedFile } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { unsafe } from "../../core/agent-sessions.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { learnSecrets, MASKED, maskSecrets } from "../secrets.ts";
import { describingFailures, type StagedFile, Staging } from "../staging.ts";
import { directoryRewrite, type PathRewrite, rewriteLines, sessionPathRewrites } from "./rewrite-paths.ts";
import {
  type ClaudeLocation,
  checkProjectKey,
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
  /** Changes the paths of the session's own files in its transcripts to where the files are now. The transcripts then differ from the
   * captured bytes, and the provider's prompt cache does not match. */
  readonly rewritePaths?: boolean;
  /** Replaces a session that continued differently on this machine; its files are kept under other names. */
  readonly overwrite?: boolean;
  /** Does everything except placing the files: it reports what would be done, and refuses what would be refused. */
  readonly dryRun?: boolean;
}

export interface RestoredClaude extends Restored {
  readonly agent: "claude-code";
  readonly configDir: string;
  readonly key: string;
  /** unchanged: this machine had the session already. newer: the session of this machine continues the captured one, and is kept. */
  readonly outcome: "restored" | "unchanged" | "newer";
  /** The number of files that were written, their locations, and how many differ from the captured bytes because paths were rewritten. */
  readonly written: number;
  readonly places: readonly string[];
  readonly rewritten: number;
  readonly lines: number;
  readonly lastUuid: string | null;
  /** Earlier files of this machine, under their new names. */
  readonly kept: readonly string[];
}

interface RestoreWork {
  readonly source: CaptureSource;
  readonly place: ClaudeLocation;
  readonly target: ClaudeTarget;
  readonly changes: readonly PathRewrite[];
  readonly staging: Staging;
  readonly left: { path: string; why: string }[];
  readonly kept: string[];
}

/** Conflict when the session continued differently here. Either all files are written or none. */
export async function restoreClaude(source: CaptureSource, target: ClaudeTarget): Promise<RestoredClaude> {
  const sessionId = checkSessionId(source.sessionId);
  if (source.agent !== "claude-code") throw invalid("source.agent", "a session of Claude Code", source.agent);
  const configDir = path.resolve(target.configDir);
  const projectKey = target.key == null ? await projectKeyOf(target.cwd) : checkProjectKey(target.key);
  const place = { configDir, projectKey, sessionId };
  const { transcript, others } = checkFiles(source.files, place);
  const staging = await Staging.createIn(target.dryRun ? tmpdir() : configDir);
  try {
    const changes = target.rewritePaths ? await rewritesFor(source, place, target.cwd) : [];
    const work: RestoreWork = { source, place, target, changes, staging, left: [], kept: [] };
    return await describingFailures(configDir, () => restore(work, transcript, others));
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
  // The existing file still has the secrets that were replaced in the capture, so it is kept under another name.
  if (here === "shorter" && masked) await keepUnderOtherName(work, staged);
  const outcome = here === "same" ? "unchanged" : here === "longer" ? "newer" : "restored";
  if (outcome !== "restored") await staging.drop(staged);
  const writes: StagedFile[] = outcome === "restored" ? [staged] : [];
  if (outcome === "newer") {
    work.left.push({ path: transcript.path, why: "the file on this machine continues it, and is newer" });
    for (const file of others) work.left.push({ path: file.path, why: "the session on this machine is newer" });
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
    key: place.projectKey,
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
    if (seen.has(folded)) throw unsafe(name, "the capture lists it twice");
    seen.add(folded);
    for (let at = folded.lastIndexOf("/"); at > 0; at = folded.lastIndexOf("/", at - 1))
      folders.add(folded.slice(0, at));
  }
  const both = [...seen].find((name) => folders.has(name));
  if (both !== undefined) throw unsafe(both, "the capture has a file and a directory of that name");
  const transcript = files.find(({ path: name }) => name === transcriptPath(place.sessionId));
  if (transcript === undefined) {
    throw new HoldfastError("NotFound", `the capture has no transcript of session ${place.sessionId}`, {
      details: { sessionId: place.sessionId, files: files.length },
      hint: "Nothing was restored: without a transcript Claude Code does not find the session.",
    });
  }
  return { transcript, others: files.filter((file) => file !== transcript) };
}

async function rewritesFor(source: CaptureSource, place: ClaudeLocation, cwd: string): Promise<PathRewrite[]> {
  const directory = directoryRewrite(source.cwd, await realpath(cwd));
  if (source.configDir === null || source.key === null) return directory;
  return [
    ...sessionPathRewrites({ ...place, configDir: source.configDir, projectKey: source.key }, place),
    ...directory,
  ];
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

function makeRewriter(changes: readonly PathRewrite[]) {
  if (changes.length === 0) return undefined;
  return (pieces: AsyncIterable<Uint8Array>) => rewriteLines(pieces, changes);
}

/** Empty when the file exists already, or the existing file is kept. */
async function stageOther(work: RestoreWork, file: CapturedFile, keepExisting: boolean): Promise<StagedFile[]> {
  const { place, source, staging } = work;
  const to = locateFile(file.path, place);
  const change = file.path.endsWith(".jsonl") ? makeRewriter(work.changes) : undefined;
  if (change === undefined && (await isSame(to, file))) return [];
  const isFlat =
    isFlatAgent(path.basename(to)) && path.dirname(to) === path.join(place.configDir, "projects", place.projectKey);
  const reader = isFlat ? new TranscriptReader() : null;
  const seen = (piece: Uint8Array) => reader?.push(piece);
  const staged = await staging.add(file, to, source.read(file.path), { change, seen });
  if (reader !== null && reader.end().sessionId !== place.sessionId) {
    throw unsafe(file.path, "it belongs to a sub-agent of another session");
  }
  const here = await compareFiles(staged.from, staged.to);
  // If this machine has only the beginning, the file was not written completely, or has grown since.
  const isOlder = here === "absent" || here === "shorter";
  if (here === "same") await staging.drop(staged);
  if (here === "same") return [];
  if (isOlder) return [staged];
  // An existing file that continues the captured one is kept. A file that differs is replaced, and kept under another name.
  if (here === "diverged" && !keepExisting && !isFlat) {
    await keepUnderOtherName(work, staged);
    return [staged];
  }
  return keepOrReplace(work, staged, here);
}

/** The conversation is the same and this file differs: the existing file is kept, unless the caller asked to overwrite it. */
async function keepOrReplace(work: RestoreWork, staged: StagedFile, here: Comparison): Promise<StagedFile[]> {
  if (work.target.overwrite) {
    await keepUnderOtherName(work, staged);
    return [staged];
  }
  await work.staging.drop(staged);
  work.left.push({
    path: staged.path,
    why:
      here === "longer"
        ? "the file on this machine continues it, and is newer"
        : "the file on this machine differs, and is kept",
  });
  return [];
}

async function replaceDiverged(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (!work.target.overwrite) throw conflict(work, staged.to, "continued differently from the captured one");
  await keepUnderOtherName(work, staged);
}

/** A link is replaced, and its target is not changed. */
async function keepUnderOtherName(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (!(await lstat(staged.to)).isFile()) return;
  staged.keepAs = `${staged.to}.holdfast-${(await hashOf(staged.to)).slice(0, 12)}`;
  work.kept.push(staged.keepAs);
}

/** A session has one task list and file history for all of its directories, so no copy in another directory may be newer. */
async function refuseElsewhere(work: RestoreWork, staged: StagedFile): Promise<void> {
  if (work.target.overwrite) return;
  for await (const copy of listCopies(work.place.configDir, work.place.sessionId)) {
    if (copy.key === work.place.projectKey) continue;
    const { is: there } = await compareCaptured(staged.from, copy.file, () =>
      filesHere({ ...work.place, projectKey: copy.key }),
    );
    const isDiverged = there === "diverged" && work.changes.length === 0;
    if (there !== "longer" && !isDiverged) continue;
    const how = isDiverged ? "continued differently from" : "continues";
    throw conflict(work, copy.file, `${how} the captured one, in another directory`, true);
  }
}

async function filesHere(place: ClaudeLocation): Promise<readonly string[]> {
  return (await filesOfSession(place)).files.map(({ file }) => file);
}

function conflict({ place }: RestoreWork, file: string, how: string, isElsewhere = false): HoldfastError {
  return new HoldfastError("Conflict", `session ${place.sessionId} on this machine ${how}`, {
    details: { sessionId: place.sessionId, file, isElsewhere },
    hint: "Continue the session of this machine, or restore with `overwrite`, which keeps its files under other names.",
  });
}

/** Existing files that are not in the capture are kept. They are reported, because the session may have removed them. */
async function reportUncaptured(work: RestoreWork): Promise<void> {
  const { place, source, left } = work;
  const captured = new Set(source.files.map((file) => file.path));
  const { files } = await filesOfSession(place);
  for (const file of files) {
    if (!captured.has(file.path))
      left.push({ path: file.path, why: "this machine had it, and it is not part of the capture" });
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

/** If secrets were replaced in the capture, the existing file is compared after the same replacement. */
async function compareCaptured(
  captured: string,
  here: string,
  /** All files of the session on this machine: a secret that was found in one file was replaced in all. */
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
    // One of the files was shorten while it was read.
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
