// Secrets that were found once, so that they are masked wherever they stand again: also where nothing beside them says what they
// are, and as JSON writes them.
import { isRepeatable } from "./entropy.ts";
import type { Span } from "./secret-spans.ts";
import type { SecretKind } from "./secret-tokens.ts";

interface KnownForm {
  readonly text: string;
  readonly kind: SecretKind;
  /** Shorter ones are part of other words by chance: they must stand alone. */
  readonly alone: boolean;
}

/** Hostile text may have any number of them. */
const MOST_VALUES = 2000;
const LEAST_LENGTH = 6;
const ALONE_BELOW = 16;
/** JSON in JSON in JSON. */
const NESTING = 3;
/** What begins inside an escape is another character, and a part of one cannot be replaced. */
const IN_ESCAPE = /(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$/;
const WORD_BEFORE = /[A-Za-z0-9]$/;
const ESCAPE_BEFORE = /\\[nrtbf]$/;

export class KnownSecrets {
  readonly #values = new Set<string>();
  /** By their first four characters, the longest first. */
  readonly #forms = new Map<number, KnownForm[]>();
  readonly #pairs = new Uint8Array(0x10000);

  /** How many there are: it grows when one is added that was not known. */
  get size(): number {
    return this.#values.size;
  }

  /** `value` as it stands in text of one character a byte. */
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

  spansIn(text: string, bytes: Uint8Array): Span[] {
    const spans: Span[] = [];
    if (this.#values.size === 0) return spans;
    const end = bytes.length - 3;
    for (let i = 0; i < end; i++) {
      const pair = ((bytes[i] as number) << 8) | (bytes[i + 1] as number);
      if (this.#pairs[pair] === 0) continue;
      const prefix = ((pair << 16) | ((bytes[i + 2] as number) << 8) | (bytes[i + 3] as number)) >>> 0;
      const form = this.#forms.get(prefix)?.find((one) => text.startsWith(one.text, i) && stands(text, i, one));
      if (form === undefined) continue;
      const to = i + form.text.length;
      spans.push({ kind: form.kind, begin: i, from: i, to, shown: "" });
      i = to - 1;
    }
    return spans;
  }
}

function stands(text: string, from: number, { text: value, alone }: KnownForm): boolean {
  const before = text.slice(Math.max(0, from - 32), from);
  if (IN_ESCAPE.test(before)) return false;
  if (!alone) return true;
  const isWordBefore = WORD_BEFORE.test(before) && !ESCAPE_BEFORE.test(before);
  return !isWordBefore && !/^[A-Za-z0-9]/.test(text.charAt(from + value.length));
}

/** As it is, and as writers of JSON have it: some escape slashes, some what is not ASCII, some what HTML would read. */
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
