// Reads transcripts of Claude Code line by line. Each line is a JSON object of any length; the last line may be incomplete, and any line
// may be damaged. A line that cannot be parsed is counted and otherwise ignored, as Claude Code does. Only a few fields of a line are
// needed, and most bytes are the output of tools, so these fields are read without parsing the whole line if its form allows it.
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { LIMITS } from "../../contracts/limits.ts";
import { parseObject } from "../../core/json-line.ts";

const NEWLINE = 0x0a;
/** Longer lines are not parsed. */
const LONGEST_LINE = 64 * 1024 * 1024;
/** How many bytes of both ends of a transcript are read to find its directory and version; the second number if the first is too small. */
const ENDS = [256 * 1024, 4 * 1024 * 1024];

/** The fields of a line that are needed. */
const NAMES = ["type", "uuid", "sessionId", "isSidechain"];

export interface TranscriptFacts {
  readonly lines: number;
  /** The number of messages of the main conversation: prompts, answers of the model, and results of tools. */
  readonly messages: number;
  readonly lastUuid: string | null;
  /** The session that the first line with a session names. */
  readonly sessionId: string | null;
}

/** Reads a transcript that arrives in pieces. */
export class TranscriptReader {
  #lines = 0;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #sessionId: string | null = null;
  #lastUuid: string | null = null;
  readonly #messages = new Set<string>();

  push(piece: Uint8Array): void {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      this.#append(piece.subarray(from, end));
      this.#endLine();
      from = end + 1;
    }
    // A copy, because the caller may reuse its buffer.
    this.#append(new Uint8Array(piece.subarray(from)));
  }

  end(): TranscriptFacts {
    if (this.#pendingBytes > 0) this.#endLine();
    return {
      lines: this.#lines,
      messages: this.#messages.size,
      lastUuid: this.#lastUuid,
      sessionId: this.#sessionId,
    };
  }

  #append(part: Uint8Array): void {
    if (part.byteLength === 0) return;
    this.#pendingBytes += part.byteLength;
    if (this.#pendingBytes <= LONGEST_LINE) this.#pending.push(part);
    else this.#pending = [];
  }

  #endLine(): void {
    const [first] = this.#pending;
    const line =
      this.#pending.length === 1 && first ? Buffer.from(first.buffer, first.byteOffset, first.byteLength) : null;
    this.#readFields(line ?? Buffer.concat(this.#pending));
    this.#lines += 1;
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  #readFields(line: Buffer): void {
    // A third of the lines are copies of requests, which have no uuid and need not be parsed.
    if (this.#sessionId !== null && !line.includes('"uuid"')) return;
    const fields = fieldsOf(line, NAMES);
    if (typeof fields?.sessionId === "string") this.#sessionId ??= fields.sessionId;
    if (typeof fields?.uuid !== "string") return;
    this.#lastUuid = fields.uuid;
    const isMessage = fields.type === "user" || fields.type === "assistant";
    if (isMessage && fields.isSidechain !== true) this.#messages.add(fields.uuid);
  }
}

export async function factsOf(file: string): Promise<TranscriptFacts> {
  const reader = new TranscriptReader();
  for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) reader.push(piece);
  return reader.end();
}

export interface TranscriptOrigin {
  /** The last directory that the lines name and that has this key; an agent may change its directory while it works. */
  readonly cwd: string | null;
  /** The last directory that the lines name. After a restore elsewhere the lines name only directories with other keys. */
  readonly lastCwd: string | null;
  readonly version: string | null;
}

/** The directory in which the session ran, for which `isOfProject` is true, and the version that wrote the transcript last. */
export async function originOf(file: string, isOfProject: (cwd: string) => boolean): Promise<TranscriptOrigin> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    let found: TranscriptOrigin = { cwd: null, lastCwd: null, version: null };
    for (const bytes of ENDS) {
      const lastLines = (await linesBetween(handle, Math.max(0, size - bytes), size)).reverse();
      found = originsIn(lastLines, isOfProject, found);
      if (size > bytes) found = originsIn(await linesBetween(handle, 0, bytes), isOfProject, found);
      if (size <= bytes || (found.cwd !== null && found.version !== null)) break;
    }
    return found;
  } finally {
    await handle.close();
  }
}

