// Cuts a long text into passages of about 75 words, so that a hit says where in it the answer stands, and a long message does not
// win by its length. A passage ends where a paragraph, a line or a sentence ends, if one does within 60 to 90 words. Every language cuts
// a text in the same places: what was made of a passage, such as its embedding, stays right when the index gets another language.
import { isApostrophe, kindAt, UNSPACED } from "./characters.ts";
import { isContraction, type Token } from "./tokenise.ts";

export interface Passage {
  /** UTF-16 offsets into the text. Each passage begins where the one before it ends; together they are the whole text. */
  readonly start: number;
  readonly end: number;
  /** Positions of its words: `from` and those after it, before `to`. */
  readonly from: number;
  readonly to: number;
}

/** A text of so many words is one passage. */
const WHOLE_TEXT_WORDS_MAX = 100;
const WORDS_MIN = 60;
const WORDS_GOAL = 75;
const WORDS_MAX = 90;

/** How good a gap between two words is for a cut. Being a word away from the goal costs 1. */
const PARAGRAPH = 60;
const LINE = 30;
const SENTENCE = 25;
const NOTHING = 0;

/** The tokens are those of the text, in any language. A text without words is one passage. */
export function cutPassages(text: string, tokens: readonly Token[]): Passage[] {
  const words = joinWords(text, tokens);
  const passages: Passage[] = [];
  let first = 0;
  let start = 0;
  while (words.length - first > WHOLE_TEXT_WORDS_MAX) {
    const cut = findCut(text, words, first);
    passages.push({ start, end: cut.offset, from: position(words, first), to: position(words, cut.word) });
    first = cut.word;
    start = cut.offset;
  }
  const to = (tokens.at(-1)?.position ?? -1) + 1;
  passages.push({ start, end: text.length, from: first === 0 ? 0 : position(words, first), to });
  return passages;
}

/** A word as passages count it. */
interface CountedWord {
  readonly start: number;
  end: number;
  /** Of its first token. */
  readonly position: number;
}

/** "Don't" is one word of English and two of other languages: here it is one of all. */
function joinWords(text: string, tokens: readonly Token[]): readonly CountedWord[] {
  const words: CountedWord[] = [];
  let last: CountedWord | undefined;
  let lastPosition = -1;
  for (const { start, end, position } of tokens) {
    if (position === lastPosition) continue;
    lastPosition = position;
    if (last !== undefined && start === last.end + 1 && isContractedWith(text, last, start)) {
      last.end = end;
      continue;
    }
    last = { start, end, position };
    words.push(last);
  }
  return words;
}

function isContractedWith(text: string, { start, end }: CountedWord, next: number): boolean {
  if (!isApostrophe(text, end) || !isContraction(text, next) || kindAt(text, start) === UNSPACED) return false;
  // English joins one such ending to a word, and not a second one.
  for (let at = start; at < end; at++) if (isApostrophe(text, at)) return false;
  return true;
}

function position(words: readonly CountedWord[], index: number): number {
  return words[index]?.position ?? 0;
}

interface Cut {
  /** The first word after it. */
  readonly word: number;
  readonly offset: number;
}

/** What is left after the cut is either long enough or, if that cannot be, half of what there is. */
function findCut(text: string, words: readonly CountedWord[], first: number): Cut {
  const left = words.length - first;
  const goal = left < WORDS_MIN + WORDS_GOAL ? Math.ceil(left / 2) : WORDS_GOAL;
  const min = left < 2 * WORDS_MIN ? goal - 8 : WORDS_MIN;
  const max = Math.min(WORDS_MAX, left - min);
  let best: Cut = { word: first + goal, offset: words[first + goal]?.start ?? text.length };
  let bestScore = Number.NEGATIVE_INFINITY;
  for (let count = min; count <= max; count++) {
    const gap = readGap(text, words, first + count);
    const score = gap.score - Math.abs(count - goal);
    if (score > bestScore) {
      best = { word: first + count, offset: gap.offset };
      bestScore = score;
    }
  }
  return best;
}

interface Gap {
  readonly score: number;
  /** Where the text would be cut. */
  readonly offset: number;
}

/** Looks at what stands between a word and the one before it. */
function readGap(text: string, words: readonly CountedWord[], index: number): Gap {
  const start = words[index - 1]?.end ?? 0;
  const end = words[index]?.start ?? text.length;
  let lines = 0;
  let offset = end;
  let sentenceEnd: number | undefined;
  let isAfterMark = false;
  for (let at = start; at < end; at++) {
    const character = text.charAt(at);
    if (character === "\n") {
      lines += 1;
      offset = at + 1;
    } else if (/\s/.test(character)) {
      if (isAfterMark) sentenceEnd = at + 1;
    } else {
      // What closes a quotation or a bracket belongs to the sentence that it ends.
      isAfterMark = /[.!?…]/.test(character) || (isAfterMark && /["'”’»)\]]/.test(character));
      if (/[。！？]/.test(character)) sentenceEnd = at + 1;
    }
  }
  if (lines > 0) return { score: lines > 1 ? PARAGRAPH : LINE, offset };
  if (sentenceEnd !== undefined && !/\p{Ll}/u.test(text.charAt(end))) return { score: SENTENCE, offset: sentenceEnd };
  return { score: NOTHING, offset: end };
}
