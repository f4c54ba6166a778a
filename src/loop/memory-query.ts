// The words by which a loop finds memories for its model: those of the run's input. A user does not write queries, so nothing of the
// input is read as a phrase, a filter or an exclusion.
import { LIMITS } from "../contracts/limits.ts";
import { type LoopInput, messagesOf } from "./input.ts";

/** Code units of the input, its last ones, that are searched for: what a user asks stands mostly at the end. */
const LENGTH_MAX = 1000;
/** Beside one letter of another script, nothing of this makes a word of two letters. */
const NO_LETTER = /[\p{M}\p{ASCII}’ʼ]+/gu;
const NOT_IN_WORDS = /[^\p{L}\p{N}\p{M}'’]+/gu;

/** "": the input has no word. */
export function memoryQueryOf(input: LoopInput): string {
  const texts = messagesOf(input).flatMap(({ content }) =>
    typeof content === "string" ? [content] : textsOf(content),
  );
  return withinLimits(texts.join(" ").slice(-LENGTH_MAX).replace(NOT_IN_WORDS, " ").trim());
}

/** A search takes a lone letter of a script without spaces as a prefix, and refuses many of them: the last ones are kept. */
function withinLimits(text: string): string {
  const letters = new Set<string>();
  const fromLast = text.split(" ").reverse();
  const kept = fromLast.filter((word) => {
    const letter = word.normalize("NFKC").replace(NO_LETTER, "");
    if ([...letter].length !== 1 || letters.has(letter)) return true;
    if (letters.size === LIMITS.searchPrefixes) return false;
    letters.add(letter);
    return true;
  });
  return kept.reverse().join(" ");
}

function textsOf(content: Exclude<ReturnType<typeof messagesOf>[number]["content"], string>): readonly string[] {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}
