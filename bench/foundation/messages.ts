// The load of the append benches: distinct messages of about 500 bytes of ordinary text, and writers that append them.
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { MessageInput } from "../../src/contracts/messages.ts";
import { ordinaryTranscript } from "../transcripts.ts";

export const AGENT = "bench";

export const TEXT_LENGTH = 500;

function prose(): string {
  const lines = Buffer.from(ordinaryTranscript(1_000_000)).toString("utf8").trim().split("\n");
  const text = lines.map((line): string => JSON.parse(line).message.content).join("\n");
  // One byte for each letter, as in most text. The conversion through bytes keeps V8 from using two bytes.
  return Buffer.from(text.replace(/[^\n -ÿ]/g, "-"), "latin1").toString("latin1");
}

/** A source of about 800,000 messages that all differ. Making one costs very little. */
export function messageSource(): () => MessageInput {
  const text = prose();
  const places = text.length - TEXT_LENGTH;
  let made = 0;
  return () => {
    made++;
    // A step without a common factor with the number of positions reaches all of them.
    const at = (made * 7919) % places;
    return { role: made % 2 === 1 ? "user" : "assistant", content: text.slice(at, at + TEXT_LENGTH) };
  };
}

/** Appends a number of messages to a session, in large commits. */
export async function fill(hf: Holdfast, session: string, count: number, next: () => MessageInput): Promise<void> {
  for (let done = 0; done < count; ) {
    const batch = Array.from({ length: Math.min(5000, count - done) }, next);
    await hf.history.appendMany({ session, agent: AGENT }, batch);
    done += batch.length;
  }
}

/** Appends per second of a number of writers, each on its own session and each waiting for its own acknowledgements. */
export async function writeAtOnce(
  hf: Holdfast,
  writers: number,
  forMs: number,
  next: () => MessageInput,
): Promise<number> {
  let acknowledged = 0;
  const start = performance.now();
  const deadline = start + forMs;
  const write = async (session: string) => {
    while (performance.now() < deadline) {
      await hf.history.append({ session, agent: AGENT }, next());
      acknowledged++;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, i) => write(`writer-${i}`)));
  return (acknowledged / (performance.now() - start)) * 1000;
}
