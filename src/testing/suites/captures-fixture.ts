// Captures to save in the cases of the captures contract, and ways to read them back.
import type { Capture, Captures, NewCapture, NewCapturedFile } from "../../contracts/captures.ts";

export const WEEK = 7 * 24 * 3_600_000;
export const ID = "0b5c8a5e-8b0a-4ad0-9d2c-6f6f0a1f7c11";

export const bytes = (text: string) => new TextEncoder().encode(text);

export const transcript = (content: Uint8Array, id = ID): NewCapturedFile => ({
  role: "transcript",
  path: `project/${id}.jsonl`,
  content,
  grows: true,
});

export function captured(more: Partial<NewCapture> = {}): NewCapture {
  const { agent = "claude-code", sessionId = ID } = more;
  const main = transcript(bytes('{"type":"user"}\n'), sessionId);
  const files: readonly NewCapturedFile[] =
    agent === "opencode"
      ? [{ role: "export", path: `export/${sessionId}.json`, content: bytes("{}") }]
      : [main, { role: "task", path: `tasks/${sessionId}/1.json`, content: bytes("{}") }];
  return { request: "req-1", agent, sessionId, cwd: "/srv/app", files, ...more };
}

/** Another id, as Claude Code makes them. */
export const idOf = (n: number) => ID.replace(/^......../, n.toString(16).padStart(8, "0"));

export async function readAll(captures: Captures, id: string, path: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of captures.read(id, path)) pieces.push(piece);
  return Buffer.concat(pieces);
}

export const bare = ({ id, generation }: Capture) => ({ id, generation });
