// Calls: requests to a model, with what they cost. The start is committed before the request goes out, the outcome after.
import type { Call, CallOutcome, Calls } from "../contracts/calls.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { LeafCalls } from "../contracts/invocations.ts";
import type { EventDraft, Guard } from "../contracts/storage/commit.ts";
import type { CallRow } from "../contracts/storage/lineage-queries.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CALL_VERBS } from "../contracts/verbs/lineage.ts";
import type { RowId } from "../contracts/verbs/vocabulary.ts";
import { encodeText, sha256, toRef } from "../core/bytes.ts";
import {
  checkArray,
  checkInt,
  checkOneOf,
  checkOptionalId,
  checkPlain,
  checkRecord,
  checkText,
  encodeJson,
  invalid,
} from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { type Column, decodeRow, jsonObject, oneOf, optional, plainObject, text, whole } from "../core/decode.ts";
import { lineOf } from "../core/lineage.ts";
import { optionalRowId, parseRowId, rowId } from "../core/row-id.ts";
import { existingSession } from "../core/session-lookup.ts";
import type { Rules } from "../core/verbs.ts";
import { type Columns, preparePayloads, writePayloads } from "./payload-columns.ts";
import { checkTurn } from "./turns.ts";
import { addFirstVersion, addNextVersion, facts, noRow, requireUnfinished } from "./versioned-rows.ts";

const NAMES = ["request", "response", "result", "error"] as const;
type PayloadName = (typeof NAMES)[number];

const TYPES: readonly Call["type"][] = ["root", "leaf"];
const STATUSES: readonly Call["status"][] = ["started", "done", "failed", "cancelled"];
const ENDS = ["done", "failed", "cancelled"] as const;
const INPUT = ["type", "model", "provider", "turn", "request", "descriptor"] as const;
const OUTCOME = [
  "status",
  "response",
  "result",
  "error",
  "inputTokens",
  "outputTokens",
  "cachedTokens",
  "costUsd",
] as const;

const cost: Column<number> = {
  wanted: "a cost",
  read: (value) => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined),
};

const CALL = {
  first_seq: whole,
  branch: whole,
  type: oneOf(TYPES),
  status: oneOf(STATUSES),
  model: optional(text),
  provider: optional(text),
  cost_usd: optional(cost),
  tokens_in: optional(whole),
  tokens_out: optional(whole),
  tokens_cached: optional(whole),
  created_at: whole,
  completed_at: optional(whole),
};

export function callOf(row: CallRow): Call {
  const { session } = row;
  const found = decodeRow({ kind: "call", session, seq: row.first_seq }, row, CALL);
  const ref = (name: PayloadName) => (row[name] === null ? null : toRef(row[name]));
  return {
    id: rowId(session, found.first_seq),
    session,
    seq: found.first_seq,
    branch: found.branch,
    turn: optionalRowId(session, row.turn_seq),
    type: found.type,
    status: found.status,
    model: found.model,
    provider: found.provider,
    requestRef: ref("request"),
    responseRef: ref("response"),
    resultRef: ref("result"),
    errorRef: ref("error"),
    inputTokens: found.tokens_in,
    outputTokens: found.tokens_out,
    cachedTokens: found.tokens_cached,
    costUsd: found.cost_usd,
    createdAt: found.created_at,
    completedAt: found.completed_at,
    erased: row.erased_seq !== null,
  };
}

export type CallRules = Rules<Calls, Omit<typeof CALL_VERBS, keyof LeafCalls>>;

