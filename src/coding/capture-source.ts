// Where the files of a session come from when they are restored or read: a capture in a store, a bundle, or a single transcript. This
// file uses no disk, because holdfast/edge loads it; local-agent.ts reads files on a disk.
import type { CapturedFile, CaptureOrigin, Captures, CaptureWithFiles, CodingAgent } from "../contracts/captures.ts";
import type { CaptureSource } from "../contracts/coding.ts";
import { sanitizeBundle } from "../core/bundle-sanitizer.ts";
import { sha256Hex } from "../core/bytes.ts";

export async function sourceOfCapture(
  captures: Pick<Captures, "get" | "files" | "read">,
  id: string,
): Promise<CaptureSource & CaptureWithFiles> {
  const files = await captures.files(id);
  const capture = await captures.get(id);
  if (capture === null) throw new Error("bug: a capture has files and no row");
  return { ...capture, files, read: (path) => captures.read(id, path) };
}

export interface InMemorySource extends CaptureOrigin {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly files: readonly CapturedFile[];
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

/** The source may be hostile: the sanitizer removes files that must not come from it. */
export function sourceInMemory(source: InMemorySource): CaptureSource {
  const { contents, ...rest } = sanitizeBundle(source);
  return {
    ...rest,
    async *read(path) {
      const content = contents.get(path);
      if (content === undefined) throw new Error(`bug: ${path} is listed and has no content`);
      yield content;
    },
  };
}

/** A session that is only a transcript of Claude Code. */
export function singleTranscript(sessionId: string, content: Uint8Array, cwd: string): InMemorySource {
  const path = `project/${sessionId}.jsonl`;
  const size = content.byteLength;
  const file: CapturedFile = { role: "transcript", path, size, ref: `sha256:${sha256Hex(content)}`, stored: size };
  return {
    agent: "claude-code",
    sessionId,
    cwd,
    configDir: null,
    key: null,
    agentVersion: null,
    files: [file],
    contents: new Map([[path, content]]),
  };
}

/** A session with files that can be read by their paths. */
export type ReadableSession = Pick<CaptureSource, "agent" | "sessionId" | "read"> & {
  readonly files: readonly { readonly path: string; readonly role: CapturedFile["role"] }[];
};

export async function readContent(source: Pick<ReadableSession, "read">, path: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of source.read(path)) pieces.push(piece);
  return Buffer.concat(pieces);
}
