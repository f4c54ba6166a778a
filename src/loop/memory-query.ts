// The words by which a loop finds memories for its model: those of the run's input. A user does not write queries, so nothing of the
// input is read as a phrase, a filter or an exclusion.
import { type LoopInput, messagesOf } from "./input.ts";

/** Code units of the input, its last ones, that are searched for: what a user asks stands mostly at the end. */
const LENGTH_MAX = 1000;
const NOT_IN_WORDS = /[^\p{L}\p{N}\p{M}'’]+/gu;

/** "": the input has no word. */
export function memoryQueryOf(input: LoopInput): string {
  const texts = messagesOf(input).flatMap(({ content }) =>
    typeof content === "string" ? [content] : textsOf(content),
  );
  return texts.join(" ").slice(-LENGTH_MAX).replace(NOT_IN_WORDS, " ").trim();
}

function textsOf(content: Exclude<ReturnType<typeof messagesOf>[number]["content"], string>): readonly string[] {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : []));
}
