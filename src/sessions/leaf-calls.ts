// Leaf calls around a function: the call is recorded before it, and its outcome and cost after it, also if it fails.
import type { Call, CallOutcome } from "../contracts/calls.ts";
import type { Leaf, LeafCalls, LeafInput, LeafMeta } from "../contracts/invocations.ts";
import type { Json } from "../contracts/json.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CALL_VERBS } from "../contracts/verbs/lineage.ts";
import { checkRecord } from "../core/check.ts";
import { existingSession } from "../core/session-lookup.ts";
import type { Rules } from "../core/verbs.ts";
import { errorJson, failedOutcome, runInOrder, unwrapOutcome, type WorkOutcome } from "./batch.ts";
import { type CallRules, checkLeaf, checkOutcome } from "./calls.ts";

const REPORT = ["response", "inputTokens", "outputTokens", "cachedTokens", "costUsd"] as const;

export function createLeafCalls(
  storage: Storage,
  calls: CallRules,
): Rules<LeafCalls, Pick<typeof CALL_VERBS, keyof LeafCalls>> {
  return {
    async leaf(id, input, work) {
      checkLeaf(input);
      return unwrapOutcome(await runLeaf(calls, id, input, work));
    },
    async leafAll(id, inputs, work, { concurrency }) {
      for (const input of inputs) checkLeaf(input);
      await existingSession(storage, id);
      return runInOrder(inputs, concurrency, (input, index) => runLeaf(calls, id, input, (leaf) => work(leaf, index)));
    },
  };
}

async function runLeaf<T extends Json>(
  calls: CallRules,
  session: string,
  input: LeafInput,
  work: (leaf: Leaf) => T | Promise<T>,
): Promise<WorkOutcome<T, LeafMeta>> {
  let call: Call;
  try {
    call = await calls.start(session, { ...input, type: "leaf" });
  } catch (error) {
    return failedOutcome(error, { session, head: null });
  }
  let reported: Parameters<Leaf["report"]>[0] = {};
  const report = (spent: Parameters<Leaf["report"]>[0]) => {
    const given = checkRecord(spent, "report", REPORT) as Parameters<Leaf["report"]>[0];
    checkOutcome(given);
    reported = { ...reported, ...given };
  };
  let value: T;
  try {
    value = await work({ call, report });
  } catch (error) {
    return end(calls, call, { ...reported, error: errorJson(error) }, { error });
  }
  try {
    const ended = await calls.finish(call, value === undefined ? reported : { ...reported, result: value });
    return { envelope: { value, status: "done", session, head: null, meta: metaOf(ended) }, thrown: null };
  } catch (error) {
    // The value or the response cannot be stored: the cost is recorded anyway.
    const { response: _, ...spent } = reported;
    return end(calls, call, { ...spent, error: errorJson(error) }, { error });
  }
}

async function end(
  calls: CallRules,
  call: Call,
  outcome: CallOutcome,
  { error }: { readonly error: unknown },
): Promise<WorkOutcome<never, LeafMeta>> {
  const { session } = call;
  try {
    return failedOutcome(error, { session, head: null, meta: metaOf(await calls.finish(call, outcome)) });
  } catch {
    // The call stays "started". The first error matters more than the failure to record it.
    return failedOutcome(error, { session, head: null });
  }
}

function metaOf({ id, model, provider, inputTokens, outputTokens, cachedTokens, costUsd }: Call): LeafMeta {
  return { call: id, type: "leaf", model, provider, inputTokens, outputTokens, cachedTokens, costUsd };
}
