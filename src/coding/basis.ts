// What a session that is on disk goes on from, where nobody says it: the newest capture, if all that it has is here too. Another
// machine may have gone on meanwhile; then this is kept beside that one.
import type { CapturedFile, Captures, CaptureWithFiles } from "../contracts/captures.ts";
import type { FoundSession } from "../contracts/coding.ts";
import { decodeText, sha256Hex } from "../core/bytes.ts";
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
  { agent, sessionId }: FoundSession,
  read: ReadonlyMap<string, ReadFile>,
): Promise<CaptureWithFiles | null> {
  const [newest] = (await captures.list({ request, agent, sessionId, limit: 1 })).items;
  if (newest === undefined) return null;
  const main = agent === "claude-code" ? `project/${sessionId}.jsonl` : `export/${sessionId}.json`;
  const files = await captures.files(newest.id);
  const had = files.find(({ path }) => path === main);
  const here = read.get(main);
  if (had === undefined || here === undefined) return { ...newest, files };
  const captured = () => contentOf({ read: (path) => captures.read(newest.id, path) }, main);
  const goesOn =
    agent === "claude-code"
      ? goesOnFrom(here, had) || (masked !== undefined && goesOnMasked(here, maskSecrets(await captured(), masked)))
      : hasMessages(here.content, await captured());
  return goesOn ? { ...newest, files } : null;
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