export function createCalls(storage: Storage, payloads: Payloads): CallRules {
  return {
    async start(id, input) {
      const asked = checkInput(input, INPUT);
      return payloads.preparing(async (prepare) =>
        write(storage, id, asked, await preparePayloads(prepare, { request: asked.request })),
      );
    },
    async add(id, input) {
      const asked = checkInput(input, [...INPUT, ...OUTCOME]);
      const outcome = checkOutcome(input);
      const carried = { request: asked.request, ...outcome.payloads };
      return payloads.preparing(async (prepare) =>
        write(storage, id, asked, await preparePayloads(prepare, carried), outcome),
      );
    },
    async finish(call, outcome) {
      checkRecord(outcome, "outcome", OUTCOME);
      const ended = checkOutcome(outcome);
      return payloads.preparing(async (prepare) =>
        finish(storage, call, ended, await preparePayloads(prepare, ended.payloads)),
      );
    },
    async get({ session, seq }) {
      const [row] = await storage.query("call.get", { session, first: seq });
      return row === undefined ? null : callOf(row);
    },
    async findByMessage({ session, seq }) {
      const [event] = await storage.query("events.read", { session, after: seq - 1, limit: 1 });
      if (event?.seq !== seq || event.type !== "message/added") throw noRow("message", rowId(session, seq));
      const call = plainObject.read(jsonObject.read(event.body)?.data)?.call;
      const [row] = typeof call === "number" ? await storage.query("call.get", { session, first: call }) : [];
      return row === undefined ? null : callOf(row);
    },
  };
}

interface CheckedCall {
  readonly type: Call["type"];
  readonly model: string | null;
  readonly provider: string | null;
  readonly turn: RowId | undefined;
  readonly request: never;
}

function checkInput(input: unknown, fields: readonly string[]): CheckedCall {
  const given = checkRecord(input, "call", fields);
  const type = checkOneOf(given.type, "call.type", TYPES);
  const model = checkOptionalId(given.model, "call.model") ?? null;
  const provider = checkOptionalId(given.provider, "call.provider") ?? null;
  if (type === "leaf" ? given.descriptor !== undefined : given.request !== undefined) {
    throw misplaced(type);
  }
  const request = type === "leaf" ? given.request : describeRoot(given.descriptor, model, provider);
  return {
    type,
    model,
    provider,
    turn: given.turn === undefined ? undefined : parseRowId(given.turn, "call.turn"),
    request: request as never,
  };
}

function misplaced(type: Call["type"]): HoldfastError {
  const [has, lacks] = type === "leaf" ? ["request", "descriptor"] : ["descriptor", "request"];
  const hint =
    type === "leaf"
      ? "Pass the request as it is sent, or make it a root call."
      : "Pass the messages that the request was made from, descriptor: { messages: [ids] }, or make it a leaf call.";
  return new HoldfastError("InvalidArgument", `a ${type} call has a ${has} and no ${lacks}`, {
    details: { what: `call.${lacks}`, type },
    hint,
  });
}

/** Checks that the input is a leaf call, before any call of a batch begins. */
export function checkLeaf(input: unknown): void {
  const given = checkRecord(input, "leaf", ["model", "provider", "turn", "request"]);
  const { request } = checkInput({ ...given, type: "leaf" }, INPUT);
  if (request !== undefined) encodeJson(request, "request", "payloadBytes");
}

/** Identifies the request without repeating the transcript: by the ids of the messages that it was made from. */
function describeRoot(descriptor: unknown, model: string | null, provider: string | null): object {
  const given = checkRecord(descriptor, "call.descriptor", ["messages", "system", "cache"]);
  const messages = given.messages === undefined ? [] : checkArray(given.messages, "descriptor.messages", "historyPage");
  const { system, cache } = given;
  return {
    version: 2,
    kind: "root",
    rendered: false,
    messageIds: messages.map((id) => checkText(id, "descriptor.messages", "messageBytes")),
    messageCount: messages.length,
    systemHash:
      system === undefined ? null : toRef(sha256(encodeText(checkText(system, "descriptor.system", "metadataBytes")))),
    cache: cache === undefined ? null : checkPlain(cache, "descriptor.cache"),
    provider,
    model,
  };
}

interface CheckedCallOutcome {
  readonly status: Exclude<Call["status"], "started">;
  readonly payloads: Readonly<Partial<Record<Exclude<PayloadName, "request">, never>>>;
  readonly numbers: Readonly<Record<"tokens_in" | "tokens_out" | "tokens_cached" | "cost_usd", number | null>>;
}

