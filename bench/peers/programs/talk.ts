// The code that the programs of the conversation bench share: the text of each turn, and the time that a turn took.
import { messageSource } from "../../foundation/messages.ts";

export interface TalkSetting {
  readonly turns: number;
}

export interface Talk {
  readonly textBytes: number;
  /** Milliseconds of each turn, in order. */
  readonly turnMs: readonly number[];
}

/** Each turn is a question and an answer of 500 letters each. */
export async function talk(turns: number, turn: (question: string, answer: string) => Promise<unknown>): Promise<Talk> {
  const next = messageSource();
  const turnMs: number[] = [];
  let textBytes = 0;
  for (let n = 0; n < turns; n++) {
    const question = String(next().content);
    const answer = String(next().content);
    textBytes += Buffer.byteLength(question) + Buffer.byteLength(answer);
    const start = performance.now();
    await turn(question, answer);
    turnMs.push(performance.now() - start);
  }
  return { textBytes, turnMs };
}

export function report(result: Talk): void {
  process.send?.(result, undefined, {}, () => process.disconnect());
}
