// The French stemmer of Snowball, written from its description at https://snowballstem.org/algorithms/french/stemmer.html, as of
// Snowball 3. Words come in lower case. While the steps run, a u, i or y that is no vowel of its own is written in upper case, and
// ë and ï are written He and Hi, so that endings which begin with them are found.
import {
  afterVowel,
  createSuffixTable,
  dropLast,
  findSuffix,
  isOneOf,
  isOtherThan,
  regionStart,
  type SuffixMatch,
} from "./suffixes.ts";

const VOWELS = "aeiouyâàëéêèïîôûù";
const ELISION = /^(?:[cdjlmnstz]|qu)'(?=.)/su;
const MARKED = /([aeiouyâàëéêèïîôûù])([ui](?=[aeiouyâàëéêèïîôûù])|y)|ë|ï|y(?=[aeiouyâàëéêèïîôûù])|qu/g;
const UNMARKED: Readonly<Record<string, string>> = { I: "i", U: "u", Y: "y", He: "ë", Hi: "ï", H: "" };
/** RV begins after the third letter of these words: paris, colis, tapis, nierais. */
const RV_AFTER_THIRD = /^(?:par|col|tap|ni[aeiouyâàëéêèïîôûù])/;

const STANDARD = createSuffixTable({
  delete: "ance iqUe isme able iste eux ances iqUes ismes ables istes",
  ation: "atrice ateur ation atrices ateurs ations",
  log: "logie logies",
  u: "usion ution usions utions",
  ent: "ence ences",
  ement: "ement ements",
  ité: "ité ités",
  if: "if ive ifs ives",
  eau: "eaux",
  al: "aux",
  ou: "oux",
  euse: "euse euses",
  issement: "issement issements",
  amment: "amment",
  emment: "emment",
  ment: "ment ments",
});
const I_VERBS = createSuffixTable({
  delete: [
    "îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons iront is issaIent issais",
    "issait issant issante issantes issants isse issent isses issez issiez issions issons it",
  ].join(" "),
});
const VERBS = createSuffixTable({
  ions: "ions",
  delete: "é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons eront ez iez eais",
  a: "âmes ât âtes a ai aIent ait ant ante antes ants as asse assent asses assiez assions",
  ais: "ais aise aises",
});
const RESIDUES = createSuffixTable({ ion: "ion", i: "ier ière Ier Ière", e: "e" });

interface Regions {
  readonly rv: number;
  readonly r1: number;
  readonly r2: number;
}

/** What a step leaves, and whether it counts as done: a step can change the word and still let the next one try. */
interface StepResult {
  readonly word: string;
  readonly isDone: boolean;
}

export function stemFrench(word: string): string {
  const marked = markLetters(word.replace(ELISION, ""));
  const r1 = regionStart(marked, VOWELS, 0);
  const regions = { rv: findRv(marked), r1, r2: regionStart(marked, VOWELS, r1) };
  const base = restoreE(undouble(stripEndings(marked, regions)));
  return base.replace(/H[ei]?|[IUY]/g, (letters) => UNMARKED[letters] ?? letters);
}

function markLetters(word: string): string {
  return word.replace(MARKED, (found: string, before?: string, letter?: string) => {
    if (before !== undefined && letter !== undefined) return before + letter.toUpperCase();
    if (found === "ë") return "He";
    if (found === "ï") return "Hi";
    return found === "y" ? "Y" : "qU";
  });
}

function findRv(word: string): number {
  const startsWithTwoVowels = isOneOf(word, 0, VOWELS) && isOneOf(word, 1, VOWELS);
  if ((startsWithTwoVowels && word.length > 2) || RV_AFTER_THIRD.test(word)) return 3;
  return word.length === 0 ? 0 : afterVowel(word, VOWELS, 1);
}

/** Steps 1 to 4. */
function stripEndings(word: string, regions: Regions): string {
  let base: StepResult = { word, isDone: false };
  for (const step of [stripStandardSuffix, stripIVerb, stripVerb]) {
    base = step(base.word, regions);
    if (base.isDone) return base.word.replace(/Y$/, "i").replace(/ç$/, "c");
  }
  return stripResidue(base.word, regions);
}

function result(word: string | undefined, unchanged: string): StepResult {
  return { word: word ?? unchanged, isDone: word !== undefined };
}

/** Step 1. Adverbs become what they are made of, and the verb steps go on with that. */
function stripStandardSuffix(word: string, regions: Regions): StepResult {
  const match = findSuffix(word, STANDARD);
  if (match === undefined) return result(undefined, word);
  const { rule, rest } = match;
  const isInRv = rest.length >= regions.rv;
  if (rule === "amment") return { word: isInRv ? `${rest}ant` : word, isDone: false };
  if (rule === "emment") return { word: isInRv ? `${rest}ent` : word, isDone: false };
  if (rule === "ment") {
    const last = rest.length - 1;
    return { word: isOneOf(rest, last, VOWELS) && last >= regions.rv ? rest : word, isDone: false };
  }
  return result(replaceStandardSuffix(match, regions), word);
}

