// Messages a run adds to its session: appended once, at their place, whatever happens in between.
import { HoldfastError } from "../contracts/errors.ts";
import type { Message, MessageInput } from "../contracts/messages.ts";
import type { Payloads } from "../contracts/payloads.ts";
import { rowId } from "../core/row-id.ts";
import { appendCommit, appendedMessage, prepareMessage } from "../history/append.ts";
import { readyMessage } from "../history/content.ts";
import { readHistory } from "../history/read.ts";
import { noRow } from "../sessions/calls.ts";
import { type Refusing, refusedBefore, refuseStep } from "./refusals.ts";
import type { Asked, Steps } from "./steps.ts";
import type { Writer } from "./writer.ts";

interface Appends extends Refusing {
  readonly payloads: Payloads;
}

/** `call`: seq of the model call that wrote it. */
export async function appendMessage(
  appends: Appends,
  asked: Asked,
  message: MessageInput,
  call: number | null,
): Promise<Message> {
  const { writer, payloads, steps } = appends;
  const ready = readyMessage(message);
  const identity = steps.identify(asked);
  const found = await steps.recorded(identity);
  const { storage } = writer;
  const { session, agent, id } = writer.row;
  const refused = refusedBefore(identity, found, steps);
  if (refused !== null) throw refused;
  const written = call === null ? {} : { call: rowId(session, call) };
  try {
    if (call !== null && found?.status !== "done") await requireCall(writer, steps, call);
    if (found?.status === "done") {
      const range = { after: `${session}#${found.seq - 1}`, limit: 1 };
      const [kept] = await readHistory(storage, payloads, { session }, range);
      if (kept?.seq === found.seq) return { ...kept, ...written };
      // It was cleared since, as what a throwaway said is when it ends: what it said is at hand.
      const said = { session, agent, run: id, at: found.startedAt };
      return await payloads.preparing(async (prepare) => ({
        ...appendedMessage(said, await prepareMessage(ready, prepare), found.seq),
        ...written,
      }));
    }
    const attempt = (found?.attempt ?? 0) + 1;
    return await payloads.preparing(async (prepare) => {
      const prepared = await prepareMessage(ready, prepare);
      const scope = { session, agent, run: id, at: storage.environment.now() };
      const { events = [], sessions: _sessions, ...rest } = appendCommit(scope, [prepared]);
      const drafts = events.map((event) => ({
        ...event,
        data: { ...(call === null ? {} : { call }), ...event.data, step: steps.said(identity, attempt) },
      }));
      const [event] = await writer.add(drafts, rest).catch((error: unknown) => {
        throw isOfKey(error) ? keyTaken(session, ready.key ?? "") : error;
      });
      return { ...appendedMessage(scope, prepared, event?.seq ?? 0), ...written };
    });
  } catch (error) {
    return refuseStep(appends, identity, error, found);
  }
}

/** One that this iteration made is known here; any other is looked up. */
async function requireCall({ storage, row: { session } }: Writer, steps: Steps, seq: number): Promise<void> {
  const id = rowId(session, seq);
  if (steps.calls.has(id)) return;
  const [found] = await storage.query("call.get", session, seq);
  if (found === undefined) throw noRow("call", id);
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
