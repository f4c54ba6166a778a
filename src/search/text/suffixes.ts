// What the stemmers share: the longest suffix of a list that a word ends with, and the regions R1 and R2 of a word. Snowball
// defines both at https://snowballstem.org/texts/r1r2.html; each language says which letters are its vowels.

export interface SuffixTable<Rule extends string> {
  readonly longest: number;
  readonly rules: ReadonlyMap<string, Rule>;
}

export interface SuffixMatch<Rule extends string> {
  readonly suffix: string;
  readonly rule: Rule;
  /** What the word has before the suffix. */
  readonly rest: string;
}

/** Each rule lists its suffixes with spaces between them. */
export function createSuffixTable<Rule extends string>(lists: Readonly<Record<Rule, string>>): SuffixTable<Rule> {
  const rules = new Map<string, Rule>();
  for (const rule of Object.keys(lists) as Rule[]) {
    for (const suffix of lists[rule].split(" ")) rules.set(suffix, rule);
  }
  return { longest: Math.max(...[...rules.keys()].map((suffix) => suffix.length)), rules };
}

/** The longest suffix of the table that begins at `from` or after it. */
export function findSuffix<Rule extends string>(
  word: string,
  table: SuffixTable<Rule>,
  from = 0,
): SuffixMatch<Rule> | undefined {
  for (let start = Math.max(from, word.length - table.longest); start < word.length; start++) {
    const suffix = word.slice(start);
    const rule = table.rules.get(suffix);
    if (rule !== undefined) return { suffix, rule, rest: word.slice(0, start) };
  }
  return undefined;
}

/** The word without its last letters. */
export function dropLast(word: string, count: number): string {
  return word.slice(0, word.length - count);
}

/** The index after the first vowel at `from` or after it; the word's length if there is none. */
export function afterVowel(word: string, vowels: string, from: number): number {
  for (let index = from; index < word.length; index++) if (vowels.includes(word.charAt(index))) return index + 1;
  return word.length;
}

/** The index after the first letter at `from` or after it that is no vowel; the word's length if there is none. */
export function afterConsonant(word: string, vowels: string, from: number): number {
  for (let index = from; index < word.length; index++) if (!vowels.includes(word.charAt(index))) return index + 1;
  return word.length;
}

/** Where the region begins that follows the first consonant after a vowel: R1 from 0, R2 from where R1 begins. */
export function regionStart(word: string, vowels: string, from: number): number {
  return afterConsonant(word, vowels, afterVowel(word, vowels, from));
}

/** False at an index outside the word, too. */
export function isOneOf(word: string, index: number, letters: string): boolean {
  const letter = word.charAt(index);
  return letter !== "" && letters.includes(letter);
}

/** A letter that is none of these; false at an index outside the word. */
export function isOtherThan(word: string, index: number, letters: string): boolean {
  const letter = word.charAt(index);
  return letter !== "" && !letters.includes(letter);
}
