// Decides whether a text looks random, as secrets do, or like a word, a name, a number or a hash, as most text does.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEX = /^(?:0x)?[0-9a-f]+$/i;
const NUMBER = /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i;
/** Characters that no key has. */
const OMISSION = /\*{3}|\.{3}|…|<|\$\{|%[sd]/;
/** Typical filler. A key rarely has it by chance: one of ten thousand keys of 90 characters has four x in a row. */
const FILLER = /x{4,}|0{8,}|example|placeholder|redacted|changeme|your[_-]|dummy|sample/gi;
/** If the text without filler is at least this long and random, it is a key. */
const KEY_LENGTH = 16;
/** a.b.c, a::b, /a/b, camelCase and snake_case: code that says where a secret comes from. */
const CODE = /^[@#./~-]|^[A-Za-z_]+(?:[.:/>?-]+[A-Za-z_]+\d*)*[:.!?*]*$|^(?:process|os|env|config|req|self|this)\b/;

/** Whether the text is a placeholder for a secret. A random text with a little filler is not. */
export function isPlaceholder(text: string): boolean {
  const part = text.slice(0, 500);
  if (OMISSION.test(part)) return true;
  const rest = part.replace(FILLER, "");
  if (rest.length === part.length) return false;
  return rest.length < KEY_LENGTH || rest.length * 3 < part.length * 2 || !isShuffled(rest);
}

/** Whether small letters, capitals and digits alternate as in no word or number. In a random text the kind changes after two of five. */
function isShuffled(text: string): boolean {
  const kinds = [...text].map((one) => (/\d/.test(one) ? "digit" : /[A-Z]/.test(one) ? "capital" : "small"));
  const changes = kinds.filter((kind, i) => i > 0 && kind !== kinds[i - 1]).length;
  return changes * 10 >= text.length * 3;
}

/** The entropy of the text's own characters, in bits for each character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/** Whether letters and digits are mixed as in no word. A hash or a UUID does not count. */
export function looksRandom(text: string): boolean {
  const part = text.slice(0, 200);
  if (UUID.test(part) || HEX.test(part) || NUMBER.test(part)) return false;
  const digits = part.match(/\d/g)?.length ?? 0;
  const isMixed = /[a-z]/.test(part) && /[A-Z]/.test(part);
  if (digits === 0 || !/[A-Za-z]/.test(part)) return false;
  return entropyOf(part) >= 3.2 && (isMixed || digits * 6 >= part.length);
}

/** For values that are named a password: less entropy is enough, and a long hash counts, but code and plain words do not. */
export function isHighEntropy(text: string): boolean {
  return isRepeatable(text) && entropyOf(text.slice(0, 200)) >= 2.7;
}

/** Whether a password is masked wherever it occurs. A word, number, hash, UUID or code is not, because it occurs elsewhere by chance. */
export function isRepeatable(text: string): boolean {
  const part = text.slice(0, 200);
  if (UUID.test(part) || NUMBER.test(part) || CODE.test(part)) return false;
  if (HEX.test(part) && part.length < 32) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(part)).length;
  return kinds >= 2 && /[A-Za-z]/.test(part);
}
