// What is shown of a head: its marks (aborted, compaction, final), and the head in one line.
import type { Head } from "../contracts/heads.ts";
import { shortHead } from "./locate.ts";
import type { Output } from "./output.ts";
import { fitLine, type Piece } from "./tree.ts";

export type HeadMark = "aborted" | "compaction" | "final";

export function marksOf({ status, compaction, finalRef }: Head): readonly HeadMark[] {
  const marks: readonly [HeadMark, boolean][] = [
    ["aborted", status === "aborted"],
    ["compaction", compaction !== null],
    ["final", finalRef !== null],
  ];
  return marks.flatMap(([mark, is]) => (is ? [mark] : []));
}

/** A head in one line, as `sessions tree` draws it. A terminal shows only the beginning of the id. */
export function headLine(head: Head, current: boolean, session: string, output: Output): string {
  const { bad, faint, good, name, strong } = output.style;
  const marks = marksOf(head);
  const words: Piece[] = [
    ...(current ? [{ text: " current", paint: good }] : []),
    ...marks.map((mark) => ({ text: ` ${mark}`, paint: mark === "aborted" ? bad : strong })),
  ];
  const pieces: Piece[] = [
    { text: head.status === "aborted" ? "○ " : "● ", paint: current ? good : faint },
    { text: output.interactive ? shortHead(head.id) : head.id, paint: name },
    // An inherited head is named with its own session.
    ...(head.session === session ? [] : [{ text: ` of ${head.session}`, paint: faint }]),
    ...words,
    ...(head.compaction === null ? [] : [{ text: `: replaces all up to ${head.compaction.upTo}` }]),
    ...(head.finalSummary === null
      ? []
      : [{ text: `${words.length > 0 || head.session !== session ? ":" : ""} ${head.finalSummary}` }]),
  ];
  return fitLine("", pieces, output.frame);
}
