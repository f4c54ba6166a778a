// Leaf calls around work: recorded before it, with what it cost after it, whether it ends well or not.
import type { BatchOptions, Leaf, LeafCalls, LeafInput, LeafMeta, LeafReport } from "../contracts/invocations.ts";
import type { Json } from "../contracts/json.ts";
import type { Call, CallOutcome, Calls } from "../contracts/lineage.ts";
import type { Storage } from "../contracts/storage.ts";
import { checkArray, checkId, checkRecord } from "../core/check.ts";
import { existingSession } from "../core/existing.ts";
import {
  checkConcurrency,
  checkWork,
  errorJson,
  failedOutcome,
  runAlone,
  runInOrder,
  type WorkOutcome,
} from "./batch.ts";
import { checkLeaf, checkOutcome } from "./calls.ts";

const REPORT = ["response", "inputTokens", "outputTokens", "cachedTokens", "costUsd"] as const;

export function createLeafCalls(storage: Storage, calls: Calls): LeafCalls {
  return {
    async leaf(session, input, work) {
      const id = checkId(session, "session");
      checkLeaf(input);
      checkWork(work);
      return runAlone(await runLeaf(calls, id, input, work));
    },
    async leafAll<T extends Json>(
      session: string,
      inputs: readonly LeafInput[],
      work: (leaf: Leaf, index: number) => T | Promise<T>,
      options?: BatchOptions,
    ) {
      const id = checkId(session, "session");
      for (const input of checkArray(inputs, "inputs", "batchSlots")) checkLeaf(input);
      const concurrency = checkConcurrency(options);
      checkWork(work);
      await existingSession(storage, id);
      return runInOrder(inputs, concurrency, (input, index) => runLeaf(calls, id, input, (leaf) => work(leaf, index)));
    },
  };
}

async function runLeaf<T extends Json>(
  calls: Calls,
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
  let reported: LeafReport = {};
  const report = (spent: LeafReport) => {
    const given = checkRecord(spent, "report", REPORT) as LeafReport;
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
    const ended = await calls.finish(call.id, value === undefined ? reported : { ...reported, result: value });
    return { envelope: { value, status: "done", session, head: null, meta: metaOf(ended) }, thrown: null };
  } catch (error) {
    // A value or a response that cannot be kept: what it cost is recorded all the same.
    const { response: _, ...spent } = reported;
    return end(calls, call, { ...spent, error: errorJson(error) }, { error });
  }
}

async function end(
  calls: Calls,
  call: Call,
  outcome: CallOutcome,
  { error }: { readonly error: unknown },
): Promise<WorkOutcome<never, LeafMeta>> {
  const { session } = call;
  try {
    return failedOutcome(error, { session, head: null, meta: metaOf(await calls.finish(call.id, outcome)) });
  } catch {
    // It stays "started". What was thrown first matters more than trouble with recording it.
    return failedOutcome(error, { session, head: null });
  }
}

function metaOf({ id, model, provider, inputTokens, outputTokens, cachedTokens, costUsd }: Call): LeafMeta {
  return { call: id, type: "leaf", model, provider, inputTokens, outputTokens, cachedTokens, costUsd };
}
