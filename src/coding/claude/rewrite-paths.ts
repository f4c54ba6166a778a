// A transcript names its own files by absolute paths. After a restore elsewhere these are wrong; on request they are changed to where
// the files are now. Only whole paths are changed, and only their beginning.
import { type ClaudeLocation, FOLDERS } from "./session-files.ts";

const NEWLINE = 0x0a;
const FILE_HISTORY = /^\{"type":"file-history-.*$/gm;

export interface Rewriting {
  /** As they are in JSON text, one character for each byte. */
  readonly from: string;
  readonly to: string;
  /** Only in the file history, where the agent keeps files as they were before its edits. Messages of the model stay as they were. */
  readonly ofFileHistory?: boolean;
}

/** Empty when nothing moved. */
export function rewritings(from: ClaudeLocation, to: ClaudeLocation): Rewriting[] {
  const pairs = [[`projects/${from.key}`, `projects/${to.key}`]];
  for (const folder of FOLDERS) pairs.push([`${folder}/${from.sessionId}`, `${folder}/${to.sessionId}`]);
  const all = pairs.map(([a, b]) => ({ from: inJson(`${from.configDir}/${a}`), to: inJson(`${to.configDir}/${b}`) }));
  return all.filter((pair) => pair.from !== pair.to);
}

/** The file history names files below the working directory, which has moved. */
export function movedDirectory(from: string, to: string): Rewriting[] {
  return from === "" || from === to ? [] : [{ from: inJson(from), to: inJson(to), ofFileHistory: true }];
}

function inJson(path: string): string {
  return Buffer.from(JSON.stringify(path).slice(1, -1)).toString("latin1");
}

/** Works line by line, however the bytes are cut into pieces. */
export async function* rewriteLines(
  pieces: AsyncIterable<Uint8Array>,
  changes: readonly Rewriting[],
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield rewrite(Buffer.concat([...held, piece.subarray(0, end)]), changes);
      held = [];
    }
    // A copy, because the source may reuse its buffer.
    if (end < piece.byteLength) held.push(new Uint8Array(piece.subarray(end)));
  }
  if (held.length > 0) yield rewrite(Buffer.concat(held), changes);
}

function rewrite(bytes: Buffer, changes: readonly Rewriting[]): Uint8Array {
  // One character for each byte, so that bytes that are not UTF-8 stay as they are.
  const text = bytes.toString("latin1");
  const changed = changes.reduce(
    (made, change) =>
      change.ofFileHistory === true
        ? made.replace(FILE_HISTORY, (line) => replaceWhole(line, change))
        : replaceWhole(made, change),
    text,
  );
  return changed === text ? bytes : Buffer.from(changed, "latin1");
}

function replaceWhole(text: string, { from, to }: Rewriting): string {
  let made = "";
  let done = 0;
  for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) {
    if (!beginsAt(text, at) || !endsAt(text, at + from.length)) continue;
    made += text.slice(done, at) + to;
    done = at + from.length;
  }
  return done === 0 ? text : made + text.slice(done);
}

/** The character before it is no part of a path. The letter of an escape, as in "\n", is none. */
function beginsAt(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 8), at);
  const escaped = /(\\+)(?:[bfnrt]|u[0-9a-fA-F]{4})$/.exec(before);
  if (escaped?.[1] !== undefined && escaped[1].length % 2 === 1) return true;
  return !/[\w.~/\x80-\xff-]$/.test(before);
}

/** False for another directory with a longer name that begins the same. */
function endsAt(text: string, end: number): boolean {
  return !/[\w.~\x80-\xff-]/.test(text.charAt(end));
}