type StandardRule = typeof STANDARD extends { rules: ReadonlyMap<string, infer Rule> } ? Rule : never;

/** undefined: the suffix is not where it could be removed. */
function replaceStandardSuffix(match: SuffixMatch<StandardRule & string>, regions: Regions): string | undefined {
  const { rule, rest } = match;
  const { rv, r1, r2 } = regions;
  const isInR2 = rest.length >= r2;
  switch (rule) {
    case "delete":
      return isInR2 ? rest : undefined;
    case "log":
    case "u":
    case "ent":
      return isInR2 ? rest + rule : undefined;
    case "ation":
      return isInR2 ? stripOr(rest, "ic", "iqU", r2) : undefined;
    case "ement":
      return rest.length >= rv ? stripBeforeEment(rest, regions) : undefined;
    case "ité":
      return isInR2 ? stripBeforeIte(rest, r2) : undefined;
    case "if":
      return isInR2 ? stripBeforeIf(rest, r2) : undefined;
    case "eau":
      return `${rest}eau`;
    case "al":
      return rest.length >= r1 ? `${rest}al` : undefined;
    case "ou":
      return isOneOf(rest, rest.length - 1, "bhjlnp") ? `${rest}ou` : undefined;
    case "euse":
      if (isInR2) return rest;
      return rest.length >= r1 ? `${rest}eux` : undefined;
    case "issement":
      return rest.length >= r1 && isOtherThan(rest, rest.length - 1, VOWELS) ? rest : undefined;
    default:
      return undefined;
  }
}

/** Removes the suffix if it is in R2, and replaces it if it is elsewhere. */
function stripOr(word: string, suffix: string, replacement: string, r2: number): string {
  if (!word.endsWith(suffix)) return word;
  const rest = dropLast(word, suffix.length);
  return rest.length >= r2 ? rest : rest + replacement;
}

function stripInR2(word: string, suffix: string, r2: number): string {
  return word.endsWith(suffix) && word.length - suffix.length >= r2 ? dropLast(word, suffix.length) : word;
}

function stripBeforeEment(word: string, { rv, r1, r2 }: Regions): string {
  if (word.endsWith("iv")) {
    const rest = stripInR2(word, "iv", r2);
    return rest === word ? word : stripInR2(rest, "at", r2);
  }
  if (word.endsWith("eus")) return word.length - 3 >= r1 ? stripOr(word, "eus", "eux", r2) : word;
  if (/[iI]èr$/.test(word)) return word.length - 3 >= rv ? `${dropLast(word, 3)}i` : word;
  return stripInR2(stripInR2(word, "abl", r2), "iqU", r2);
}

function stripBeforeIte(word: string, r2: number): string {
  if (word.endsWith("abil")) return stripOr(word, "abil", "abl", r2);
  return word.endsWith("ic") ? stripOr(word, "ic", "iqU", r2) : stripInR2(word, "iv", r2);
}

function stripBeforeIf(word: string, r2: number): string {
  const rest = stripInR2(word, "at", r2);
  return rest === word ? word : stripOr(rest, "ic", "iqU", r2);
}

/** Step 2a: only after a consonant, which is in RV too. */
function stripIVerb(word: string, { rv }: Regions): StepResult {
  const rest = findSuffix(word, I_VERBS, rv)?.rest;
  if (rest === undefined || rest.length <= rv) return result(undefined, word);
  return result(isOtherThan(rest, rest.length - 1, `${VOWELS}H`) ? rest : undefined, word);
}

/** Step 2b. */
function stripVerb(word: string, { rv, r2 }: Regions): StepResult {
  const match = findSuffix(word, VERBS, rv);
  if (match === undefined) return result(undefined, word);
  const { rule, rest } = match;
  if (rule === "ions") return result(rest.length >= r2 ? rest : undefined, word);
  if (rule === "a") return result(rest.endsWith("e") && rest.length - 1 >= rv ? dropLast(rest, 1) : rest, word);
  return result(rule === "ais" && /(?:^.al|auv|épl)$/s.test(rest) ? undefined : rest, word);
}

/** Step 4. */
function stripResidue(word: string, { rv, r2 }: Regions): string {
  const base = word.replace(/(Hi|[^aiouès])s$/, "$1");
  const match = findSuffix(base, RESIDUES, rv);
  if (match === undefined) return base;
  const { rule, rest } = match;
  if (rule === "i") return `${rest}i`;
  if (rule === "e") return rest;
  return rest.length >= r2 && rest.length > rv && /[st]$/.test(rest) ? rest : base;
}

/** Step 5. */
function undouble(word: string): string {
  return /(?:enn|onn|ett|ell|eill)$/.test(word) ? dropLast(word, 1) : word;
}

/** Step 6: é and è before the last consonants lose their accent. */
function restoreE(word: string): string {
  return word.replace(/[éè](?=[^aeiouyâàëéêèïîôûù]+$)/, "e");
}
