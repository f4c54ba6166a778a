// Heads in a transcript: after which message each head is shown.
import { isHoldfastError } from "../contracts/errors.ts";
import type { Head } from "../contracts/heads.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { MessageAt } from "../contracts/lineage.ts";
import type { Locator } from "../contracts/locators.ts";
import { type HeadMark, marksOf } from "./head-marks.ts";
import type { Output } from "./output.ts";

/** A head in a transcript. */
export interface TranscriptHead extends Head {
  readonly marks: readonly HeadMark[];
  readonly current: boolean;
  /** The message before the head; null: the head is before the first message. */
  readonly after: string | null;
}

/** The position of an event. */
export interface EventPosition {
  readonly session: string;
  readonly seq: number;
}

/** The messages that are shown, the position they start after, and whether more messages follow. */
export interface ShownMessages {
  readonly messages: readonly MessageAt[];
  /** Heads before the first message are shown if they come after this position; "first": none of them is shown. */
  readonly startsAfter: EventPosition | "start" | "first";
  readonly isCut: boolean;
}

/** The heads between the shown messages, in order. If heads cannot be read, a note says so: damage must not hide messages. */
export async function findTranscriptHeads(
  holdfast: Holdfast,
  at: Locator,
  shown: ShownMessages,
  output: Output,
): Promise<readonly TranscriptHead[]> {
  if (shown.messages.length === 0) return [];
  try {
    const view = await holdfast.sessions.at(at);
    const heads = await view.heads();
    const names = new Set([...heads, ...shown.messages].map(({ session }) => session));
    const line = names.size > 1 ? await findAncestors(holdfast, at.session) : [at.session];
    return placeHeads(heads, shown, line).map(({ head, after }) => {
      return { ...head, marks: marksOf(head), current: head.id === view.session.head, after };
    });
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "StoreCorrupted") throw error;
    await output.note(`heads are not shown: ${error.message}; \`holdfast check\` prints more`);
    return [];
  }
}

/** The session and the ones that it was forked from, oldest first. The walk ends at an erased session. */
async function findAncestors(holdfast: Holdfast, session: string): Promise<readonly string[]> {
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

/** Both lists are in the order of the lineage, so one walk through both finds the message before each head. */
function placeHeads(
  heads: readonly Head[],
  { messages, startsAfter, isCut }: ShownMessages,
  line: readonly string[],
): readonly { readonly head: Head; readonly after: string | null }[] {
  const isBefore = (a: EventPosition, b: EventPosition) =>
    a.session === b.session ? a.seq < b.seq : line.indexOf(a.session) < line.indexOf(b.session);
  let passed = 0;
  return heads.flatMap((head) => {
    while (passed < messages.length && isBefore(messages[passed] as MessageAt, head)) passed++;
    const isShown = typeof startsAfter === "string" ? startsAfter === "start" : isBefore(startsAfter, head);
    if ((passed === 0 && !isShown) || (passed === messages.length && isCut)) return [];
    return [{ head, after: messages[passed - 1]?.id ?? null }];
  });
}
