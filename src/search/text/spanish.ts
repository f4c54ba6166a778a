// The Spanish stemmer of Snowball, written from its description at https://snowballstem.org/algorithms/spanish/stemmer.html, as of
// Snowball 3. Words come in lower case.
import {
  afterConsonant,
  afterVowel,
  createSuffixTable,
  dropLast,
  findSuffix,
  isOneOf,
  regionStart,
} from "./suffixes.ts";

const VOWELS = "aeiouáéíóúü";
const PLAIN: Readonly<Record<string, string>> = { á: "a", é: "e", í: "i", ó: "o", ú: "u" };

const PRONOUNS = createSuffixTable({ delete: "me se sela selo selas selos la le lo las les los nos" });
const BEFORE_PRONOUN = createSuffixTable({
  accented: "iéndo ándo ár ér ír",
  plain: "ando iendo ar er ir",
  yendo: "yendo",
});
const STANDARD = createSuffixTable({
  delete:
    "anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas oso osa osos osas amiento amientos imiento imientos",
  ador: "adora ador ación adoras adores aciones ante antes ancia ancias acion",
  log: "logía logías",
  u: "ución uciones ucion",
  ente: "encia encias",
  amente: "amente",
  mente: "mente",
  idad: "idad idades",
  ivo: "iva ivo ivas ivos",
});
const Y_VERBS = createSuffixTable({ delete: "ya ye yan yen yeron yendo yo yó yas yes yais yamos" });
const VERBS = createSuffixTable({
  gu: "en es éis emos",
  delete: [
    "arían arías arán arás aríais aría aréis aríamos aremos ará aré erían erías erán erás eríais ería eréis eríamos",
    "eremos erá eré irían irías irán irás iríais iría iréis iríamos iremos irá iré aba ada ida ía ara iera ad ed id ase",
    "iese aste iste an aban ían aran ieran asen iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías",
    "aras ieras ases ieses ís áis abais íais arais ierais aseis ieseis asteis isteis ados idos amos ábamos íamos imos",
    "áramos iéramos iésemos ásemos",
  ].join(" "),
});
const RESIDUES = createSuffixTable({ delete: "os a o á í ó", e: "e é" });

interface Regions {
  readonly rv: number;
  readonly r1: number;
  readonly r2: number;
}

export function stemSpanish(word: string): string {
  const r1 = regionStart(word, VOWELS, 0);
  const regions = { rv: findRv(word), r1, r2: regionStart(word, VOWELS, r1) };
  const base = stripPronoun(word, regions);
  const inflected = stripStandardSuffix(base, regions) ?? stripYVerb(base, regions) ?? stripVerb(base, regions) ?? base;
  return stripResidue(inflected, regions).replace(/[áéíóú]/g, (letter) => PLAIN[letter] ?? letter);
}

function findRv(word: string): number {
  const isVowel = (index: number) => isOneOf(word, index, VOWELS);
  if (word.length < 2) return word.length;
  if (!isVowel(1)) return afterVowel(word, VOWELS, 2);
  return isVowel(0) ? afterConsonant(word, VOWELS, 2) : Math.min(3, word.length);
}

/** Step 0: diciéndoselo → diciendo. */
function stripPronoun(word: string, { rv }: Regions): string {
  const rest = findSuffix(word, PRONOUNS)?.rest;
  const verb = rest === undefined ? undefined : findSuffix(rest, BEFORE_PRONOUN);
  if (rest === undefined || verb === undefined || verb.rest.length < rv) return word;
  if (verb.rule === "accented") return verb.rest + verb.suffix.replace(/[áéí]/, (letter) => PLAIN[letter] ?? letter);
  return verb.rule === "plain" || verb.rest.endsWith("u") ? rest : word;
}

/** Step 1. undefined: the word has no such suffix where it could be removed. */
function stripStandardSuffix(word: string, { r1, r2 }: Regions): string | undefined {
  const match = findSuffix(word, STANDARD);
  if (match === undefined || match.rest.length < (match.rule === "amente" ? r1 : r2)) return undefined;
  const { rule, rest } = match;
  switch (rule) {
    case "delete":
      return rest;
    case "log":
    case "u":
    case "ente":
      return rest + rule;
    case "ador":
      return stripInner(rest, /ic$/, r2);
    case "amente":
      return /iv$/.test(rest) ? stripAfterIv(rest, r2) : stripInner(rest, /(?:os|ic|ad)$/, r2);
    case "mente":
      return stripInner(rest, /(?:ante|able|ible)$/, r2);
    case "idad":
      return stripInner(rest, /(?:abil|ic|iv)$/, r2);
    case "ivo":
      return stripInner(rest, /at$/, r2);
  }
}

/** Removes what the pattern finds at the word's end if it begins in the region. */
function stripInner(word: string, pattern: RegExp, from: number): string {
  const suffix = pattern.exec(word)?.[0] ?? "";
  return word.length - suffix.length >= from ? dropLast(word, suffix.length) : word;
}

function stripAfterIv(word: string, r2: number): string {
  const rest = stripInner(word, /iv$/, r2);
  return rest === word ? word : stripInner(rest, /at$/, r2);
}

/** Step 2a: the u before the suffix need not be in RV. */
function stripYVerb(word: string, { rv }: Regions): string | undefined {
  const rest = findSuffix(word, Y_VERBS, rv)?.rest;
  return rest?.endsWith("u") ? rest : undefined;
}

/** Step 2b. */
function stripVerb(word: string, { rv }: Regions): string | undefined {
  const match = findSuffix(word, VERBS, rv);
  if (match === undefined) return undefined;
  return match.rule === "gu" && match.rest.endsWith("gu") ? dropLast(match.rest, 1) : match.rest;
}

/** Step 3. */
function stripResidue(word: string, { rv }: Regions): string {
  const match = findSuffix(word, RESIDUES);
  if (match === undefined || match.rest.length < rv) return word;
  const { rule, rest } = match;
  return rule === "e" && rest.endsWith("gu") && rest.length - 1 >= rv ? dropLast(rest, 1) : rest;
}
