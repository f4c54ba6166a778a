// Finds the basis of a save: the capture that the files on this disk continue. That is the newest capture, or a diverged one, if the
// files contain all that it has. If another machine has continued the session meanwhile, there is none, and the save is a diverged capture.
import { readFile } from "node:fs/promises";
import type { Capture, CapturedFile, Captures, CaptureWithFiles } from "../contracts/captures.ts";
import type { FoundSession } from "../contracts/coding.ts";
import { mainFileOf } from "../core/agent-sessions.ts";
import { decodeText, sha256Hex } from "../core/bytes.ts";
import { readContent } from "./capture-source.ts";
import { directoryRewrite, type PathRewrite, rewriteLines, sessionPathRewrites } from "./claude/rewrite-paths.ts";
import { type KnownSecrets, maskSecrets } from "./secrets.ts";

export interface BasisStore {
  readonly captures: Pick<Captures, "list" | "files" | "read">;
  readonly request: string;
  /** If secrets are replaced: all known secrets, also those that were found after a capture. */
  readonly masked?: KnownSecrets;
}

/** null: there is no capture, or the files continue none of them. */
export async function findBasis(
  store: BasisStore,
  found: FoundSession,
  read: ReadonlyMap<string, FileContent>,
): Promise<CaptureWithFiles | null> {
  const here = read.get(mainFileOf(found.agent, found.sessionId).path);
  for (const line of await listVersions(store, found)) {
    const files = await store.captures.files(line.id);
    const basis = { ...line, files };
    if (await isBasis(store, { basis, found, here })) return basis;
  }
  return null;
}

/** The newest capture first, then the diverged ones. */
async function listVersions(
  { captures, request }: BasisStore,
  { agent, sessionId }: FoundSession,
): Promise<readonly Capture[]> {
  const { items } = await captures.list({ request, agent, sessionId, diverged: true });
  return items.toSorted((a, b) => Number(a.diverged) - Number(b.diverged));
}

async function isBasis(
  { captures, masked }: BasisStore,
  { basis, found, here }: { basis: CaptureWithFiles; found: FoundSession; here: FileContent | undefined },
): Promise<boolean> {
  const main = mainFileOf(found.agent, found.sessionId).path;
  const had = basis.files.find(({ path }) => path === main);
  if (had === undefined || here === undefined) return !basis.diverged;
  const captured = () => readContent({ read: (path) => captures.read(basis.id, path) }, main);
  if (found.agent !== "claude-code") return hasAllMessages(here.content, await captured());
  return (
    continuesFile(here, had) ||
    (masked !== undefined && continuesMasked(here, maskSecrets(await captured(), masked))) ||
    (await continuesMoved(captures, { basis, found, here }))
  );
}

/** The capture that contains all messages of the files on this disk, and perhaps more; null: there is none. */
export async function captureContaining(store: BasisStore, found: FoundSession): Promise<CaptureWithFiles | null> {
  const main = mainFileOf(found.agent, found.sessionId).path;
  const file = found.files.find(({ path }) => path === main);
  if (file === undefined) return null;
  const here = await readFile(file.file);
  for (const line of await listVersions(store, found)) {
    if (await contains(store, line, found, here)) return { ...line, files: await store.captures.files(line.id) };
  }
  return null;
}

async function contains(
  { captures }: BasisStore,
  line: Capture,
  found: FoundSession,
  here: Uint8Array,
): Promise<boolean> {
  const main = mainFileOf(found.agent, found.sessionId).path;
  const read = () => captures.read(line.id, main);
  if (found.agent === "claude-code") {
    if (await startsWith(read(), here)) return true;
    const changes = rewritesBetween(line, found);
    return changes.length > 0 && startsWith(rewriteLines(read(), changes), here);
  }
  // If both have the same messages, either may lack parts of the last one: a save finds that out.
  const captured = await readContent({ read }, main);
  return hasAllMessages(captured, here) && !hasAllMessages(here, captured);
}

async function startsWith(pieces: AsyncIterable<Uint8Array>, beginning: Uint8Array): Promise<boolean> {
  let at = 0;
  for await (const piece of pieces) {
    const part = beginning.subarray(at, at + piece.byteLength);
    if (Buffer.compare(piece.subarray(0, part.byteLength), part) !== 0) return false;
    at += part.byteLength;
    if (at === beginning.byteLength) return true;
  }
  return at === beginning.byteLength;
}

interface MovedSession {
  readonly basis: CaptureWithFiles;
  readonly found: FoundSession;
  readonly here: FileContent;
}

/** The capture is of another directory. The files continue it if they begin with it after a restore's path changes (`rewritePaths`). */
export async function continuesMoved(
  captures: Pick<Captures, "read">,
  { basis, found, here }: MovedSession,
): Promise<boolean> {
  const changes = rewritesBetween(basis, found);
  if (changes.length === 0) return false;
  const contents = new Set([here.content, here.plain]);
  let at = 0;
  for await (const piece of rewriteLines(
    captures.read(basis.id, mainFileOf("claude-code", basis.sessionId).path),
    changes,
  )) {
    for (const content of contents) {
      if (Buffer.compare(content.subarray(at, at + piece.byteLength), piece) !== 0) contents.delete(content);
    }
    if (contents.size === 0) return false;
    at += piece.byteLength;
  }
  return true;
}

/** The path changes that a restore makes between the two locations. */
function rewritesBetween(basis: SessionLocation, found: SessionLocation): readonly PathRewrite[] {
  const [from, to] = [claudeLocation(basis), claudeLocation(found)];
  if (from === null || to === null) return [];
  return [...sessionPathRewrites(from, to), ...directoryRewrite(basis.cwd, found.cwd)];
}

type SessionLocation = Pick<FoundSession, "configDir" | "key" | "sessionId" | "cwd">;

function claudeLocation({ configDir, key, sessionId }: Pick<FoundSession, "configDir" | "key" | "sessionId">) {
  return configDir === null || key === null ? null : { configDir, projectKey: key, sessionId };
}

interface FileContent {
  readonly content: Uint8Array;
  /** The content before secrets were replaced. */
  readonly plain: Uint8Array;
}

/** The capture may contain secrets that are replaced now. */
export function continuesFile({ content, plain }: FileContent, had: CapturedFile): boolean {
  return beginsWith(content, had) || (plain !== content && beginsWith(plain, had));
}

function continuesMasked({ content }: FileContent, captured: Uint8Array): boolean {
  const { byteLength } = captured;
  return content.byteLength >= byteLength && Buffer.compare(content.subarray(0, byteLength), captured) === 0;
}

function beginsWith(here: Uint8Array, { size, ref }: CapturedFile): boolean {
  return here.byteLength >= size && `sha256:${sha256Hex(here.subarray(0, size))}` === ref;
}

/** OpenCode writes an export as a whole each time. It continues another one if it has all of its messages. */
function hasAllMessages(here: Uint8Array, had: Uint8Array): boolean {
  const ids = messageIds(here);
  return [...messageIds(had)].every((id) => ids.has(id));
}

function messageIds(bytes: Uint8Array): ReadonlySet<string> {
  try {
    const { messages } = JSON.parse(decodeText(bytes)) as { messages?: readonly { info?: { id?: unknown } }[] };
    return new Set((messages ?? []).flatMap(({ info }) => (typeof info?.id === "string" ? [info.id] : [])));
  } catch {
    return new Set();
  }
}
