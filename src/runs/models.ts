// Model calls of a run: steps like others, recorded as calls of the session besides, with what they cost. Asked again where
// nobody knows whether they were answered.
import { HoldfastError } from "../contracts/errors.ts";
import type { Json } from "../contracts/json.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { RecordedReply } from "../contracts/replies.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Model, ModelReply } from "../contracts/runs.ts";
import type { RetryPolicy } from "../contracts/steps.ts";
import { decodeText } from "../core/bytes.ts";
import { checkRef } from "../core/check.ts";
import { addUsd } from "../core/money.ts";
import { rowId } from "../core/row-id.ts";
import { checkOutcome, newCall } from "../sessions/calls.ts";
import { preparePayloads } from "../sessions/payload-columns.ts";
import type { Also } from "./around.ts";
import { modelFailure } from "./model-errors.ts";
import type { Asked, Steps } from "./steps.ts";
import type { Tokens } from "./tokens.ts";

const PATIENT: RetryPolicy = { attempts: 4, backoffMs: 500 };

/** What the model calls of an iteration took, those of its replay included. */
export class Spending {
  #tokens = 0;
  #cost: number | null = null;

  add({ inputTokens = 0, outputTokens = 0, costUsd = null }: ModelReply): void {
    this.#tokens += inputTokens + outputTokens;
    if (costUsd !== null) this.#cost = addUsd(this.#cost ?? 0, costUsd);
  }

  /** Together with what the run had spent before. What is not known is not nothing. */
  after({ tokens, cost_usd }: RunRow): Pick<RunRow, "tokens" | "cost_usd"> {
    const cost = this.#cost === null ? cost_usd : addUsd(cost_usd ?? 0, this.#cost);
    return { cost_usd: cost, tokens: tokens + this.#tokens };
  }

  /** The columns it changes: none, as a rule of those that ask no model. */
  changes(row: RunRow): Partial<Pick<RunRow, "tokens" | "cost_usd">> {
    return this.#tokens === 0 && this.#cost === null ? {} : this.after(row);
  }
}

export interface Asking {
  readonly row: RunRow;
  readonly steps: Steps;
  readonly spending: Spending;
  readonly tokens: Tokens;
  /** Asked before the model is: a run that has spent what it may does not come back. */
  readonly before: () => Promise<void> | undefined;
}

/** `name`: of one of the agent's models; null: the model was given with the request. */
export async function askModel(
  asking: Asking,
  asked: Asked,
  name: string | null,
  model: Model,
): Promise<RecordedReply> {
  const { row, steps, spending, tokens, before } = asking;
  const about = { type: "leaf", model: model.model ?? name, provider: model.provider ?? null, turnSeq: null } as const;
  let end = 0;
  const also: Also = async (prepare, end, at) => {
    const outcome = checkOutcome("error" in end ? { error: { ...end.error } } : outcomeOf(end.value as never));
    const request = JSON.parse(decodeText(asked.input)) as Json;
    const fresh = await preparePayloads(prepare, { request, ...outcome.payloads });
    const { event, commit } = newCall(row.session, at, about, fresh as never, outcome);
    return { event: { ...event, run: row.id }, commit };
  };
  const perform = async (request: Json, call: Parameters<Model["call"]>[1]) =>
    checkReply(await model.call(request, call), name ?? model.model ?? "given");
  const reply = await steps.perform(
    ...([asked, model.retry ?? PATIENT, true] as const),
    (request, call) =>
      perform(request, {
        ...call,
        token: (text) => tokens.say({ run: row.id, path: call.path, text }),
        readBlob: (ref) => readBlob(steps.payloads, ref),
      }),
    {
      ...{ also, before, judge: modelFailure },
      ended: (seq) => {
        end = seq;
      },
    },
  );
  spending.add(reply as unknown as ModelReply);
  // The call follows the end of its step, in one commit: so it is known by its place, also in a replay.
  const call = rowId(row.session, end + 1);
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

/** Garbage is a failure like any other, to be tried again. */
function checkReply(reply: unknown, name: string): ModelReply {
  const given = (typeof reply === "object" && reply !== null ? reply : {}) as ModelReply;
  try {
    if (given.output === undefined) throw new HoldfastError("InvalidArgument", `the model ${name} gave no output`);
    checkOutcome(outcomeOf(given));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new HoldfastError("InvalidArgument", message, { retryable: true, cause: error });
  }
  return given;
}
