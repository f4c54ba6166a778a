// Finds likely secrets in captured files, reports them without showing them, and masks them on request. Text in pieces of any size is
// searched in windows, so that memory is bounded for any text.
import { isRepeatable } from "./entropy.ts";
import { findSpans, mergeSpans, REACH, type Span } from "./secret-spans.ts";
import type { SecretKind } from "./secret-tokens.ts";

export type { SecretKind };

export interface SecretFinding {
  readonly kind: SecretKind;
  /** Both count from 1. The column counts bytes. */
  readonly line: number;
  readonly column: number;
  /** A text that may be shown: the usual prefix of such secrets, and the length of this one. */
  readonly excerpt: string;
}

export interface ScanOptions {
  /** Stop after so many. Default 1000. */
  readonly limit?: number;
  /** Learns the secrets that are found. */
  readonly known?: KnownSecrets | undefined;
}

const WINDOW = 1024 * 1024;
const CONTEXT = 64;
const DEFAULT_LIMIT = 1000;

/** Splits text in pieces of any size into windows that overlap by the length of a secret, and finds the secrets in each. */
class Windows {
  #held: Uint8Array[] = [];
  #length = 0;
  /** How many bytes were passed to `see` already. They are kept to decide whether the next byte begins a word. */
  #given = 0;
  readonly #see: (text: string, spans: readonly Span[]) => void;
  readonly #known: KnownSecrets | undefined;

  /** `see` gets text that ends outside of secrets, and the secrets in it, including those of `known`. */
  constructor(see: (text: string, spans: readonly Span[]) => void, known?: KnownSecrets) {
    this.#see = see;
    this.#known = known;
  }

  push(piece: Uint8Array): void {
    for (let from = 0; from < piece.byteLength; from += WINDOW) {
      const more = piece.subarray(from, from + WINDOW);
      this.#held.push(more);
      this.#length += more.byteLength;
      if (this.#length >= WINDOW) this.#give(this.#length - 2 * REACH);
    }
    // The caller may reuse its buffer.
    this.#held = this.#held.map((part) => (part.buffer === piece.buffer ? new Uint8Array(part) : part));
  }

  end(): void {
    this.#give(this.#length);
  }

  /** A secret that reaches beyond `upTo`, or a text that may be the beginning of one, waits for the next piece. */
  #give(upTo: number): void {
    const held = asBuffer(this.#held);
    const text = held.toString("latin1");
    const given = this.#given;
    const spans = this.#findSpans(text, held).filter((span) => span.begin >= given);
    const cut = cutBefore(spans, upTo);
    const whole = spans.filter((span) => span.to <= cut);
    this.#see(
      text.slice(given, cut),
      whole.map((span) => ({ ...span, from: span.from - given, to: span.to - given })),
    );
    this.#given = Math.min(cut, CONTEXT);
    this.#held = [held.subarray(cut - this.#given)];
    this.#length = held.byteLength - cut + this.#given;
  }

  #findSpans(text: string, bytes: Uint8Array): Span[] {
    const spans = findSpans(text, bytes);
    return this.#known === undefined ? spans : mergeSpans([...spans, ...this.#known.findSpans(text, bytes)]);
  }
}

/** A position that is neither inside a secret nor between it and the text that identifies it. */
function cutBefore(spans: readonly Span[], upTo: number): number {
  const across = spans.filter(({ begin, to }) => begin < upTo && to > upTo).map(({ begin }) => begin);
  return across.length === 0 ? upTo : cutBefore(spans, Math.min(...across));
}

function asBuffer(parts: readonly Uint8Array[]): Buffer {
  const [only] = parts;
  if (only === undefined || parts.length > 1) return Buffer.concat(parts);
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
}

/** Reports secrets without showing them. */
export class SecretScanner {
  readonly findings: SecretFinding[] = [];
  readonly #limit: number;
  readonly #known: KnownSecrets | undefined;
  readonly #windows = new Windows((text, spans) => this.#report(text, spans));
  #line = 1;
  #column = 1;

  constructor({ limit = DEFAULT_LIMIT, known }: ScanOptions = {}) {
    this.#limit = limit;
    this.#known = known;
  }

