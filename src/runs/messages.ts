// Messages a run adds to its session: appended once, at their place, whatever happens in between.
import type { Message, MessageInput } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/payloads.ts";
import { appendCommit, appendedMessage, prepareMessage } from "../history/append.ts";
import { readyMessage } from "../history/content.ts";
import { readHistory } from "../history/read.ts";
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
  try {
    if (found !== undefined) {
      const [kept] = await readHistory(
        storage,
        payloads,
        { session },
        { after: `${session}#${found.seq - 1}`, limit: 1 },
      );
      if (kept === undefined || kept.seq !== found.seq) throw new Error("bug: a message of a run is gone");
      return kept;
    }
    return await payloads.preparing(async (prepare) => {
      const prepared = await prepareMessage(ready, prepare);
      const scope = { session, agent, run: id, at: storage.environment.now() };
      const { events = [], sessions: _sessions, ...rest } = appendCommit(scope, [prepared]);
      const drafts = events.map((event) => ({ ...event, data: { ...event.data, step: steps.said(identity, 1) } }));
      const [written] = await writer.add(drafts, rest);
      return appendedMessage(scope, prepared, written?.seq ?? 0);
    });
  } catch (error) {
    return leave(error);
  }
}
