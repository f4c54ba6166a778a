// Messages that a run adds to its session. Each is appended once, however often the iteration is replayed.
import { HoldfastError } from "../contracts/errors.ts";
import type { Message, MessageInput } from "../contracts/messages.ts";
import { rowId } from "../core/row-id.ts";
import { appendCommit, appendedMessage, prepareMessage, readyMessage } from "../history/append.ts";
import { readHistory } from "../history/read.ts";
import { noRow } from "../sessions/versioned-rows.ts";
import type { IterationHost } from "./iteration-host.ts";
import { refuseStep } from "./refusals.ts";
import type { StepRequest } from "./steps.ts";

/** `call`: the seq of the model call that wrote the message. */
export async function appendMessage(
  host: IterationHost,
  request: StepRequest,
  message: MessageInput,
  call: number | null,
): Promise<Message> {
  const { storage, payloads, writer, steps } = host;
  const ready = readyMessage(message);
  const identity = steps.identify(request);
  const { action, record } = await steps.decide(identity);
  const { session, agent, id } = writer.row;
  if (action === "reuse" && record.status === "failed") throw steps.failure(record);
  const written = call === null ? {} : { call: rowId(session, call) };
  try {
    if (action === "reuse") {
      const range = { after: `${session}#${record.seq - 1}`, limit: 1 };
      const [kept] = await readHistory(storage, payloads, { session }, range);
      if (kept?.seq === record.seq) return { ...kept, ...written };
      // The message was cleared since, like those of a throwaway run when it ends. The request has its content.
      const scope = { session, agent, run: id, at: record.startedAt };
      return await payloads.preparing(async (prepare) => ({
        ...appendedMessage(scope, await prepareMessage(ready, prepare), record.seq),
        ...written,
      }));
    }
    if (call !== null) await requireCall(host, call);
    const attempt = (record?.attempt ?? 0) + 1;
    return await payloads.preparing(async (prepare) => {
      const prepared = await prepareMessage(ready, prepare);
      const scope = { session, agent, run: id, at: storage.environment.now() };
      const { events = [], sessions: _sessions, ...rest } = appendCommit(scope, [prepared]);
      const drafts = events.map((event) => ({
        ...event,
        data: { ...(call === null ? {} : { call }), ...event.data, step: steps.describe(identity, attempt) },
      }));
      const [event] = await writer.add(drafts, rest).catch((error: unknown) => {
        throw isKeyConflict(error) ? keyExists(session, ready.key ?? "") : error;
      });
      return { ...appendedMessage(scope, prepared, event?.seq ?? 0), ...written };
    });
  } catch (error) {
    return refuseStep(host, identity, error, record);
  }
}

/** Checks that the call exists. Only calls of other iterations are looked up. */
async function requireCall({ storage, writer, steps }: IterationHost, seq: number): Promise<void> {
  const { session } = writer.row;
  const id = rowId(session, seq);
  if (steps.calls.has(id)) return;
  const [found] = await storage.query("call.get", { session, first: seq });
  if (found === undefined) throw noRow("call", id);
}

/**
 * Whether the guard of the message's key failed. The run cannot take over the existing message, because each of its own
 * is appended once.
 */
function isKeyConflict(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === "Conflict" && error.details.check === "message.key";
}

function keyExists(session: string, key: string): HoldfastError {
  return new HoldfastError(
    "AlreadyExists",
    `the session ${JSON.stringify(session)} has a message with the key ${JSON.stringify(key)} already`,
    {
      details: { kind: "message", session, key },
      hint: "Leave the key out: a run appends each of its messages once without it.",
    },
  );
}
