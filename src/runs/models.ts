// Model calls of a run: steps that are also recorded as calls of the session, with their cost. A call with an unknown
// outcome is made again.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Model, ModelReply, RecordedReply } from "../contracts/models.ts";
import type { RetryPolicy, StepCall } from "../contracts/steps.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import { decodeText } from "../core/bytes.ts";
import { checkRef } from "../core/check.ts";
import { rowId } from "../core/row-id.ts";
import { checkOutcome, newCall } from "../sessions/calls.ts";
import { preparePayloads } from "../sessions/payload-columns.ts";
import type { IterationHost } from "./iteration-host.ts";
import { modelFailure } from "./model-errors.ts";
import type { RecordAlongside, StepRequest } from "./steps.ts";

const PATIENT: RetryPolicy = { attempts: 4, backoffMs: 500 };

/** `name`: the name of one of the agent's models; null if the request contains the model. */
export async function askModel(
  host: IterationHost,
  step: StepRequest,
  name: string | null,
  model: Model,
): Promise<RecordedReply> {
  const { payloads, writer, steps, spending, tokens } = host;
  const { id, session } = writer.row;
  const about = { type: "leaf", model: model.model ?? name, provider: model.provider ?? null, turnSeq: null } as const;
  let resultSeq = 0;
  const alongside: RecordAlongside = async (prepare, end, at) => {
    const outcome = checkOutcome("error" in end ? { error: { ...end.error } } : outcomeOf(end.value as never));
    const request = JSON.parse(decodeText(step.input)) as Json;
    const fresh = await preparePayloads(prepare, { request, ...outcome.payloads });
    const { event, commit } = newCall(session, at, about, fresh as never, outcome);
    return { event: { ...event, run: id }, commit };
  };
  const perform = async (request: Json, call: Parameters<Model["call"]>[1]) =>
    checkReply(await model.call(request, call), name ?? model.model ?? "given");
  const execute = (request: Json, call: StepCall) =>
    perform(request, {
      ...call,
      token: (text) => tokens.say({ run: id, path: call.path, text }),
      readBlob: (ref) => readBlob(payloads, ref),
    });
  const reply = await steps.perform(
    step,
    { retry: model.retry ?? PATIENT, mayRepeat: true, execute },
    {
      alongside,
      judge: modelFailure,
      // A run that has reached a limit ends before the model call.
      before: host.leaveAtLimit,
      onResult: (seq) => {
        resultSeq = seq;
      },
    },
  );
  spending.add(reply as unknown as ModelReply);
  // The event of the call directly follows the end of its step in the same commit, so its id is known, also in a
  // replay.
  const call = rowId(session, resultSeq + 1);
  steps.calls.add(call);
  return { ...(reply as unknown as ModelReply), call };
}

async function readBlob(payloads: Payloads, ref: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of payloads.stream(checkRef(ref, "ref"))) pieces.push(piece);
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}

function outcomeOf({ output, inputTokens, outputTokens, cachedTokens, costUsd }: ModelReply) {
  const tokens = { inputTokens, outputTokens, cachedTokens, costUsd };
  const known = Object.fromEntries(Object.entries(tokens).filter(([, value]) => value !== undefined));
  return { response: output, ...known };
}

/** A malformed reply is a failure like any other, so it is retried. */
function checkReply(reply: unknown, name: string): ModelReply {
  const given = (typeof reply === "object" && reply !== null ? reply : {}) as ModelReply;
  try {
    if (given.output === undefined) throw new HoldfastError("InvalidArgument", `the model ${name} returned no output`);
    checkOutcome(outcomeOf(given));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new HoldfastError("InvalidArgument", message, { retryable: true, cause: error });
  }
  return given;
}
