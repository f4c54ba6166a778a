// Puts a session of Claude Code back, under the key of the directory in which it is to go on. All files are written and
// verified beside where they go; the transcript comes last, so that the agent finds the whole session or none.
import { lstat, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import type { CapturedFile } from "../../contracts/captures.ts";
import type { CaptureSource, Restored } from "../../contracts/coding.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { invalid, limitExceeded } from "../../core/check.ts";
import { unsafe } from "../paths.ts";
import { guarded, type Staged, Staging } from "../staging.ts";
import { type Comparison, compareCaptured, compareFiles, hashOf, isSame } from "./compare.ts";
import { filesOfSession } from "./find.ts";
import { checkKey, projectKeyOf } from "./key.ts";
import { type ClaudePlace, checkSessionId, isFlatAgent, placeOf, transcriptPath } from "./layout.ts";
import { copiesOf } from "./list.ts";
import { movedDirectory, type Rewriting, rewriteLines, rewritings } from "./rewrite.ts";
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

interface Work {
  readonly source: CaptureSource;
  readonly place: ClaudePlace;
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
    const changes = target.rewritePaths ? await changesOf(source, place, target.cwd) : [];
    const work: Work = { source, place, target, changes, staging, left: [], kept: [] };
    return await guarded(configDir, () => restore(work, transcript, others));
  } finally {
    await staging.close();
  }
}

async function restore(work: Work, transcript: CapturedFile, others: CapturedFile[]): Promise<RestoredClaude> {
  const { source, place, staging, target } = work;
  const { staged, facts: captured } = await stageTranscript(work, transcript);
  await refuseElsewhere(work, staged);
  const { is: here, masked } = await compareCaptured(staged.from, staged.to, () => filesHere(work.place));
  if (here === "diverged") await replaceDiverged(work, staged);
  // What was replaced in the capture is still here: it stays, beside it.
  if (here === "shorter" && masked) await keepBeside(work, staged);
  const outcome = here === "same" ? "unchanged" : here === "longer" ? "newer" : "restored";
  if (outcome !== "restored") await staging.drop(staged);
  const writes: Staged[] = outcome === "restored" ? [staged] : [];
  if (outcome === "newer") {
    work.left.push({ path: transcript.path, why: "what is here goes on from it, and is newer" });
    for (const file of others) work.left.push({ path: file.path, why: "the session that is here is newer" });
  } else {
    for (const file of others) writes.push(...(await stageOther(work, file, outcome === "unchanged")));
    await leaveStrangers(work);
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
function checkFiles(files: readonly CapturedFile[], place: ClaudePlace) {
  if (files.length > LIMITS.captureFiles) throw limitExceeded("captureFiles", "the number of files", files.length);
  const seen = new Set<string>();
  const folders = new Set<string>();
  // Where upper and lower case are the same, two names could be one file.
  const isFolding = process.platform === "darwin" || process.platform === "win32";
  for (const { path: name, size } of files) {
    placeOf(name, place);
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

async function changesOf(source: CaptureSource, place: ClaudePlace, cwd: string): Promise<Rewriting[]> {
  const directory = movedDirectory(source.cwd, await realpath(cwd));
  if (source.configDir === null || source.key === null) return directory;
  return [...rewritings({ ...place, configDir: source.configDir, key: source.key }, place), ...directory];
}

/** What is read back of it has the lines and messages that were captured, also after paths in it were rewritten. */
async function stageTranscript(work: Work, file: CapturedFile): Promise<{ staged: Staged; facts: TranscriptFacts }> {
  const { place, changes, source, staging } = work;
  const written = new TranscriptReader();
  const readBack = (piece: Uint8Array) => written.push(piece);
  const to = placeOf(file.path, place);
  const captured = new TranscriptReader();
  const change = changing(changes);
  const seen = change && ((piece: Uint8Array) => captured.push(piece));
  const staged = await staging.add(file, to, source.read(file.path), { last: true, readBack, change, seen });
  const facts = written.end();
  if (change !== undefined && JSON.stringify(captured.end()) !== JSON.stringify(facts)) {
    throw new Error(`bug: rewriting the paths in ${file.path} changed more than paths`);
  }
  return { staged, facts };
}

function changing(changes: readonly Rewriting[]) {
  if (changes.length === 0) return undefined;
  return (pieces: AsyncIterable<Uint8Array>) => rewriteLines(pieces, changes);
}

/** None when it is here already, or what is here is to stay. */
async function stageOther(work: Work, file: CapturedFile, keepHere: boolean): Promise<Staged[]> {
  const { place, source, staging } = work;
  const to = placeOf(file.path, place);
  const change = file.path.endsWith(".jsonl") ? changing(work.changes) : undefined;
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
  return settle(work, staged, here);
}

/** The conversation is the same and this file is not: what is here stays, unless it is to be overwritten. */
async function settle(work: Work, staged: Staged, here: Comparison): Promise<Staged[]> {
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

async function replaceDiverged(work: Work, staged: Staged): Promise<void> {
  if (!work.target.overwrite) throw conflict(work, staged.to, "went on apart from what was captured");
  await keepBeside(work, staged);
}

/** A link is replaced, and what it leads to stays where it is. */
async function keepBeside(work: Work, staged: Staged): Promise<void> {
  if (!(await lstat(staged.to)).isFile()) return;
  staged.keepAs = `${staged.to}.holdfast-${(await hashOf(staged.to)).slice(0, 12)}`;
  work.kept.push(staged.keepAs);
}

/** Task list and file history are the session's in whatever directory it ran: another copy of it must not be ahead. */
async function refuseElsewhere(work: Work, staged: Staged): Promise<void> {
  if (work.target.overwrite) return;
  for await (const copy of copiesOf(work.place.configDir, work.place.sessionId)) {
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

async function filesHere(place: ClaudePlace): Promise<readonly string[]> {
  return (await filesOfSession(place)).files.map(({ file }) => file);
}

function conflict({ place }: Work, file: string, how: string, isElsewhere = false): HoldfastError {
  return new HoldfastError("Conflict", `session ${place.sessionId} is on this machine and ${how}`, {
    details: { sessionId: place.sessionId, file, isElsewhere },
    hint: "Go on with the one that is here, or restore with `overwrite`: then what is here is kept beside it.",
  });
}

/** Files that were here and were not captured stay; they are named, because they may be what the session had removed. */
async function leaveStrangers(work: Work): Promise<void> {
  const { place, source, left } = work;
  const captured = new Set(source.files.map((file) => file.path));
  const { files } = await filesOfSession(place);
  for (const file of files) {
    if (!captured.has(file.path)) left.push({ path: file.path, why: "it was here, and is no part of the capture" });
  }
}
