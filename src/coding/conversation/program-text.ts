// What Claude Code itself writes in the place of a prompt: the end of a background task, the echo of a command, a note that the
// user interrupted. Nobody asks for anything with it.
import type { Spoken } from "./spoken.ts";

const TAGS = [
  "task-notification",
  "command-name",
  "local-command-stdout",
  "local-command-stderr",
  "local-command-caveat",
  "bash-input",
  "bash-stdout",
  "bash-stderr",
];
const BEGINNING = new RegExp(
  `^\\s*(?:<(?:${TAGS.join("|")})>|\\[Request interrupted by user(?: for tool use)?\\]\\s*$)`,
);

export function isProgramText(content: Spoken["content"]): boolean {
  const [first] = content;
  return first?.type === "text" && BEGINNING.test(first.text);
}
