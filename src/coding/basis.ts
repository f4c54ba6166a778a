// What a session that is on disk goes on from, where nobody says it: the newest capture, if all that it has is here too. Another
// machine may have gone on meanwhile; then this is kept beside that one.
import type { CapturedFile, Captures, CaptureWithFiles } from "../contracts/captures.ts";
import type { FoundSession } from "../contracts/coding.ts";
import { mainFileOf } from "../core/agent-sessions.ts";
import { decodeText, sha256Hex } from "../core/bytes.ts";
import { movedDirectory, rewriteLines, rewritings } from "./claude/rewrite.ts";
import type { KnownSecrets } from "./known-secrets.ts";
import { maskSecrets } from "./secrets.ts";
import { contentOf } from "./sources.ts";

export interface Store {
  readonly captures: Pick<Captures, "list" | "files" | "read">;
  readonly request: string;
  /** Given where secrets are replaced: those that are known now, also of what was captured before one was found. */
  readonly masked?: KnownSecrets;
}

/** null: there is none, or it is not what this goes on from. */
export async function basisOf(
  { captures, request, masked }: Store,
  found: FoundSession,
  read: ReadonlyMap<string, ReadFile>,
): Promise<CaptureWithFiles | null> {
  const { agent, sessionId } = found;
  const [newest] = (await captures.list({ request, agent, sessionId, limit: 1 })).items;
  if (newest === undefined) return null;
  const main = mainFileOf(agent, sessionId).path;
  const files = await captures.files(newest.id);
  const had = files.find(({ path }) => path === main);
  const here = read.get(main);
  if (had === undefined || here === undefined) return { ...newest, files };
  const basis = { ...newest, files };
  const captured = () => contentOf({ read: (path) => captures.read(newest.id, path) }, main);
  const goesOn =
    agent === "claude-code"
      ? goesOnFrom(here, had) ||
        (masked !== undefined && goesOnMasked(here, maskSecrets(await captured(), masked))) ||
        (await goesOnMoved(captures, { basis, found, here }))
      : hasMessages(here.content, await captured());
  return goesOn ? basis : null;
}

interface Moved {
  readonly basis: CaptureWithFiles;
  readonly found: FoundSession;
  readonly here: ReadFile;
}

/** What was captured in another place begins what is here, with the paths that a restore rewrites (`rewritePaths`). */
export async function goesOnMoved(captures: Pick<Captures, "read">, { basis, found, here }: Moved): Promise<boolean> {
  const from = placeOf(basis);
  const to = placeOf(found);
  if (from === null || to === null) return false;
  const changes = [...rewritings(from, to), ...movedDirectory(basis.cwd, found.cwd)];
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

function placeOf({ configDir, key, sessionId }: Pick<FoundSession, "configDir" | "key" | "sessionId">) {
  return configDir === null || key === null ? null : { configDir, key, sessionId };
}

interface ReadFile {
  readonly content: Uint8Array;
  /** Before secrets were replaced in it. */
  readonly plain: Uint8Array;
}

/** Secrets may have been left in it when it was captured. */
export function goesOnFrom({ content, plain }: ReadFile, had: CapturedFile): boolean {
  return beginsWith(content, had) || (plain !== content && beginsWith(plain, had));
}

function goesOnMasked({ content }: ReadFile, captured: Uint8Array): boolean {
  const { byteLength } = captured;
  return content.byteLength >= byteLength && Buffer.compare(content.subarray(0, byteLength), captured) === 0;
}

function beginsWith(here: Uint8Array, { size, ref }: CapturedFile): boolean {
  return here.byteLength >= size && `sha256:${sha256Hex(here.subarray(0, size))}` === ref;
}

/** An export is written anew each time: it goes on from another when it has all of its messages. */
function hasMessages(here: Uint8Array, had: Uint8Array): boolean {
  const ids = messagesIn(here);
  return [...messagesIn(had)].every((id) => ids.has(id));
}

function messagesIn(bytes: Uint8Array): ReadonlySet<string> {
  try {
    const { messages } = JSON.parse(decodeText(bytes)) as { messages?: readonly { info?: { id?: unknown } }[] };
    return new Set((messages ?? []).flatMap(({ info }) => (typeof info?.id === "string" ? [info.id] : [])));
  } catch {
    return new Set();
  }
}