export function checkOutcome(outcome: CallOutcome): CheckedCallOutcome {
  const given = outcome as Readonly<Record<string, unknown>>;
  const tokens = (name: string) =>
    given[name] === undefined || given[name] === null ? null : checkInt(given[name], name, 0, Number.MAX_SAFE_INTEGER);
  const spent = given.costUsd ?? null;
  if (spent !== null && cost.read(spent) === undefined)
    throw invalid("costUsd", "a number of at least 0, or null", spent);
  return {
    status:
      given.status === undefined
        ? given.error === undefined
          ? "done"
          : "failed"
        : checkOneOf(given.status, "status", ENDS),
    payloads: { response: given.response as never, result: given.result as never, error: given.error as never },
    numbers: {
      tokens_in: tokens("inputTokens"),
      tokens_out: tokens("outputTokens"),
      tokens_cached: tokens("cachedTokens"),
      cost_usd: spent as number | null,
    },
  };
}

/** A new call: started, or with its outcome at once. */
async function write(
  storage: Storage,
  id: string,
  asked: CheckedCall,
  fresh: Columns<PayloadName>,
  ended?: CheckedCallOutcome,
): Promise<Call> {
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const turnSeq = await checkTurn(storage, session, asked.turn);
    const at = storage.environment.now();
    return addFirstVersion(session, { ...newCall(id, at, { ...asked, turnSeq }, fresh, ended), at }, callOf);
  });
}

/** The event and row of a call that is new. */
export function newCall(
  session: string,
  at: number,
  {
    type,
    model,
    provider,
    turnSeq,
  }: Pick<CheckedCall, "type" | "model" | "provider"> & { readonly turnSeq: number | null },
  fresh: Columns<PayloadName>,
  ended?: CheckedCallOutcome,
) {
  const { refs, salts, commit } = writePayloads(NAMES, fresh);
  const numbers = ended?.numbers ?? { tokens_in: null, tokens_out: null, tokens_cached: null, cost_usd: null };
  const status: Call["status"] = ended?.status ?? "started";
  const columns = {
    turn_seq: turnSeq,
    type,
    status,
    model,
    provider,
    ...refs,
    salts,
    ...numbers,
    created_at: at,
    completed_at: ended === undefined ? null : at,
  };
  const event: EventDraft = {
    session,
    type: ended === undefined ? "call/started" : "call/put",
    at,
    data: facts({ type, status, model, provider, turn: turnSeq, ...numbers }),
    payloads: fresh as never,
    writes: [{ op: "insert", table: "calls", row: { first_seq: { slot: "seq" }, ...columns } }],
  };
  return { event, columns, commit };
}

async function finish(
  storage: Storage,
  { session: id, seq: first }: { readonly session: string; readonly seq: number },
  ended: CheckedCallOutcome,
  fresh: Columns<PayloadName>,
): Promise<Call> {
  return decide(storage, async () => {
    const session = await existingSession(storage, id);
    const [newest] = await storage.query("call.get", { session: id, first });
    const row = requireUnfinished(newest, "call", rowId(id, first), "started");
    const at = storage.environment.now();
    const branch = await lineOf(storage, session, row);
    const { refs, salts, commit } = writePayloads(NAMES, fresh, { refs: row, salts: row.salts });
    const { type, model, provider, turn_seq } = row;
    const columns = {
      turn_seq,
      type,
      status: ended.status,
      model,
      provider,
      ...refs,
      salts,
      ...ended.numbers,
      created_at: row.created_at,
      completed_at: at,
    };
    const event: EventDraft = {
      session: id,
      type: "call/put",
      at,
      data: facts({ call: first, type, status: ended.status, ...ended.numbers }),
      payloads: fresh as never,
      writes: [{ op: "insert", table: "calls", row: { first_seq: first, branch, ...columns } }],
    };
    const guard: Guard = { check: "call.version", key: [first, id], expect: row.seq };
    return addNextVersion(session, { branch, first, guard }, { event, columns, commit, at }, callOf);
  });
}
