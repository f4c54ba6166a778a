// Heads among messages: what is special about one, in a word, and where each stands in a transcript.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { MessageAt } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import { shortHead } from "./locate.ts";
import type { Output } from "./output.ts";
import { fitted, type Piece } from "./tree.ts";

export type Mark = "aborted" | "compaction" | "final";

export function marksOf({ status, compaction, finalRef }: Head): readonly Mark[] {
  const marks: readonly [Mark, boolean][] = [
    ["aborted", status === "aborted"],
    ["compaction", compaction !== null],
    ["final", finalRef !== null],
  ];
  return marks.flatMap(([mark, is]) => (is ? [mark] : []));
}

/** A head in a transcript. */
export interface HeadAmong extends Head {
  readonly marks: readonly Mark[];
  readonly current: boolean;
  /** The message shown before it; null when it stands before the first of them. */
  readonly after: string | null;
}

/** A place in the log of a session. */
export interface Place {
  readonly session: string;
  readonly seq: number;
}

/** Which messages are shown: behind what, and whether more of them follow. */
export interface Stretch {
  readonly messages: readonly MessageAt[];
  /** Heads before the first message are shown when they are behind this; "there": none, messages before it are not shown. */
  readonly behind: Place | "start" | "there";
  readonly cut: boolean;
}

/** The heads that stand among the messages shown, in order. What cannot be read is noted: it must not hide messages. */
export async function headsAmong(
  holdfast: Holdfast,
  at: Locator,
  stretch: Stretch,
  output: Output,
): Promise<readonly HeadAmong[]> {
  if (stretch.messages.length === 0) return [];
  try {
    const view = await holdfast.sessions.at(at);
    const heads = await view.heads();
    const names = new Set([...heads, ...stretch.messages].map(({ session }) => session));
    const line = names.size > 1 ? await lineOf(holdfast, at.session) : [at.session];
    return placed(heads, stretch, line).map(({ head, after }) => {
      return { ...head, marks: marksOf(head), current: head.id === view.session.head, after };
    });
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "StoreCorrupted") throw error;
    await output.note(`heads are not shown: ${error.message}; \`holdfast check\` tells more`);
    return [];
  }
}

/** The sessions whose logs lead here, oldest first. One that was erased ends the walk: of what is older nothing is asked. */
async function lineOf(holdfast: Holdfast, session: string): Promise<readonly string[]> {
  const line: string[] = [];
  for (let next: string | undefined = session; next !== undefined && !line.includes(next); ) {
    line.unshift(next);
    const name: string = next;
    if ((await holdfast.sessions.get({ session: name })) === null) break;
    const { sessions } = await holdfast.sessions.tree({ session: name }, { limit: 1 });
    next = sessions.find(({ id }) => id === name)?.from?.session;
  }
  return line;
}

/** Both lists are in the order of the line, so one walk through both finds the places. */
function placed(
  heads: readonly Head[],
  { messages, behind, cut }: Stretch,
  line: readonly string[],
): readonly { readonly head: Head; readonly after: string | null }[] {
  const isBefore = (a: Place, b: Place) =>
    a.session === b.session ? a.seq < b.seq : line.indexOf(a.session) < line.indexOf(b.session);
  let passed = 0;
  return heads.flatMap((head) => {
    while (passed < messages.length && isBefore(messages[passed] as MessageAt, head)) passed++;
    const isBehind = typeof behind === "string" ? behind === "start" : isBefore(behind, head);
    if ((passed === 0 && !isBehind) || (passed === messages.length && cut)) return [];
    return [{ head, after: messages[passed - 1]?.id ?? null }];
  });
}

/** In one line: as `sessions tree` draws it. On a terminal the beginning of an id is enough. */
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
    // One that is inherited is reached through its own session.
    ...(head.session === session ? [] : [{ text: ` of ${head.session}`, paint: faint }]),
    ...words,
    ...(head.compaction === null ? [] : [{ text: `: stands for all up to ${head.compaction.upTo}` }]),
    ...(head.finalSummary === null
      ? []
      : [{ text: `${words.length > 0 || head.session !== session ? ":" : ""} ${head.finalSummary}` }]),
  ];
  return fitted("", pieces, output.frame);
}
