// Likely secrets in what was captured: found to be reported without being shown, and masked on request. Text is searched for
// the few beginnings that secrets have, and from each of these only as far as a secret goes, never over the same characters
// again: time and memory are bounded for any text.
import { at, nextTrigger } from "./beginnings.ts";
import { isHighEntropy, isPlaceholder, looksRandom } from "./entropy.ts";

export type SecretKind =
  | "anthropic-key"
  | "api-key"
  | "github-token"
  | "gitlab-token"
  | "npm-token"
  | "aws-key-id"
  | "aws-secret"
  | "slack-token"
  | "google-key"
  | "stripe-key"
  | "private-key"
  | "jwt"
  | "url-password"
  | "bearer"
  | "password";

export interface SecretFinding {
  readonly kind: SecretKind;
  /** From 1 on; the column counts bytes. */
  readonly line: number;
  readonly column: number;
  /** What everybody may know of it: how such secrets begin, and how long it is. */
  readonly excerpt: string;
}

export interface ScanOptions {
  /** Stop after so many. Default 1000. */
  readonly limit?: number;
}

interface Span {
  readonly kind: SecretKind;
  /** What it is told by begins here, before it. */
  readonly begin: number;
  readonly from: number;
  readonly to: number;
  /** The part of the text that is no secret. */
  readonly shown: string;
}

/** Spans found, and up to where the text needs no second look. */
interface Look {
  readonly spans: readonly Span[];
  readonly next: number;
}

/** No secret is looked for beyond this many bytes from where it begins. */
const REACH = 16 * 1024;
const WINDOW = 1024 * 1024;
const CONTEXT = 64;
const DEFAULT_LIMIT = 1000;

