// Messages a run adds to its session: appended once, at their place, whatever happens in between.
import { HoldfastError } from "../contracts/errors.ts";
import type { Message, MessageInput } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/payloads.ts";
import { appendCommit, appendedMessage, prepareMessage } from "../history/append.ts";
import { readyMessage } from "../history/content.ts";
import { readHistory } from "../history/read.ts";
import { refusedBefore, refuseStep } from "./refusals.ts";
import type { Asked, Steps } from "./steps.ts";
import type { Writer } from "./writer.ts";

export async function appendMessage(
  writer: Writer,
  payloads: Payloads,
  steps: Steps,
  leave: (error?: unknown) => Promise<never>,
  asked: Asked,
  message: MessageInput,
): Promise<Message> {
  const ready = readyMessage(message);
  const identity = steps.identify(asked);
  const found = await steps.recorded(identity);
  const { storage } = writer;
  const { session, agent, id } = writer.row;
  const refused = refusedBefore(identity, found, steps);
  if (refused !== null) throw refused;
  try {
    if (found?.status === "done") {
      const range = { after: `${session}#${found.seq - 1}`, limit: 1 };
      const [kept] = await readHistory(storage, payloads, { session }, range);
      if (kept?.seq === found.seq) return kept;
      // It was cleared since, as what a throwaway said is when it ends: what it said is at hand.
      const said = { session, agent, run: id, at: found.startedAt };
      return await payloads.preparing(async (prepare) =>
        appendedMessage(said, await prepareMessage(ready, prepare), found.seq),
      );
    }
    const attempt = (found?.attempt ?? 0) + 1;
    return await payloads.preparing(async (prepare) => {
      const prepared = await prepareMessage(ready, prepare);
      const scope = { session, agent, run: id, at: storage.environment.now() };
      const { events = [], sessions: _sessions, ...rest } = appendCommit(scope, [prepared]);
      const drafts = events.map((event) => ({
        ...event,
        data: { ...event.data, step: steps.said(identity, attempt) },
      }));
      const [written] = await writer.add(drafts, rest).catch((error: unknown) => {
        throw isOfKey(error) ? keyTaken(session, ready.key ?? "") : error;
      });
      return appendedMessage(scope, prepared, written?.seq ?? 0);
    });
  } catch (error) {
    return refuseStep({ writer, steps, leave }, identity, error, found);
  }
}

/** Refused as a guard; here nobody reads again what the key has, for the run says it once. */
function isOfKey(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "Conflict" && error.details.check === "message.key";
}

function keyTaken(session: string, key: string): HoldfastError {
  return new HoldfastError(
    "AlreadyExists",
    `${JSON.stringify(session)} has a message of the key ${JSON.stringify(key)}`,
    {
      details: { kind: "message", session, key },
      hint: "Leave the key out: a run says each of its messages once by itself.",
    },
  );
}
