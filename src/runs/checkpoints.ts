// Checkpoints: the state of a loop after an iteration. Runs write their own. Other loops save and load them by session
// and agent.
import type { Checkpoint } from "../contracts/checkpoints.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Json, JsonObject } from "../contracts/json.ts";
import type { EventDraft } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { CheckpointRow, RunRow } from "../contracts/storage/run-queries.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CHECKPOINT_INPUT } from "../contracts/verbs/runs.ts";
import type { ValueOf } from "../contracts/verbs/vocabulary.ts";
import { encodeJson } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { decodeRow, list, optional, text, whole } from "../core/decode.ts";
import { rowId } from "../core/row-id.ts";
import {
  buildStepRecords,
  decodeEntry,
  type JournalEntry,
  loadEventPayload,
  payloadOf,
  readJournal,
  type StepRecord,
} from "./journal.ts";
import { payloadExtras, payloadFields } from "./writer.ts";

const NO_RUN = "";

export async function saveCheckpoint(
  storage: Storage,
  payloads: Payloads,
  { session, agent, iteration, ...given }: ValueOf<typeof CHECKPOINT_INPUT>,
): Promise<Checkpoint> {
  const at = storage.environment.now();
  const kept = {
    state: (given.state ?? null) as Json,
    pendingToolCalls: (given.pendingToolCalls ?? []) as readonly Checkpoint["pendingToolCalls"][number][],
    lastToolResult: (given.lastToolResult ?? null) as Json,
    pauseUntil: given.pauseUntil ?? null,
    stopReason: given.stopReason ?? null,
    startedAt: given.startedAt ?? at,
  };
  const bytes = encodeJson(kept, "checkpoint", "payloadBytes");
  return payloads.preparing(async (prepare) => {
    const payload = await prepare(bytes, { media: "application/json", utf8: true, inline: true, owned: true });
    return decide(storage, async () => {
      const event: EventDraft = {
        session,
        type: "checkpoint/saved",
        at,
        agent,
        data: { iteration },
        ...payloadFields(["state", payload]),
        writes: [{ op: "insert", table: "checkpoints", row: { agent_no: { agent }, run: NO_RUN, iteration } }],
      };
      return {
        commit: {
          sessions: [{ id: session, mode: "ensure", agent, at }],
          agents: [{ id: agent, at }],
          events: [event],
          ...payloadExtras([payload]),
        },
        answer: () => ({ session, agent, run: null, iteration, ...kept, checkpointedAt: at }),
      };
    });
  });
}

/** Whether the step has not ended: it is executing, in doubt, or waiting for a person. */
function isPending({ status }: StepRecord): boolean {
  return status === "started" || status === "asked";
}

/** Adds what the journal has since the checkpoint: tool calls without a result, and the last result. */
export async function runCheckpoint(
  storage: Storage,
  payloads: Payloads,
  row: RunRow,
  iteration?: number,
): Promise<Checkpoint | null> {
  const [point] =
    iteration === undefined
      ? await storage.query("checkpoint.last", { session: row.session, agent: row.agent, run: row.id })
      : await storage.query("checkpoint.at", { session: row.session, agent: row.agent, run: row.id, iteration });
  if (point === undefined) return null;
  const found = await checkpointOf(payloads, point);
  const journal = await readJournal(storage, row, row.first_seq);
  const tools = [...buildStepRecords(row.session, journal).values()].filter(({ kind }) => kind === "tool");
  const open = tools.filter((one) => one.iteration === point.iteration + 1 && isPending(one));
  const last = tools.findLast((one) => one.iteration <= point.iteration && one.status === "done");
  const isLast = point.seq === row.checkpoint_seq;
  return {
    ...found,
    pendingToolCalls: await Promise.all(
      open.map(async ({ seq, name, startedAt }) => ({
        id: rowId(row.session, seq),
        tool: name,
        startedAt,
        input: await loadEventPayload(storage, payloads, row.session, seq),
      })),
    ),
    lastToolResult: last?.end == null ? null : await payloadOf(payloads, row.session, last.end),
    pauseUntil: isLast && row.status === "paused" ? row.wake_at : null,
    stopReason: isLast ? row.stop : null,
  };
}

const KEPT = {
  pendingToolCalls: optional(list),
  pauseUntil: optional(whole),
  stopReason: optional(text),
  startedAt: whole,
};

export async function loadCheckpoint(
  storage: Storage,
  payloads: Payloads,
  session: string,
  agent: string,
  run: string = NO_RUN,
): Promise<Checkpoint | null> {
  const [row] = await storage.query("checkpoint.last", { session, agent, run });
  return row === undefined ? null : checkpointOf(payloads, row);
}

/** The event of a checkpoint. It states the iteration, because the row alone is not trusted. */
export function checkpointEvent(row: CheckpointRow): JournalEntry {
  const { session, seq, agent, run, iteration } = row;
  const entry = decodeEntry(session, row);
  const isOwn = run !== NO_RUN || entry.agent === agent;
  if (entry.data.iteration === iteration && isOwn) return entry;
  throw new HoldfastError(
    "StoreCorrupted",
    `the checkpoint at event ${rowId(session, seq)} does not agree with its row`,
    {
      details: { kind: "checkpoint", session, seq, iteration },
      hint: "Run `npx holdfast check` to list all differences, and restore the store from a backup.",
    },
  );
}

async function checkpointOf(payloads: Payloads, row: CheckpointRow): Promise<Checkpoint> {
  const { session, agent, run, iteration, at } = row;
  const kept = (await payloadOf(payloads, session, checkpointEvent(row))) as JsonObject;
  const found = decodeRow({ kind: "checkpoint", session, seq: row.seq }, kept ?? {}, KEPT);
  return {
    session,
    agent,
    run: run === NO_RUN ? null : run,
    iteration,
    state: kept.state ?? null,
    pendingToolCalls: (found.pendingToolCalls ?? []) as unknown as readonly Checkpoint["pendingToolCalls"][number][],
    lastToolResult: kept.lastToolResult ?? null,
    pauseUntil: found.pauseUntil,
    stopReason: found.stopReason,
    startedAt: found.startedAt,
    checkpointedAt: at,
  };
}
