// Beginning a run, and taking the lease of one.
import { HoldfastError } from "../contracts/errors.ts";
import type { Payloads } from "../contracts/payloads.ts";
import type { RunRow } from "../contracts/run-queries.ts";
import type { AgentDefinition, RunInput } from "../contracts/runs.ts";
import type { EventDraft, Storage } from "../contracts/storage.ts";
import { encodeText, toHex } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";
import { checkId, checkInt, checkOptionalId, checkRecord, encodeJson } from "../core/check.ts";
import { decide } from "../core/decide.ts";
import { newId } from "../core/environment.ts";
import { sessionBusy } from "../sessions/guards.ts";
import { checkLimits, defineAgent, toolsetOf } from "./agents.ts";
import { leaseLost } from "./errors.ts";
import { atEpoch, atVersion, carried, carriedBlobs, moveRun } from "./moves.ts";
import { existingRun } from "./rows.ts";

const INPUT = ["session", "input", "id", "limits", "priority"];

export interface Begun {
  readonly parent?: string;
  readonly isNested?: boolean;
  /** Who works on it from the first moment; null: whoever comes. */
  readonly owner: string | null;
}

export async function createRun(
  storage: Storage,
  payloads: Payloads,
  agent: AgentDefinition,
  input: RunInput,
  { parent, isNested = false, owner }: Begun,
): Promise<RunRow> {
  const { id: agentId, version: agentVersion } = defineAgent(agent);
  const given = checkRecord(input, "run", INPUT);
  const session = checkId(given.session, "run.session");
  const id = checkOptionalId(given.id, "run.id") ?? newId(storage.environment, "run");
  const limits = { ...agent.limits, ...checkLimits(given.limits, "run.limits") };
  const priority = given.priority === undefined ? 0 : checkInt(given.priority, "run.priority", -1000, 1000);
  const bytes = encodeJson(given.input ?? null, "run.input", "payloadBytes");
  const toolset = toolsetOf(agent);
  return payloads.preparing(async (prepare) => {
    const payload = await prepare(bytes, { media: "application/json", utf8: true, inRow: true, owned: true });
    return decide<RunRow>(storage, async () => {
      const [taken] = await storage.query("run.get", id);
      if (taken !== undefined) throw runExists(id);
      const [busy] = isNested ? [] : await storage.query("run.active", session);
      if (busy !== undefined) throw sessionBusy(session, busy.id);
      const at = storage.environment.now();
      const epoch = owner === null ? 0 : 1;
      const fresh = {
        ...{ id, parent: parent ?? null, nested: isNested ? 1 : 0, agent_version: agentVersion, toolset },
        ...{ status: "running", version: 1, epoch, beat: 0, owner, iteration: 0, checkpoint_seq: null },
        ...{ wake_at: 0, waits: null, cancel: 0, stop: null, limits: encodeText(canonicalJson(limits)), priority },
        ...{ tokens: 0, cost_usd: null, created_at: at, updated_at: at, ended_at: null },
      };
      const event: EventDraft = {
        ...{ session, type: "run/created", at, agent: agentId, run: id },
        data: {
          ...{ agentVersion, toolset: toHex(toolset), limits, priority, epoch, version: 1 },
          ...{ ...(owner === null ? {} : { owner }), ...(parent === undefined ? {} : { parent }) },
          ...(isNested ? { nested: true } : {}),
        },
        ...carried(["input", payload]),
        writes: [
          {
            ...{ op: "insert", table: "runs" },
            row: { ...fresh, first_seq: { slot: "seq" }, agent_no: { agent: agentId } },
          },
        ],
      };
      return {
        commit: {
          sessions: [{ id: session, mode: "ensure", agent: agentId, at }],
          agents: [{ id: agentId, at }],
          guards: [
            { check: "run.version", key: [id], expect: null },
            ...(isNested ? [] : [{ check: "run.active", key: [session], expect: null } as const]),
          ],
          events: [event],
          ...carriedBlobs([payload]),
        },
        answer: ({ events }) => {
          const seq = events.at(-1)?.seq ?? 0;
          const known = { no: 0, session_no: 0, branch: 0, session, agent: agentId };
          return { ...known, ...fresh, first_seq: seq, seq };
        },
      };
    });
  });
}

function runExists(id: string): HoldfastError {
  return new HoldfastError("AlreadyExists", `there is a run ${JSON.stringify(id)} already`, {
    details: { kind: "run", id },
    hint: "Leave the id out to be given one; runs.get() shows the one there is.",
  });
}

/**
 * The lease of a run, as it was seen: refused when anybody did anything to it since, a sign of life included. Whoever had it
 * before cannot commit any more.
 */
export async function claimRun(storage: Storage, seen: RunRow, owner: string): Promise<RunRow> {
  const at = storage.environment.now();
  const isOrphan = seen.owner !== null;
  const moved = moveRun(seen, {
    ...{ type: "run/claimed", at },
    changes: {
      ...{ status: isOrphan ? "recovering" : "running", epoch: seen.epoch + 1, owner, wake_at: 0, waits: null },
    },
  });
  const outcome = await storage.commit({
    sessions: [{ id: seen.session, mode: "existing", at }],
    guards: [atVersion(seen), atEpoch(seen), { check: "run.beat", key: [seen.id], expect: seen.beat }],
    events: [moved.event],
  });
  if (!outcome.ok) throw leaseLost(seen);
  return moved.row(outcome.events[0]?.seq ?? 0);
}

/** Given back, for somebody else to go on at once. */
export async function releaseRun(storage: Storage, row: RunRow): Promise<void> {
  const now = await existingRun(storage, row.id);
  if (now.epoch !== row.epoch || now.owner === null || now.ended_at !== null) return;
  const at = storage.environment.now();
  const moved = moveRun(now, { type: "run/released", at, changes: { owner: null, wake_at: 0 } });
  await storage.commit({
    sessions: [{ id: now.session, mode: "existing", at }],
    guards: [atVersion(now)],
    events: [moved.event],
  });
}