  push(piece: Uint8Array): void {
    if (this.findings.length < this.#limit) this.#windows.push(piece);
  }

  end(): readonly SecretFinding[] {
    if (this.findings.length < this.#limit) this.#windows.end();
    return this.findings;
  }

  #report(text: string, spans: readonly Span[]): void {
    let done = 0;
    for (const { kind, from, to, shown } of spans) {
      this.#advance(text, done, from);
      done = from;
      if (this.findings.length >= this.#limit) return;
      this.#known?.add(kind, text.slice(from, to));
      const excerpt = `${shown}…(${to - from} bytes)`;
      this.findings.push({ kind, line: this.#line, column: this.#column, excerpt });
    }
    this.#advance(text, done, text.length);
  }

  #advance(text: string, from: number, to: number): void {
    let begin = from;
    for (let end = text.indexOf("\n", from); end >= 0 && end < to; end = text.indexOf("\n", begin)) {
      this.#line += 1;
      this.#column = 1;
      begin = end + 1;
    }
    this.#column += to - begin;
  }
}

export function scanSecrets(bytes: Uint8Array, options?: ScanOptions): readonly SecretFinding[] {
  const scanner = new SecretScanner(options);
  scanner.push(bytes);
  return scanner.end();
}

/** Finds the secrets of all files, so that each secret can be masked in all of them. */
export async function learnSecrets(files: readonly AsyncIterable<Uint8Array>[]): Promise<KnownSecrets> {
  const known = new KnownSecrets();
  for (const pieces of files) {
    const scanner = new SecretScanner({ known });
    for await (const piece of pieces) scanner.push(piece);
    scanner.end();
  }
  return known;
}

/** The beginning of the text that replaces a secret. */
export const MASKED = "[redacted:";

/** Replaces each secret by "[redacted:<kind>]". Lines of JSON remain valid, because no secret spans a quote or half an escape. */
export function maskSecrets(bytes: Uint8Array, known?: KnownSecrets): Uint8Array {
  const masked: Buffer[] = [];
  const windows = new Windows((text, spans) => masked.push(Buffer.from(maskedText(text, spans), "latin1")), known);
  windows.push(bytes);
  windows.end();
  return Buffer.concat(masked);
}

export async function* maskSecretsIn(
  pieces: AsyncIterable<Uint8Array>,
  known?: KnownSecrets,
): AsyncGenerator<Uint8Array> {
  let masked: Buffer[] = [];
  const windows = new Windows((text, spans) => masked.push(Buffer.from(maskedText(text, spans), "latin1")), known);
  for await (const piece of pieces) {
    windows.push(piece);
    yield* masked;
    masked = [];
  }
  windows.end();
  yield* masked;
}

function maskedText(text: string, spans: readonly Span[]): string {
  let made = "";
  let done = 0;
  for (const { kind, from, to } of spans) {
    made += `${text.slice(done, from)}${MASKED}${kind}]`;
    done = to;
  }
  return made + text.slice(done);
}

/** How far a file was scanned, in whole lines, and the bytes before that position. */
export interface ScanProgress {
  readonly end: number;
  readonly lines: number;
  readonly ino: bigint;
  readonly before: Uint8Array;
}

/** So many bytes before that position must be unchanged. */
const SEEN = 4096;
const NEWLINE = 0x0a;

export function scanFrom(
  { content, ino }: { readonly content: Uint8Array; readonly ino: bigint },
  last: ScanProgress | undefined,
  grows: boolean,
  known?: KnownSecrets,
): { readonly findings: readonly SecretFinding[]; readonly scanned: ScanProgress } {
  const isContinued = grows && last !== undefined && isUnchanged(content, ino, last);
  const [begin, before] = isContinued ? [last.end, last.lines] : [0, 0];
  const scanner = new SecretScanner({ known });
  scanner.push(content.subarray(begin));
  const findings = scanner.end().map((finding) => ({ ...finding, line: finding.line + before }));
  // A line that is not complete yet is scanned again.
  const end = content.lastIndexOf(NEWLINE) + 1;
  let lines = before;
  for (let at = content.indexOf(NEWLINE, begin); at >= 0; at = content.indexOf(NEWLINE, at + 1)) lines++;
  const seen = new Uint8Array(content.subarray(Math.max(0, end - SEEN), end));
  return { findings, scanned: { end, lines, ino, before: seen } };
}

function isUnchanged(content: Uint8Array, ino: bigint, { end, before, ino: was }: ScanProgress): boolean {
  if (ino !== was || content.byteLength < end) return false;
  return Buffer.compare(content.subarray(end - before.byteLength, end), before) === 0;
}

interface KnownForm {
  readonly text: string;
  readonly kind: SecretKind;
  /** A short secret may be part of another word by chance, so it counts only as a word of its own. */
  readonly alone: boolean;
}

/** The most secrets that are remembered: hostile text may have any number. */
const MOST_VALUES = 2000;
const LEAST_LENGTH = 6;
const ALONE_BELOW = 16;
/** How many levels of JSON inside JSON strings are recognised. */
const NESTING = 3;
/** A match that begins inside an escape is another character. */
const IN_ESCAPE = /(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$/;
const WORD_BEFORE = /[A-Za-z0-9]$/;
const ESCAPE_BEFORE = /\\[nrtbf]$/;

export class KnownSecrets {
  readonly #values = new Set<string>();
  /** By their first four characters, the longest first. */
  readonly #forms = new Map<number, KnownForm[]>();
  readonly #pairs = new Uint8Array(0x10000);

  /** How many secrets are known. */
  get size(): number {
    return this.#values.size;
  }

  /** `value` is the secret in text with one character a byte. */
  add(kind: SecretKind, value: string): void {
    if (value.length < LEAST_LENGTH || this.#values.has(value) || this.#values.size >= MOST_VALUES) return;
    if ((kind === "password" || kind === "url-password") && !isRepeatable(value)) return;
    this.#values.add(value);
    for (const text of formsOf(value)) this.#index({ text, kind, alone: value.length < ALONE_BELOW });
  }

  #index(form: KnownForm): void {
    const bytes = Buffer.from(form.text, "latin1");
    const prefix = bytes.readUInt32BE(0);
    const forms = this.#forms.get(prefix) ?? [];
    this.#forms.set(
      prefix,
      [...forms, form].toSorted((a, b) => b.text.length - a.text.length),
    );
    this.#pairs[prefix >>> 16] = 1;
  }

  findSpans(text: string, bytes: Uint8Array): Span[] {
    const spans: Span[] = [];
    if (this.#values.size === 0) return spans;
    const end = bytes.length - 3;
    for (let i = 0; i < end; i++) {
      const pair = ((bytes[i] as number) << 8) | (bytes[i + 1] as number);
      if (this.#pairs[pair] === 0) continue;
      const prefix = ((pair << 16) | ((bytes[i + 2] as number) << 8) | (bytes[i + 3] as number)) >>> 0;
      const form = this.#forms.get(prefix)?.find((one) => text.startsWith(one.text, i) && occurs(text, i, one));
      if (form === undefined) continue;
      const to = i + form.text.length;
      spans.push({ kind: form.kind, begin: i, from: i, to, shown: "" });
      i = to - 1;
    }
    return spans;
  }
}

function occurs(text: string, from: number, { text: value, alone }: KnownForm): boolean {
  const before = text.slice(Math.max(0, from - 32), from);
  if (IN_ESCAPE.test(before)) return false;
  if (!alone) return true;
  const isWordBefore = WORD_BEFORE.test(before) && !ESCAPE_BEFORE.test(before);
  return !isWordBefore && !/^[A-Za-z0-9]/.test(text.charAt(from + value.length));
}

/** The value itself and its forms in JSON: some writers escape slashes, some non-ASCII characters, some the characters of HTML. */
function formsOf(value: string): ReadonlySet<string> {
  const plain = value.replace(/\\{1,8}([nrt])/g, (_, letter: string) => JSON.parse(`"\\${letter}"`));
  const forms = new Set([value]);
  const text = Buffer.from(plain, "latin1").toString("utf8");
  for (const escapes of ESCAPES) {
    let form = JSON.stringify(text).slice(1, -1);
    for (const apply of escapes) form = apply(form);
    for (let depth = 0; depth < NESTING; depth++) {
      forms.add(Buffer.from(form).toString("latin1"));
      form = JSON.stringify(form).slice(1, -1);
    }
  }
  return forms.add(plain);
}

type Escape = (text: string) => string;
const slashes: Escape = (text) => text.replaceAll("/", "\\/");
const foreign: Escape = (text) => text.replace(/[^\0-\x7e]/g, escapeCode);
const html: Escape = (text) => text.replace(/[&<>]/g, escapeCode);
const ESCAPES: readonly (readonly Escape[])[] = [
  [],
  [slashes],
  [foreign],
  [html],
  [slashes, foreign],
  [slashes, html],
  [foreign, html],
  [slashes, foreign, html],
];

function escapeCode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
