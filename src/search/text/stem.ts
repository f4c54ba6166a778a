// A word's stem, by the Snowball algorithm of its language: what "connects", "connected" and "connection" have in common. Each
// stemmer gives exactly what Snowball 3 gives; `npm run stems` compares them with Snowball's vocabularies.
import { TEXT_LANGUAGES, type TextLanguage } from "../../contracts/text-index.ts";
import { stemEnglish } from "./english.ts";
import { stemFrench } from "./french.ts";
import { stemGerman } from "./german.ts";
import { stemRussian } from "./russian.ts";
import { stemSpanish } from "./spanish.ts";

const STEMMERS = {
  english: stemEnglish,
  french: stemFrench,
  german: stemGerman,
  russian: stemRussian,
  spanish: stemSpanish,
  none: (word: string) => word,
} as const satisfies Readonly<Record<TextLanguage, (word: string) => string>>;

export { TEXT_LANGUAGES, type TextLanguage };

/** The word is in lower case and in NFC, with its accents: the stemmers tell "é" from "e". */
export function stem(word: string, language: TextLanguage): string {
  return STEMMERS[language](word);
}
