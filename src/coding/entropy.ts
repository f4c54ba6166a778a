// Whether a text looks like chance, as secrets do, or like a word, a name, a number or a hash, as most text does.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HEX = /^(?:0x)?[0-9a-f]+$/i;
const NUMBER = /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i;
/** No key has these. */
const OMISSION = /\*{3}|\.{3}|…|<|\$\{|%[sd]/;
/** A key has one of these by chance: of ten thousand with 90 characters one has four x of either case in a row. */
const FILLER = /x{4,}|0{8,}|example|placeholder|redacted|changeme|your[_-]|dummy|sample/gi;
/** What chance makes of so many characters is no filler's surroundings. */
const KEY_LENGTH = 16;
/** a.b.c, a::b, /a/b, camelCase and snake_case: code that says where a secret comes from. */
const CODE = /^[@#./~-]|^[A-Za-z_]+(?:[.:/>?-]+[A-Za-z_]+\d*)*[:.!?*]*$|^(?:process|os|env|config|req|self|this)\b/;

/** A text that stands for a secret. One in which filler is a small part of what is otherwise made by chance is a secret. */
export function isPlaceholder(text: string): boolean {
  const part = text.slice(0, 500);
  if (OMISSION.test(part)) return true;
  const rest = part.replace(FILLER, "");
  if (rest.length === part.length) return false;
  return rest.length < KEY_LENGTH || rest.length * 3 < part.length * 2 || !isShuffled(rest);
}

/** Small letters, capitals and digits follow each other as in no word or number: in chance, after two characters of five. */
function isShuffled(text: string): boolean {
  const kinds = [...text].map((one) => (/\d/.test(one) ? "digit" : /[A-Z]/.test(one) ? "capital" : "small"));
  const changes = kinds.filter((kind, i) => i > 0 && kind !== kinds[i - 1]).length;
  return changes * 10 >= text.length * 3;
}

/** Bits a character, of those that are there. */
function entropyOf(text: string): number {
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
