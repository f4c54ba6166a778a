// Whether a text looks like chance, as secrets do, or like a word, a name, a number or a hash, as most text does.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEX = /^(?:0x)?[0-9a-f]+$/i;
const NUMBER = /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i;
const PLACEHOLDER = /x{4}|\*{3}|\.{3}|…|example|placeholder|redacted|changeme|your[_-]|dummy|sample|<|\$\{|%[sd]|0{8}/i;
/** a.b.c, a::b, /a/b, camelCase and snake_case: code that says where a secret comes from. */
const CODE = /^[@#./~-]|^[A-Za-z_]+(?:[.:/>?-]+[A-Za-z_]+\d*)*[:.!?*]*$|^(?:process|os|env|config|req|self|this)\b/;

export function isPlaceholder(text: string): boolean {
  return PLACEHOLDER.test(text.slice(0, 500));
}

/** Bits a character, of those that are there. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Letters of both cases with digits, or letters with many digits, mixed as no word is; no hash, no UUID. */
export function looksRandom(text: string): boolean {
  const part = text.slice(0, 200);
  if (UUID.test(part) || HEX.test(part) || NUMBER.test(part)) return false;
  const digits = part.match(/\d/g)?.length ?? 0;
  const isMixed = /[a-z]/.test(part) && /[A-Z]/.test(part);
  if (digits === 0 || !/[A-Za-z]/.test(part)) return false;
  return entropyOf(part) >= 3.2 && (isMixed || digits * 6 >= part.length);
}

/** For what is called a password: less chance is enough, and a long hash is one, but code and plain words are not. */
export function isHighEntropy(text: string): boolean {
  return isRepeatable(text) && entropyOf(text.slice(0, 200)) >= 2.7;
}

/** Whether a password is masked wherever it stands: no word, number, hash, UUID or code, which stand elsewhere by chance. */
export function isRepeatable(text: string): boolean {
  const part = text.slice(0, 200);
  if (UUID.test(part) || NUMBER.test(part) || CODE.test(part)) return false;
  if (HEX.test(part) && part.length < 32) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(part)).length;
  return kinds >= 2 && /[A-Za-z]/.test(part);
}