function originsIn(
  lines: readonly Buffer[],
  isOfProject: (cwd: string) => boolean,
  before: TranscriptOrigin,
): TranscriptOrigin {
  let { cwd, lastCwd, version } = before;
  for (const line of lines) {
    if (cwd !== null && version !== null) break;
    const fields = fieldsOf(line, ["cwd", "version"]);
    if (isKeepable(fields?.version)) version ??= fields.version;
    if (!isKeepable(fields?.cwd) || fields.cwd === "") continue;
    lastCwd ??= fields.cwd;
    if (cwd === null && isOfProject(fields.cwd)) cwd = fields.cwd;
  }
  return { cwd, lastCwd, version };
}

/** Whether a capture can store the text. A line with an unusual value must not fail the capture. */
function isKeepable(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && Buffer.byteLength(value) <= LIMITS.titleBytes;
}

/** The lines of this range. The first and the last may be cut; a cut line is not valid JSON, and the parser ignores it. */
async function linesBetween(handle: FileHandle, from: number, to: number): Promise<Buffer[]> {
  const bytes = Buffer.alloc(to - from);
  let filled = 0;
  while (filled < bytes.byteLength) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.byteLength - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...lines, bytes.subarray(start, filled)];
}

/** The session of the first line that names one. Only the beginning of the file is read. */
export async function sessionNamedIn(file: string): Promise<string | null> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    for (const bytes of ENDS) {
      const lines = await linesBetween(handle, 0, Math.min(size, bytes));
      for (const line of lines) {
        const fields = fieldsOf(line, ["sessionId"]);
        if (typeof fields?.sessionId === "string") return fields.sessionId;
      }
      if (size <= bytes) break;
    }
    return null;
  } finally {
    await handle.close();
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** The bit in which brackets and braces differ. */
const ANY = 0x20;

export type Fields = Readonly<Record<string, unknown>>;

/** The strings and booleans of these fields; undefined when the line is not an object. */
export function fieldsOf(line: Buffer, names: readonly string[]): Fields | undefined {
  return scanFields(line, names) ?? parseLine(line);
}

/** The object of a line; undefined when there is none, or when it has more parts than any agent writes. */
export function parseLine(line: Uint8Array): Fields | undefined {
  if (!line.includes(OPEN)) return undefined;
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString("utf8");
  return parseObject(text.startsWith("\uFEFF") ? text.slice(1) : text) ?? undefined;
}

/** Reads the fields without parsing the line. null: its form does not allow that. */
function scanFields(line: Buffer, names: readonly string[]): Fields | null {
  const found: Record<string, unknown> = {};
  if (line[0] !== OPEN) return null;
  for (let at = 1; ; ) {
    const name = plainText(line, at);
    if (name === null) return null;
    at += name.length + 2;
    if (line[at] !== COLON) return null;
    at += 1;
    const end = endOfValue(line, at);
    if (end === null) return null;
    if (names.includes(name)) {
      const value = plainValue(line, at, end);
      if (value === undefined) return null;
      found[name] = value;
    }
    if (line[end] === CLOSE) return end === line.length - 1 ? found : null;
    if (line[end] !== COMMA) return null;
    at = end + 1;
  }
}

/** A string of ASCII characters without escapes; null for any other string. */
function plainText(line: Buffer, from: number): string | null {
  if (line[from] !== QUOTE) return null;
  for (let at = from + 1; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte === QUOTE) return line.toString("latin1", from + 1, at);
    if (byte === BACKSLASH || byte < 0x20 || byte > 0x7e) return null;
  }
  return null;
}

function plainValue(line: Buffer, from: number, end: number): string | boolean | undefined {
  if (line[from] === QUOTE) return plainText(line, from) ?? undefined;
  const word = line.toString("latin1", from, end);
  return word === "true" ? true : word === "false" ? false : undefined;
}

/** The end of the value that begins at `from`; null when the line ends first. */
function endOfValue(line: Buffer, from: number): number | null {
  let depth = 0;
  for (let at = from; at < line.length; at++) {
    const byte = line[at] as number;
    if (byte === QUOTE) at = endOfText(line, at);
    else if (depth === 0 && (byte === COMMA || byte === CLOSE)) return at;
    else if ((byte | ANY) === OPEN) depth += 1;
    else if ((byte | ANY) === CLOSE) depth -= 1;
  }
  return null;
}

/** The closing quote: it follows an even number of backslashes. */
function endOfText(line: Buffer, from: number): number {
  for (let at = line.indexOf(QUOTE, from + 1); at >= 0; at = line.indexOf(QUOTE, at + 1)) {
    let before = at;
    while (line[before - 1] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return line.length;
}
