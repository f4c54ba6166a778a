// A transcript names its own files by absolute paths. After a restore elsewhere these are wrong; on request they are changed to where
// the files are now. Only whole paths are changed, and only their beginning.
import { type ClaudeLocation, FOLDERS } from "./session-files.ts";

const NEWLINE = 0x0a;
const FILE_HISTORY = /^\{"type":"file-history-.*$/gm;

export interface PathRewrite {
  /** Paths as they are written in JSON, one character for each byte. */
  readonly from: string;
  readonly to: string;
  /** Changes only the lines of the file history, where the agent records files before its edits. Messages of the model do not change. */
  readonly ofFileHistory?: boolean;
}

/** Empty when the locations are the same. */
export function sessionPathRewrites(from: ClaudeLocation, to: ClaudeLocation): PathRewrite[] {
  const pairs = [[`projects/${from.projectKey}`, `projects/${to.projectKey}`]];
  for (const folder of FOLDERS) pairs.push([`${folder}/${from.sessionId}`, `${folder}/${to.sessionId}`]);
  const all = pairs.map(([a, b]) => ({ from: inJson(`${from.configDir}/${a}`), to: inJson(`${to.configDir}/${b}`) }));
  return all.filter((pair) => pair.from !== pair.to);
}

/** The file history names files below the working directory, which has moved. */
export function directoryRewrite(from: string, to: string): PathRewrite[] {
  return from === "" || from === to ? [] : [{ from: inJson(from), to: inJson(to), ofFileHistory: true }];
}

function inJson(path: string): string {
  return Buffer.from(JSON.stringify(path).slice(1, -1)).toString("latin1");
}

/** Works line by line, however the bytes are cut into pieces. */
export async function* rewriteLines(
  pieces: AsyncIterable<Uint8Array>,
  changes: readonly PathRewrite[],
): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = [];
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield rewrite(Buffer.concat([...pending, piece.subarray(0, end)]), changes);
      pending = [];
    }
    // A copy, because the source may reuse its buffer.
    if (end < piece.byteLength) pending.push(new Uint8Array(piece.subarray(end)));
  }
  if (pending.length > 0) yield rewrite(Buffer.concat(pending), changes);
}

function rewrite(bytes: Buffer, changes: readonly PathRewrite[]): Uint8Array {
  // One character for each byte, so that bytes that are not UTF-8 stay as they are.
  const text = bytes.toString("latin1");
  const changed = changes.reduce(
    (rewritten, change) =>
      change.ofFileHistory === true
        ? rewritten.replace(FILE_HISTORY, (line) => replaceWhole(line, change))
        : replaceWhole(rewritten, change),
    text,
  );
  return changed === text ? bytes : Buffer.from(changed, "latin1");
}

function replaceWhole(text: string, { from, to }: PathRewrite): string {
  let rewritten = "";
  let done = 0;
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) {
    if (!startsPathAt(text, at) || !endsPathAt(text, at + from.length)) continue;
    rewritten += text.slice(done, at) + to;
    done = at + from.length;
  }
  return done === 0 ? text : rewritten + text.slice(done);
}

/** Whether a path begins at this position: the character before is not part of a path, and the letter of an escape, as in "\n", is not. */
function startsPathAt(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 8), at);
  const escaped = /(\\+)(?:[bfnrt]|u[0-9a-fA-F]{4})$/.exec(before);
  if (escaped?.[1] !== undefined && escaped[1].length % 2 === 1) return true;
  return !/[\w.~/\x80-\xff-]$/.test(before);
}

/** False for another directory with a longer name that begins the same. */
function endsPathAt(text: string, end: number): boolean {
  return !/[\w.~\x80-\xff-]/.test(text.charAt(end));
}
