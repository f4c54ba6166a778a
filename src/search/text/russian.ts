// The Russian stemmer of Snowball, written from its description at https://snowballstem.org/algorithms/russian/stemmer.html.
// Words come in lower case. Every suffix, and each letter that must stand before one, lies in RV, the part after the first vowel.
import { afterConsonant, afterVowel, createSuffixTable, dropLast, findSuffix, regionStart } from "./suffixes.ts";

const VOWELS = "аеиоуыэюя";

/** `afterA`: only after а or я. */
const GERUNDS = createSuffixTable({ afterA: "в вши вшись", delete: "ив ивши ившись ыв ывши ывшись" });
const ADJECTIVES = createSuffixTable({
  delete: "ее ие ые ое ими ыми ей ий ый ой ем им ым ом его ого ему ому их ых ую юю ая яя ою ею",
});
const PARTICIPLES = createSuffixTable({ afterA: "ем нн вш ющ щ", delete: "ивш ывш ующ" });
const VERBS = createSuffixTable({
  afterA: "ла на ете йте ли й л ем н ло но ет ют ны ть ешь нно",
  delete: "ила ыла ена ейте уйте ите или ыли ей уй ил ыл им ым ен ило ыло ено ят ует уют ит ыт ены ить ыть ишь ую ю",
});
const NOUNS = createSuffixTable({
  delete: "а ев ов ие ье е иями ями ами еи ии и ией ей ой ий й иям ям ием ем ам ом о у ах иях ях ы ь ию ью ю ия ья я",
});

type EndingTable = ReturnType<typeof createSuffixTable<"afterA" | "delete">>;

export function stemRussian(word: string): string {
  const plain = word.replaceAll("ё", "е");
  const rv = afterVowel(plain, VOWELS, 0);
  const r2 = regionStart(plain, VOWELS, afterConsonant(plain, VOWELS, rv));
  const inflected = stripInflection(plain, rv);
  const base = inflected.endsWith("и") && inflected.length > rv ? dropLast(inflected, 1) : inflected;
  return stripRest(stripDerivation(base, Math.max(rv, r2)), rv);
}

/** Step 1: a perfective gerund, or else a reflexive ending and then an ending of an adjective, a verb or a noun. */
function stripInflection(word: string, rv: number): string {
  const gerund = stripEnding(word, GERUNDS, rv);
  if (gerund !== undefined) return gerund;
  const isReflexive = /(?:ся|сь)$/.test(word) && word.length - 2 >= rv;
  const base = isReflexive ? dropLast(word, 2) : word;
  const adjective = findSuffix(base, ADJECTIVES, rv)?.rest;
  if (adjective !== undefined) return stripEnding(adjective, PARTICIPLES, rv) ?? adjective;
  return stripEnding(base, VERBS, rv) ?? findSuffix(base, NOUNS, rv)?.rest ?? base;
}

/** undefined: the word has none of these endings. Only the longest that fits is tried. */
function stripEnding(word: string, table: EndingTable, rv: number): string | undefined {
  const match = findSuffix(word, table, rv);
  if (match === undefined) return undefined;
  if (match.rule === "delete") return match.rest;
  return /[ая]$/.test(match.rest) && match.rest.length > rv ? match.rest : undefined;
}

/** Step 3. */
function stripDerivation(word: string, from: number): string {
  const suffix = /ость?$/.exec(word)?.[0] ?? "";
  return word.length - suffix.length >= from ? dropLast(word, suffix.length) : word;
}

/** Step 4: a superlative ending, one of two н, or a soft sign. */
function stripRest(word: string, rv: number): string {
  const ending = /(?:ейше?|ь)$/.exec(word)?.[0] ?? "";
  const isInRegion = word.length - ending.length >= rv;
  if (ending === "ь") return isInRegion ? dropLast(word, 1) : word;
  const base = isInRegion ? dropLast(word, ending.length) : word;
  return base.endsWith("нн") && base.length - 2 >= rv ? dropLast(base, 1) : base;
}
