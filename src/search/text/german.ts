// The German stemmer of Snowball, written from its description at https://snowballstem.org/algorithms/german/stemmer.html, as of
// Snowball 3: "ae" counts as "ä". Words come in lower case; a u or y between vowels is written U or Y while the steps run.
import { createSuffixTable, dropLast, findSuffix, isOneOf, regionStart } from "./suffixes.ts";

const VOWELS = "aeiouyäöü";
const LETTERS_BEFORE_S = "bdfghklmnrt";
const LETTERS_BEFORE_ST = "bdfghklmnt";
const LETTERS_BEFORE_ET = "dfgklmnrstUzä";

const MARKED_VOWELS = /([aeiouyäöü])([uy])(?=[aeiouyäöü])/g;
const SPELLINGS = /ß|ae|oe|ue|qu/g;
const SPELLED: Readonly<Record<string, string>> = { ß: "ss", ae: "ä", oe: "ö", ue: "ü" };
const PLAIN: Readonly<Record<string, string>> = { Y: "y", U: "u", ä: "a", ö: "o", ü: "u" };

const STEP_1 = createSuffixTable({ em: "em", delete: "ern er erin erinnen", e: "e en es", s: "s", l: "ln lns" });
const STEP_2 = createSuffixTable({ delete: "en er est", st: "st", et: "et" });
const STEP_3 = createSuffixTable({ end: "end ung", ig: "ig ik isch", lich: "lich heit", keit: "keit" });
/** Words in which "et" is no ending, or another word's: Internet, Planet, Ticket. */
const KEEPS_ET = /(?:geordn|intern|plan|tick|tr)$/;

interface Regions {
  readonly r1: number;
  readonly r2: number;
}

export function stemGerman(word: string): string {
  const marked = word
    .replace(MARKED_VOWELS, (_, before: string, vowel: string) => before + vowel.toUpperCase())
    .replace(SPELLINGS, (spelling) => SPELLED[spelling] ?? spelling);
  const regions = findRegions(marked);
  const inflected = stripStep2(stripStep1(marked, regions), regions);
  return stripApostrophe(stripStep3(inflected, regions)).replace(/[YUäöü]/g, (letter) => PLAIN[letter] ?? letter);
}

/** R1 has at least three letters before it. A word of fewer letters has no regions. */
function findRegions(word: string): Regions {
  if (word.length < 3) return { r1: word.length, r2: word.length };
  const r1 = regionStart(word, VOWELS, 0);
  return { r1: Math.max(r1, 3), r2: regionStart(word, VOWELS, r1) };
}

function stripStep1(word: string, { r1 }: Regions): string {
  const match = findSuffix(word, STEP_1);
  if (match === undefined || match.rest.length < r1) return word;
  const { rule, rest } = match;
  if (rule === "em") return rest.endsWith("syst") ? word : rest;
  if (rule === "e") return rest.endsWith("niss") ? dropLast(rest, 1) : rest;
  if (rule === "s") return isOneOf(rest, rest.length - 1, LETTERS_BEFORE_S) ? rest : word;
  return rule === "l" ? `${rest}l` : rest;
}

function stripStep2(word: string, { r1 }: Regions): string {
  const match = findSuffix(word, STEP_2);
  if (match === undefined || match.rest.length < r1) return word;
  const { rule, rest } = match;
  const last = rest.length - 1;
  if (rule === "st") return rest.length > 3 && isOneOf(rest, last, LETTERS_BEFORE_ST) ? rest : word;
  if (rule === "et") return isOneOf(rest, last, LETTERS_BEFORE_ET) && !KEEPS_ET.test(rest) ? rest : word;
  return rest;
}

/** Suffixes that make another word: Zeitung, freundlich, Einsamkeit. */
function stripStep3(word: string, { r1, r2 }: Regions): string {
  const match = findSuffix(word, STEP_3);
  if (match === undefined || match.rest.length < r2) return word;
  const { rule, rest } = match;
  const shorter = dropLast(rest, 2);
  switch (rule) {
    case "end":
      return rest.endsWith("ig") && !rest.endsWith("eig") && shorter.length >= r2 ? shorter : rest;
    case "ig":
      return rest.endsWith("e") ? word : rest;
    case "lich":
      return /(?:er|en)$/.test(rest) && shorter.length >= r1 ? shorter : rest;
    case "keit": {
      const inner = /(?:lich|ig)$/.exec(rest)?.[0] ?? "";
      return rest.length - inner.length >= r2 ? dropLast(rest, inner.length) : rest;
    }
  }
}

/** Step 4: Andrea's, Einstein'sche. At least two characters stay. */
function stripApostrophe(word: string): string {
  const suffix = /'(?:s|sch)?$/.exec(word)?.[0] ?? "";
  return word.length - suffix.length >= 2 ? dropLast(word, suffix.length) : word;
}
