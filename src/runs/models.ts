// Model calls of a run: recorded as calls of its session, with what they cost; asked again where nobody knows whether they
// were answered.
import type { Payloads } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { Model, ModelReply, RetryPolicy } from "../contracts/runs.ts";
import type { Storage } from "../contracts/storage.ts";
import type { Asked, Steps } from "./steps.ts";
import type { Writer } from "./writer.ts";

const PATIENT: RetryPolicy = { attempts: 4, backoffMs: 500 };

export interface Asking {
  readonly writer: Writer;
  readonly payloads: Payloads;
  readonly steps: Steps;
  readonly leave: (error?: unknown) => Promise<never>;
  readonly signal: AbortSignal;
  readonly token: (run: string, path: string, text: string) => void;
}

export async function askModel({ writer, steps, token }: Asking, asked: Asked, _name: string, model: Model): Promise<ModelReply> {
  const { id } = writer.row;
  const reply = await steps.perform(asked, model.retry ?? PATIENT, true, (request, call) =>
    model.call(request, { ...call, token: (text) => token(id, call.path, text) }),
  );
  return reply as unknown as ModelReply;
}

export async function spendingOf(
  _storage: Storage,
  { tokens, cost_usd }: RunRow,
): Promise<{ readonly tokens: number; readonly cost: number | null }> {
  return { tokens, cost: cost_usd };
}