/** What follows each beginning: its characters, how many at least and at most, and whether chance must be seen in it. */
const TOKENS: readonly { begins: string; kind: SecretKind; rest: RegExp; random: boolean }[] = [
  { begins: "sk-ant-", kind: "anthropic-key", rest: /[A-Za-z0-9_-]{16,500}/y, random: false },
  { begins: "sk-", kind: "api-key", rest: /[A-Za-z0-9_-]{20,500}/y, random: true },
  { begins: "sk_live_", kind: "stripe-key", rest: /[A-Za-z0-9]{16,500}/y, random: false },
  { begins: "sk_test_", kind: "stripe-key", rest: /[A-Za-z0-9]{16,500}/y, random: false },
  { begins: "rk_live_", kind: "stripe-key", rest: /[A-Za-z0-9]{16,500}/y, random: false },
  { begins: "rk_test_", kind: "stripe-key", rest: /[A-Za-z0-9]{16,500}/y, random: false },
  { begins: "github_pat_", kind: "github-token", rest: /[A-Za-z0-9_]{22,500}/y, random: true },
  { begins: "gh", kind: "github-token", rest: /[pousr]_[A-Za-z0-9]{30,500}/y, random: true },
  { begins: "glpat-", kind: "gitlab-token", rest: /[A-Za-z0-9_.-]{20,500}/y, random: true },
  { begins: "npm_", kind: "npm-token", rest: /[A-Za-z0-9]{36,500}/y, random: true },
  { begins: "xox", kind: "slack-token", rest: /[abeoprs]-[A-Za-z0-9-]{10,500}/y, random: true },
  { begins: "hf_", kind: "api-key", rest: /[A-Za-z0-9]{30,500}/y, random: true },
  { begins: "pypi-", kind: "api-key", rest: /[A-Za-z0-9_-]{50,500}/y, random: true },
  { begins: "ya29.", kind: "google-key", rest: /[A-Za-z0-9_-]{30,2000}/y, random: true },
  { begins: "SG.", kind: "api-key", rest: /[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}/y, random: true },
  { begins: "dop_v1_", kind: "api-key", rest: /[0-9a-f]{64}/y, random: false },
  { begins: "AIza", kind: "google-key", rest: /[A-Za-z0-9_-]{35,500}/y, random: true },
];
const AWS_ID = /(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/y;
const AWS_SECRET = /(?:(?<![A-Za-z0-9/+=\\])|(?<=\\[nrtbf]))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g;
const RUN = /[A-Za-z0-9_-]*/y;
const JWT = /eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{8,2048})?/y;
const PEM_HEAD = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const PEM_BREAK = /[ \t\r\n]+|\\{1,8}[nrt]/y;
const PEM_FIELD = /(?:Proc-Type|DEK-Info|Comment|Version): [A-Za-z0-9 ,.-]{1,100}/y;
const PEM_BODY = /[A-Za-z0-9+/=]{1,4096}/y;
const PEM_TAIL = /-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const USER_PASSWORD =
  /[!#-&*+.0-9;=?A-Z^_a-z~\x80-\xff-]{0,100}:(?<secret>[!#-&*+.0-9:;=?A-Z^_a-z~\x80-\xff-]{3,200})@[A-Za-z0-9[]/y;
const SCHEME = /[A-Za-z][A-Za-z0-9+.-]{1,30}$/;
const BEARER = /[A-Za-z0-9._~+/-]{16,4000}={0,2}/y;
const ASSIGNED = /["'\\]{0,8}[ \t]{0,4}(?:=>|:=|==?|:)[ \t]{0,4}["'\\]{0,8}/y;
// A colon at its beginning would be JSON's own, behind a name that ends in "password=".
const VALUE = /(?!:)[!#%*+./0-9:=?@A-Z^_a-z~\x80-\xff-]{8,500}/y;

/** Where they are in text of one character a byte, in order and apart from each other. */
function spansIn(text: string, bytes: Uint8Array): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (let found = nextTrigger(text, bytes, 0); found !== null; found = nextTrigger(text, bytes, from)) {
    const look = lookAt(text, found);
    for (const span of look.spans) if (span.from >= (spans.at(-1)?.to ?? 0)) spans.push(span);
    from = Math.max(look.next, found.index + found[0].length);
  }
  return spans;
}

function lookAt(text: string, { index, 0: begun, groups = {} }: RegExpExecArray): Look {
  const end = index + begun.length;
  if (groups.pem) return pem(text, index);
  if (groups.url) return url(text, index, end);
  if (groups.bearer) return bearer(text, begun, end);
  if (groups.word) return assigned(text, begun, end);
  if (begun === "eyJ") return jwt(text, index);
  return begun === "AKIA" || begun === "ASIA" ? aws(text, index) : token(text, index);
}

function token(text: string, index: number): Look {
  const shape = TOKENS.find(({ begins }) => text.startsWith(begins, index));
  // Behind a backslash "npm_" is a new line and "pm_".
  const isEscape = text.charAt(index - 1) === "\\" && "nr".includes(text.charAt(index));
  if (shape === undefined || isEscape) return { spans: [], next: index };
  const rest = at(shape.rest, text, index + shape.begins.length)?.[0] ?? "";
  const to = index + shape.begins.length + rest.length;
  const isSecret = rest !== "" && !isPlaceholder(rest) && (!shape.random || isKey(rest));
  return {
    spans: isSecret ? [{ kind: shape.kind, begin: index, from: index, to, shown: shape.begins }] : [],
    next: to,
  };
}

/** Behind such a beginning a long hash is a key, too. */
function isKey(text: string): boolean {
  return looksRandom(text) || /^[0-9a-f]{32,}$/.test(text);
}

function aws(text: string, index: number): Look {
  const id = at(AWS_ID, text, index);
  if (id === null) return { spans: [], next: index };
  const to = index + id[0].length;
  const spans: Span[] = [{ kind: "aws-key-id", begin: index, from: index, to, shown: id[0].slice(0, 4) }];
  // The secret stands near it, with nothing of its own to tell it by.
  const near = text.slice(to, to + 200);
  const secret = [...near.matchAll(AWS_SECRET)].find(([candidate]) => looksRandom(candidate));
  if (secret === undefined) return { spans, next: to };
  const from = to + secret.index;
  return { spans: [...spans, { kind: "aws-secret", begin: index, from, to: from + 40, shown: "" }], next: from + 40 };
}

function jwt(text: string, index: number): Look {
  const found = at(JWT, text, index)?.[0];
  const to = index + (found ?? at(RUN, text, index)?.[0] ?? "").length;
  return { spans: found === undefined ? [] : [{ kind: "jwt", begin: index, from: index, to, shown: "eyJ" }], next: to };
}

/** To its end, or as far as it goes when it was cut off. */
function pem(text: string, index: number): Look {
  const head = at(PEM_HEAD, text, index)?.[0];
  if (head === undefined) return { spans: [], next: index };
  let to = index + head.length;
  let body = 0;
  for (let next = to; next - index < REACH; ) {
    const tail = at(PEM_TAIL, text, next)?.[0];
    if (tail !== undefined) {
      to = next + tail.length;
      break;
    }
    const part = at(PEM_BREAK, text, next)?.[0] ?? at(PEM_FIELD, text, next)?.[0] ?? at(PEM_BODY, text, next)?.[0];
    if (part === undefined) break;
    next += part.length;
    // Words of a sentence about keys are shorter than the lines of one.
    if (!/^[A-Za-z0-9+/=]{16}/.test(part)) continue;
    to = next;
    body += part.length;
  }
  return { spans: body > 0 ? [{ kind: "private-key", begin: index, from: index, to, shown: head }] : [], next: to };
}

function url(text: string, index: number, end: number): Look {
  const found = at(USER_PASSWORD, text, end);
  const secret = found?.groups?.secret;
  if (found === null || secret === undefined || isPlaceholder(secret)) return { spans: [], next: end };
  const scheme = SCHEME.exec(text.slice(Math.max(0, index - 31), index))?.[0];
  if (scheme === undefined) return { spans: [], next: end };
  const from = end + found[0].indexOf(":") + 1;
  const to = from + secret.length;
  return { spans: [{ kind: "url-password", begin: index - scheme.length, from, to, shown: `${scheme}://` }], next: to };
}

function bearer(text: string, begun: string, end: number): Look {
  const value = at(BEARER, text, end)?.[0];
  if (value === undefined || !isKey(value) || isPlaceholder(value)) return { spans: [], next: end };
  const to = end + value.length;
  return { spans: [{ kind: "bearer", begin: end - begun.length, from: end, to, shown: begun }], next: to };
}

function assigned(text: string, word: string, end: number): Look {
  const sign = at(ASSIGNED, text, end)?.[0];
  if (sign === undefined) return { spans: [], next: end };
  const from = end + sign.length;
  // The first character behind a single backslash belongs to it.
  const backslashes = /\\*$/.exec(sign)?.[0].length ?? 0;
  const value = at(VALUE, text, from)?.[0];
  if (value === undefined || backslashes % 2 === 1) return { spans: [], next: from };
  let to = from + value.length;
  while (/[\x80-\xbf]/.test(text.charAt(to))) to += 1;
  const isSecret = isHighEntropy(value) && !isPlaceholder(value);
  return {
    spans: isSecret ? [{ kind: "password", begin: end - word.length, from, to, shown: `${word}=` }] : [],
    next: to,
  };
}

/** Text in pieces of any size becomes windows that overlap by what a secret may take, with what is found in each. */
class Windows {
  #held: Uint8Array[] = [];
  #length = 0;
  /** So much of it was given already, and is here to tell whether what follows is the beginning of a word. */
  #given = 0;
  readonly #see: (text: string, spans: readonly Span[]) => void;

  /** Is given text that ends where no secret is cut, and where secrets are in it. */
  constructor(see: (text: string, spans: readonly Span[]) => void) {
    this.#see = see;
  }

  push(piece: Uint8Array): void {
    for (let from = 0; from < piece.byteLength; from += WINDOW) {
      const more = piece.subarray(from, from + WINDOW);
      this.#held.push(more);
      this.#length += more.byteLength;
      if (this.#length >= WINDOW) this.#give(this.#length - 2 * REACH);
    }
    // Whoever gave it may fill it anew.
    this.#held = this.#held.map((part) => (part.buffer === piece.buffer ? new Uint8Array(part) : part));
  }

  end(): void {
    this.#give(this.#length);
  }

  /** A secret that goes beyond `upTo` waits for what follows, as does what might be the beginning of one. */
  #give(upTo: number): void {
    const held = asBuffer(this.#held);
    const text = held.toString("latin1");
    const given = this.#given;
    const spans = spansIn(text, held).filter((span) => span.begin >= given);
    const cut = spans.find((span) => span.begin < upTo && span.to > upTo)?.begin ?? upTo;
    const whole = spans.filter((span) => span.to <= cut);
    this.#see(
      text.slice(given, cut),
      whole.map((span) => ({ ...span, from: span.from - given, to: span.to - given })),
    );
    this.#given = Math.min(cut, CONTEXT);
    this.#held = [held.subarray(cut - this.#given)];
    this.#length = held.byteLength - cut + this.#given;
  }
}

function asBuffer(parts: readonly Uint8Array[]): Buffer {
  const [only] = parts;
  if (only === undefined || parts.length > 1) return Buffer.concat(parts);
  return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
}

/** Reports them without showing them. */
export class SecretScanner {
  readonly findings: SecretFinding[] = [];
  readonly #limit: number;
  readonly #windows = new Windows((text, spans) => this.#report(text, spans));
  #line = 1;
  #column = 1;

  constructor({ limit = DEFAULT_LIMIT }: ScanOptions = {}) {
    this.#limit = limit;
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

/** What stands in the place of one begins so. */
export const MASKED = "[redacted:";

/** Each becomes "[redacted:<kind>]". Lines of JSON stay lines of JSON: no secret reaches over a quote or half an escape. */
export function maskSecrets(bytes: Uint8Array): Uint8Array {
  const masked: Buffer[] = [];
  const windows = new Windows((text, spans) => masked.push(Buffer.from(maskedText(text, spans), "latin1")));
  windows.push(bytes);
  windows.end();
  return Buffer.concat(masked);
}

export async function* maskSecretsIn(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let masked: Buffer[] = [];
  const windows = new Windows((text, spans) => masked.push(Buffer.from(maskedText(text, spans), "latin1")));
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
