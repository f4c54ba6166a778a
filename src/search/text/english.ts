// The English stemmer of Snowball ("Porter2"), written from its description at https://snowballstem.org/algorithms/english/stemmer.html,
// as of Snowball 3. Words come in lower case; a y that stands for a consonant is written Y while the steps run.
import { createSuffixTable, dropLast, findSuffix, isOneOf, isOtherThan, regionStart } from "./suffixes.ts";

const VOWELS = "aeiouy";
const VOWELS_AND_WXY = "aeiouywxY";
const LETTERS_BEFORE_LI = "cdeghkmnrt";

/** Words that the steps would stem wrongly, and what they become. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ["skis", "ski"],
  ["skies", "sky"],
  ["idly", "idl"],
  ["gently", "gentl"],
  ["ugly", "ugli"],
  ["early", "earli"],
  ["only", "onli"],
  ["singly", "singl"],
  ...["sky", "news", "howe", "atlas", "cosmos", "bias", "andes"].map((word) => [word, word] as const),
]);

/** R1 begins after these, so that "general" and "generous" keep stems of their own. */
const R1_PREFIX = /^(?:gener|commun|arsen|past|univers|later|emerg|organ|inter)/;

/** Words before "ing" in which it is part of the word: inning, outing, … */
const KEEPS_ING = new Set(["inn", "out", "cann", "herr", "earr", "even"]);
/** Words before "eed" in which it is part of the word: proceed, exceed, succeed. */
const KEEPS_EED = new Set(["proc", "exc", "succ"]);

const PLURALS = createSuffixTable({ sses: "sses", ie: "ied ies", s: "s", keep: "us ss" });
const VERBS = createSuffixTable({ eed: "eed eedly", ed: "ed edly ingly", ing: "ing" });
const VERB_STEMS = createSuffixTable({ addE: "at bl iz", double: "bb dd ff gg mm nn pp rr tt" });

/** Steps 2 and 3: what each suffix is replaced by, if it is in R1. Three have a condition of their own. */
const STEP_2 = createSuffixTable({
  tion: "tional",
  ence: "enci",
  ance: "anci",
  able: "abli",
  ent: "entli",
  ize: "izer ization",
  ate: "ational ation ator",
  al: "alism aliti alli",
  ful: "fulness fulli",
  ous: "ousli ousness",
  ive: "iveness iviti",
  ble: "biliti bli",
  og: "ogist ogi",
  less: "lessli",
  li: "li",
});
const STEP_3 = createSuffixTable({
  tion: "tional",
  ate: "ational",
  al: "alize",
  ic: "icate iciti ical",
  "": "ful ness",
  ative: "ative",
});
const STEP_4 = createSuffixTable({
  delete: "al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize",
  ion: "ion",
});

interface Regions {
  readonly r1: number;
  readonly r2: number;
}

export function stemEnglish(word: string): string {
  const exception = EXCEPTIONS.get(word);
  if (exception !== undefined) return exception;
  if (word.length < 3) return word;
  const marked = markConsonantY(word.startsWith("'") ? word.slice(1) : word);
  const r1 = R1_PREFIX.exec(marked)?.[0].length ?? regionStart(marked, VOWELS, 0);
  const regions = { r1, r2: regionStart(marked, VOWELS, r1) };
  const base = replaceFinalY(stripVerbEnding(stripPlural(stripPossessive(marked)), regions));
  const stem = stripFinalE(stripStep4(replaceStep3(replaceStep2(base, regions), regions), regions), regions);
  return stem.replaceAll("Y", "y");
}

/** A y is a consonant at the beginning and after a vowel; one that has become Y is no vowel to the next. */
function markConsonantY(word: string): string {
  return word.replace(/(^|[aeiouy])y/g, "$1Y");
}

