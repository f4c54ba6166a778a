// A transcript names its own files by their absolute paths. After a move these lead to where they were; on request they are
// made to lead to where they are. Only whole paths are changed, and nothing but their beginning.
import { type ClaudeLocation, FOLDERS } from "./session-files.ts";

const NEWLINE = 0x0a;
const FILE_HISTORY = /^\{"type":"file-history-.*$/gm;

export interface Rewriting {
  /** As they stand in JSON text, one character a byte. */
  readonly from: string;
  readonly to: string;
  /** Only where the agent keeps what files were before it edited them: what the model was told stays as it was. */
  readonly ofFileHistory?: boolean;
}

/** None when nothing moved. */
export function rewritings(from: ClaudeLocation, to: ClaudeLocation): Rewriting[] {
  const pairs = [[`projects/${from.key}`, `projects/${to.key}`]];
  for (const folder of FOLDERS) pairs.push([`${folder}/${from.sessionId}`, `${folder}/${to.sessionId}`]);
  const all = pairs.map(([a, b]) => ({ from: inJson(`${from.configDir}/${a}`), to: inJson(`${to.configDir}/${b}`) }));
  return all.filter((pair) => pair.from !== pair.to);
}

/** Files before edits are put back where they were: below the working directory. */
export function movedDirectory(from: string, to: string): Rewriting[] {
  return from === "" || from === to ? [] : [{ from: inJson(from), to: inJson(to), ofFileHistory: true }];
}

function inJson(path: string): string {
  return Buffer.from(JSON.stringify(path).slice(1, -1)).toString("latin1");
}

/** Line by line, however it comes in pieces. */
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
    // A copy: whoever gave it may fill it anew.
    if (end < piece.byteLength) held.push(new Uint8Array(piece.subarray(end)));
  }
  if (held.length > 0) yield rewrite(Buffer.concat(held), changes);
}

function rewrite(bytes: Buffer, changes: readonly Rewriting[]): Uint8Array {
  // One character a byte: what is not UTF-8 stays as it is.
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

/** What stands before it is no part of a path. The letter of an escape, as in "\n", is none. */
function beginsAt(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 8), at);
  const escaped = /(\\+)(?:[bfnrt]|u[0-9a-fA-F]{4})$/.exec(before);
  if (escaped?.[1] !== undefined && escaped[1].length % 2 === 1) return true;
  return !/[\w.~/\x80-\xff-]$/.test(before);
}

/** Another directory whose name merely begins with it is not meant. */
function endsAt(text: string, end: number): boolean {
  return !/[\w.~\x80-\xff-]/.test(text.charAt(end));
}
