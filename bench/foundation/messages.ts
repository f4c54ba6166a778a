// The load of the append benches: distinct messages of about 500 bytes of ordinary text, and writers that append them.
import type { Holdfast } from "../../src/contracts/holdfast.ts";
import type { MessageInput } from "../../src/contracts/messages.ts";
import { ordinaryTranscript } from "../transcripts.ts";

export const AGENT = "bench";

export const TEXT_LENGTH = 500;

function prose(): string {
  const lines = Buffer.from(ordinaryTranscript(1_000_000)).toString("utf8").trim().split("\n");
  const text = lines.map((line): string => JSON.parse(line).message.content).join("\n");
  // One byte a letter, as most text is; through bytes, or the engine would go on keeping two.
  return Buffer.from(text.replace(/[^\n -ÿ]/g, "-"), "latin1").toString("latin1");
}

/** A source of messages no two of which are the same, for some 800,000 messages. Making one costs next to nothing. */
export function messageSource(): () => MessageInput {
  const text = prose();
  const places = text.length - TEXT_LENGTH;
  let made = 0;
  return () => {
    made++;
    // A step that shares no factor with the number of places comes by all of them.
    const at = (made * 7919) % places;
    return { role: made % 2 === 1 ? "user" : "assistant", content: text.slice(at, at + TEXT_LENGTH) };
  };
}

/** Gives a session that many messages, in big commits. */
export async function fill(hf: Holdfast, session: string, count: number, next: () => MessageInput): Promise<void> {
  for (let done = 0; done < count; ) {
    const batch = Array.from({ length: Math.min(5000, count - done) }, next);
    await hf.history.appendMany({ session, agent: AGENT }, batch);
    done += batch.length;
  }
}

/** Appends per second of that many writers, each on its own session and each waiting for its own acknowledgements. */
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