/** Whether the word ends with a short syllable: consonant + vowel + consonant, or vowel + consonant at the beginning. */
function isShortSyllable(word: string): boolean {
  const last = word.length - 1;
  if (word.endsWith("past")) return true;
  if (!isOneOf(word, last - 1, VOWELS)) return false;
  if (isOtherThan(word, last, VOWELS_AND_WXY) && isOtherThan(word, last - 2, VOWELS)) return true;
  return last === 1 && isOtherThan(word, last, VOWELS);
}

function hasVowel(word: string): boolean {
  return /[aeiouy]/.test(word);
}

/** Step 0. */
function stripPossessive(word: string): string {
  if (word.endsWith("'s'")) return dropLast(word, 3);
  if (word.endsWith("'s")) return dropLast(word, 2);
  return word.endsWith("'") ? dropLast(word, 1) : word;
}

/** Step 1a. */
function stripPlural(word: string): string {
  const match = findSuffix(word, PLURALS);
  if (match === undefined || match.rule === "keep") return word;
  const { rule, rest } = match;
  if (rule === "sses") return `${rest}ss`;
  if (rule === "ie") return rest.length > 1 ? `${rest}i` : `${rest}ie`;
  return hasVowel(dropLast(rest, 1)) ? rest : word;
}

/** Step 1b. */
function stripVerbEnding(word: string, { r1 }: Regions): string {
  const match = findSuffix(word, VERBS);
  if (match === undefined) return word;
  const { rule, rest } = match;
  if (rule === "eed") return rest.length >= r1 && !KEEPS_EED.has(rest) ? `${rest}ee` : word;
  if (rule === "ing") {
    if (rest.length === 2 && rest.endsWith("y") && isOtherThan(rest, 0, VOWELS)) return `${rest.charAt(0)}ie`;
    if (KEEPS_ING.has(rest)) return word;
  }
  return hasVowel(rest) ? mendVerbStem(rest, r1) : word;
}

/** hop(ing) → hope, hopp(ing) → hop, luxuriat(ing) → luxuriate. */
function mendVerbStem(rest: string, r1: number): string {
  const rule = findSuffix(rest, VERB_STEMS)?.rule;
  if (rule === "addE") return `${rest}e`;
  if (rule === "double") return rest.length === 3 && isOneOf(rest, 0, "aeo") ? rest : dropLast(rest, 1);
  return rest.length === r1 && isShortSyllable(rest) ? `${rest}e` : rest;
}

/** Step 1c. */
function replaceFinalY(word: string): string {
  const last = word.length - 1;
  return last > 1 && isOneOf(word, last, "yY") && isOtherThan(word, last - 1, VOWELS) ? `${dropLast(word, 1)}i` : word;
}

function replaceStep2(word: string, { r1 }: Regions): string {
  const match = findSuffix(word, STEP_2);
  if (match === undefined || match.rest.length < r1) return word;
  const { suffix, rule, rest } = match;
  if (rule === "li") return isOneOf(rest, rest.length - 1, LETTERS_BEFORE_LI) ? rest : word;
  if (suffix === "ogi" && !rest.endsWith("l")) return word;
  return rest + rule;
}

function replaceStep3(word: string, { r1, r2 }: Regions): string {
  const match = findSuffix(word, STEP_3);
  if (match === undefined || match.rest.length < r1) return word;
  if (match.rule === "ative") return match.rest.length >= r2 ? match.rest : word;
  return match.rest + match.rule;
}

function stripStep4(word: string, { r2 }: Regions): string {
  const match = findSuffix(word, STEP_4);
  if (match === undefined || match.rest.length < r2) return word;
  if (match.rule === "ion" && !/[st]$/.test(match.rest)) return word;
  return match.rest;
}

/** Step 5. */
function stripFinalE(word: string, { r1, r2 }: Regions): string {
  const rest = dropLast(word, 1);
  if (word.endsWith("e")) return rest.length >= r2 || (rest.length >= r1 && !isShortSyllable(rest)) ? rest : word;
  return word.endsWith("ll") && rest.length >= r2 ? rest : word;
}
