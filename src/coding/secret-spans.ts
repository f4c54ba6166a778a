// Finds likely secrets in a text. From each position where a secret may begin, it reads at most the length of a secret, so that time and
// memory are bounded for any text.
import { isHighEntropy, isPlaceholder, looksRandom } from "./entropy.ts";
import { type SecretKind, TOKENS, type TokenShape } from "./secret-tokens.ts";

export interface Span {
  readonly kind: SecretKind;
  /** The beginning of the text that identifies the secret, such as the name of a variable before it. */
  readonly begin: number;
  readonly from: number;
  readonly to: number;
  /** The part of the text that is not secret, for reports. */
  readonly shown: string;
}

/** The spans at a trigger, and the position from which the search continues. */
interface TriggerMatch {
  readonly spans: readonly Span[];
  readonly next: number;
}

/** The longest secret in bytes. */
export const REACH = 16 * 1024;

const AWS_ID = /(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Za-z0-9])/y;
const AWS_SECRET = /(?:(?<![A-Za-z0-9/+=\\])|(?<=\\[nrtbf]))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g;
const RUN = /[A-Za-z0-9_-]*/y;
const JWT = /eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}(?:\.[A-Za-z0-9_-]{8,2048})?/y;
const PEM_HEAD = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const PEM_BREAK = /[ \t\r\n]+|\\{1,8}[nrt]/y;
const PEM_FIELD = /(?:Proc-Type|DEK-Info|Comment|Version): [A-Za-z0-9 ,.-]{1,100}/y;
const PEM_BODY = /[A-Za-z0-9+/=]{1,4096}/y;
const PEM_TAIL = /-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/y;
const USER_PASSWORD =
  /(?<user>[!#-&*+.0-9;=?A-Z^_a-z~\x80-\xff-]{0,300}):(?<secret>[!#-&*+.0-9:;=?A-Z^_a-z~\x80-\xff-]{3,200})@[A-Za-z0-9[]/y;
/** Words that documentation writes instead of a password. */
const WORD_FOR_ONE = /^(?:pass|password|passwd|pwd|secret)$/i;
/** Passwords of URLs in which the user is the token. */
const NO_PASSWORD = /^x-(?:oauth-basic|token-auth|access-token)$/;
const SCHEME = /[A-Za-z][A-Za-z0-9+.-]{1,30}$/;
const SLACK_HOOK = /hooks\.slack\.com\/services\/(?<secret>T[A-Za-z0-9]{1,40}\/B[A-Za-z0-9]{1,40}\/[A-Za-z0-9]{1,40})/y;
const BEARER = /[A-Za-z0-9._~+/-]{16,4000}={0,2}/y;
const BASIC = /[A-Za-z0-9+/]{6,4000}={0,2}/y;
const ASSIGNED = /["'\\]{0,8}[ \t]{0,4}(?:=>|:=|==?|:)[ \t]{0,4}["'\\]{0,8}/y;
// A colon at its beginning would be JSON's own, after a name that ends in "password=".
const VALUE = /(?!:)[!#%*+./0-9:=?@A-Z^_a-z~\x80-\xff-]{8,500}/y;
const AZURE_KEY = /[A-Za-z0-9+/]{40,120}={0,2}(?![A-Za-z0-9+/=])/y;
/** The words of one command: to the end of its line, or to another command. */
const CURL_WORDS = /(?:(?!(?<!\\)(?:\\n|\n)| (?:&&|\|\|?|;) |curl)[^\0]){1,2048}/y;
const CURL_OPTION = String.raw`(?:[\s"']|\\[nrt])(?<option>-[A-Za-z#]{0,8}[uU]|--(?:proxy-)?user)`;
const CURL_USER = new RegExp(
  String.raw`${CURL_OPTION}["'\\,= \t\r\n]{0,16}[A-Za-z0-9._%+@-]{0,100}:(?<secret>[^\s"'\\<>\x60]{3,200})`,
  "g",
);
/** A variable, or the numbers of a user and a group. */
const NO_CURL_SECRET = /^(?:[$%{(]|\d{1,9}$)/;

/** The spans of a text with one character a byte, in order and without overlaps. */
export function findSpans(text: string, bytes: Uint8Array): Span[] {
  const spans: Span[] = [];
  let from = 0;
  for (let found = nextTrigger(text, bytes, 0); found !== null; found = nextTrigger(text, bytes, from)) {
    const look = matchTrigger(text, found);
    spans.push(...look.spans);
    from = Math.max(look.next, found.index + found[0].length);
  }
  return mergeSpans(spans);
}

/** Sorts the spans, and merges those that overlap. */
export function mergeSpans(spans: readonly Span[]): Span[] {
  const made: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from || b.to - a.to)) {
    const last = made.at(-1);
    if (last === undefined || span.from >= last.to) made.push(span);
    else if (span.to > last.to)
      made[made.length - 1] = { ...last, begin: Math.min(last.begin, span.begin), to: span.to };
  }
  return made;
}

function matchTrigger(text: string, { index, 0: begun, groups = {} }: RegExpExecArray): TriggerMatch {
  const end = index + begun.length;
  if (groups.pem) return pem(text, index);
  if (groups.url) return url(text, index, end);
  if (groups.scheme) return authorization(text, begun, end);
  if (groups.curl) return curl(text, index, end);
  if (groups.word) return assigned(text, begun, end);
  if (begun === "eyJ") return jwt(text, index);
  return aws(text, index) ?? token(text, index);
}

function token(text: string, index: number): TriggerMatch {
  const shape = TOKENS.find(({ prefix }) => text.startsWith(prefix, index));
  // After a backslash, "npm_" is a line end and "pm_".
  const isEscape = text.charAt(index - 1) === "\\" && "nrtbf".includes(text.charAt(index));
  if (shape === undefined || isEscape) return { spans: [], next: index };
  const from = index + shape.prefix.length;
  const rest = at(shape.rest, text, from)?.[0] ?? "";
  const to = from + rest.length;
  const isSecret = rest !== "" && !isPlaceholder(rest) && hasEvidence(rest, shape);
  return {
    spans: isSecret ? [{ kind: shape.kind, begin: index, from: index, to, shown: shape.prefix }] : [],
    next: to,
  };
}

function hasEvidence(rest: string, { evidence }: TokenShape): boolean {
  if (evidence === "none") return true;
  return isKey(rest) || (evidence === "mixed" && /[a-z]/.test(rest) && /[A-Z]/.test(rest));
}

/** After such a prefix a long hash is a key too. */
function isKey(text: string): boolean {
  return looksRandom(text) || /^[0-9a-f]{32,}$/.test(text);
}

function aws(text: string, index: number): TriggerMatch | null {
  const id = at(AWS_ID, text, index);
  if (id === null) return null;
  const to = index + id[0].length;
  const spans: Span[] = [{ kind: "aws-key-id", begin: index, from: index, to, shown: id[0].slice(0, 4) }];
  // The secret follows near the id, and has no prefix of its own.
  const near = text.slice(to, to + 200);
  const secret = [...near.matchAll(AWS_SECRET)].find(([candidate]) => looksRandom(candidate));
  if (secret === undefined) return { spans, next: to };
  const from = to + secret.index;
  return { spans: [...spans, { kind: "aws-secret", begin: index, from, to: from + 40, shown: "" }], next: from + 40 };
}

function jwt(text: string, index: number): TriggerMatch {
  const found = at(JWT, text, index)?.[0];
  const to = index + (found ?? at(RUN, text, index)?.[0] ?? "").length;
  return { spans: found === undefined ? [] : [{ kind: "jwt", begin: index, from: index, to, shown: "eyJ" }], next: to };
}

/** A private key up to its end, or up to where it was cut off. */
function pem(text: string, index: number): TriggerMatch {
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

function url(text: string, index: number, end: number): TriggerMatch {
  const scheme = SCHEME.exec(text.slice(Math.max(0, index - 31), index))?.[0];
  if (scheme === undefined) return { spans: [], next: end };
  const [begin, shown] = [index - scheme.length, `${scheme}://`];
  const hook = at(SLACK_HOOK, text, end);
  if (hook !== null) {
    const to = end + hook[0].length;
    const from = to - (hook.groups?.secret ?? "").length;
    return { spans: [{ kind: "slack-token", begin, from, to, shown }], next: to };
  }
  const found = at(USER_PASSWORD, text, end);
  const { user = "", secret = "" } = found?.groups ?? {};
  if (found === null || isPlaceholder(secret) || WORD_FOR_ONE.test(secret)) return { spans: [], next: end };
  const [from, to] = NO_PASSWORD.test(secret)
    ? [end, end + user.length]
    : [end + user.length + 1, end + user.length + 1 + secret.length];
  return { spans: from === to ? [] : [{ kind: "url-password", begin, from, to, shown }], next: to };
}

function authorization(text: string, begun: string, end: number): TriggerMatch {
  const basic = begun.toLowerCase() === "basic " ? at(BASIC, text, end)?.[0] : undefined;
  const value = isBasic(basic) ? basic : at(BEARER, text, end)?.[0];
  const isSecret = value !== undefined && !isPlaceholder(value) && (value === basic || isKey(value));
  if (!isSecret) return { spans: [], next: end };
  const to = end + value.length;
  return { spans: [{ kind: "bearer", begin: end - begun.length, from: end, to, shown: begun }], next: to };
}

/** Base64 of a user, a colon and a password. */
function isBasic(value: string | undefined): value is string {
  return (
    value !== undefined &&
    /^[\x20-\x7e]{0,200}:[\x20-\x7e]{3,1000}$/.test(Buffer.from(value, "base64").toString("latin1"))
  );
}

/** The passwords of a curl command. The rest of the command is searched for other secrets too. */
function curl(text: string, index: number, end: number): TriggerMatch {
  const words = at(CURL_WORDS, text, end)?.[0] ?? "";
  const spans: Span[] = [];
  for (const found of words.matchAll(CURL_USER)) {
    const { option = "", secret = "" } = found.groups ?? {};
    // These characters belong to the shell, unless they are quoted, and then few passwords end with them.
    const value = secret.replace(/[;|&)}\],]+$/, "");
    if (value.length < 3 || isPlaceholder(value) || WORD_FOR_ONE.test(value) || NO_CURL_SECRET.test(value)) continue;
    const from = end + found.index + found[0].length - secret.length;
    spans.push({
      kind: "password",
      begin: index,
      from,
      to: wholeCharacters(text, from + value.length),
      shown: `curl ${option} `,
    });
  }
  return { spans, next: end };
}

function assigned(text: string, word: string, end: number): TriggerMatch {
  const sign = at(ASSIGNED, text, end)?.[0];
  if (sign === undefined) return { spans: [], next: end };
  const from = end + sign.length;
  // The character after a single backslash belongs to the escape.
  const backslashes = /\\*$/.exec(sign)?.[0].length ?? 0;
  const isAzure = /^account/i.test(word);
  const value = at(isAzure ? AZURE_KEY : VALUE, text, from)?.[0];
  if (value === undefined || backslashes % 2 === 1) return { spans: [], next: from };
  const to = wholeCharacters(text, from + value.length);
  const isDocker = /^auth$/i.test(word);
  const isSecret = isAzure || (isDocker ? isBasic(value) : isHighEntropy(value));
  const kind = isAzure ? "azure-key" : isDocker ? "docker-auth" : "password";
  return {
    spans: isSecret && !isPlaceholder(value) ? [{ kind, begin: end - word.length, from, to, shown: `${word}=` }] : [],
    // After "auth:" there may be more than one value.
    next: isDocker && !isSecret ? from : to,
  };
}

function wholeCharacters(text: string, end: number): number {
  let to = end;
  while (/[\x80-\xbf]/.test(text.charAt(to))) to += 1;
  return to;
}

/** JSON writes a line end as the two characters \n: the letter is not part of a name. */
const BEFORE = String.raw`(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf]))`;
const NAMES = [
  "password",
  "passwd",
  "passphrase",
  "pwd",
  "secret access key",
  "client secret",
  "secret key",
  "secret",
  "api key",
  "api token",
  "access key",
  "access token",
  "account key",
  "auth token",
  "auth",
  "refresh token",
  "private token",
  "session token",
  "token",
];
/** Matches apiKey, api_key and API-KEY. */
const WORDS = NAMES.flatMap((name) => {
  const parts = name.split(" ").map((part) => `[${part.charAt(0)}${part.charAt(0).toUpperCase()}]${part.slice(1)}`);
  return [parts.join("[_-]?"), name.toUpperCase().replaceAll(" ", "[_-]?")];
}).join("|");
const AWS_IDS = ["AKIA", "ASIA", "ABIA", "ACCA", "A3T"];
const PREFIXES = [...new Set(TOKENS.map(({ prefix }) => prefix)), ...AWS_IDS, "eyJ"];
const TRIGGER = new RegExp(
  `${BEFORE}(?<token>${PREFIXES.map((prefix) => prefix.replaceAll(".", "\\.")).join("|")})` +
    `|(?<pem>-----BEGIN )|(?<url>://)|${BEFORE}(?<scheme>[Bb]earer |[Bb]asic )|${BEFORE}(?<curl>curl)(?![A-Za-z0-9_])` +
    `|(?<word>${WORDS})`,
  "y",
);
/**
 * A prefilter: the first four characters of all texts that TRIGGER matches, with a set of characters for each position. A pass that checks
 * only these takes a tenth of the time of the pattern itself.
 */
const STEMS: readonly (readonly string[])[] = [
  "- - - -",
  ": / /",
  "Bb e a r",
  "Bb a s i",
  "c u r l",
  "pP aA sS sS",
  "pP wW dD",
  "sS eE cC rR",
  "cC lL iI eE",
  "aA pP iI kKtT_-",
  "aA cC cC eEoO",
  "aA uU tT hH",
  "rR eE fF rR",
  "pP rR iI vV",
  "sS eE sS sS",
  "tT oO kK eE",
  ...PREFIXES.map((prefix) => [...prefix.slice(0, 4)].join(" ")),
].map((stem) => stem.split(" "));
const BITS = 32;
/** Words are frequent: each has a bit of its own. Prefixes of tokens share the others. */
const OWN_BITS = STEMS.length - PREFIXES.length;
/** By two characters: a bit for each stem that begins with them, and a bit for each stem that has them as third and fourth character. */
const BEGINS = pairsAt(0);
const CONTINUES = pairsAt(2);

function pairsAt(place: 0 | 2): Uint32Array {
  const pairs = new Uint32Array(0x10000);
  for (const [i, stem] of STEMS.entries()) {
    const [one = "", other] = stem.slice(place);
    const seconds = other === undefined ? Array.from({ length: 256 }, (_, code) => code) : codesOf(other);
    for (const first of codesOf(one)) for (const second of seconds) setBit(pairs, (first << 8) | second, bitOf(i));
  }
  return pairs;
}

function bitOf(stem: number): number {
  return stem < OWN_BITS ? stem : OWN_BITS + (stem % (BITS - OWN_BITS));
}

function codesOf(characters: string): number[] {
  return [...characters].map((character) => character.charCodeAt(0));
}

function setBit(pairs: Uint32Array, pair: number, bit: number): void {
  pairs[pair] = (pairs[pair] ?? 0) | (1 << bit);
}

/** Where TRIGGER matches next in text of one character a byte; `bytes` are the same as numbers, which are quicker to read. */
function nextTrigger(text: string, bytes: Uint8Array, from: number): RegExpExecArray | null {
  const end = bytes.length - 3;
  let pair = ((bytes[from] ?? 0) << 8) | (bytes[from + 1] ?? 0);
  for (let i = from; i < end; i++) {
    const stems = BEGINS[pair] as number;
    if (stems !== 0) {
      const next = ((bytes[i + 2] as number) << 8) | (bytes[i + 3] as number);
      const found = (stems & (CONTINUES[next] as number)) === 0 ? null : at(TRIGGER, text, i);
      if (found !== null) return found;
    }
    pair = ((pair & 0xff) << 8) | (bytes[i + 2] as number);
  }
  for (let i = Math.max(from, end); i < bytes.length; i++) {
    const found = at(TRIGGER, text, i);
    if (found !== null) return found;
  }
  return null;
}

function at(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from;
  return pattern.exec(text);
}
