// Registered agents: an agent's name, model and tools. The first message of an unknown agent registers it. update()
// describes an existing agent, and create() makes one with a new id.
import type { Agent, Agents } from "../contracts/agents.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Erasure } from "../contracts/history.ts";
import type { Page } from "../contracts/json.ts";
import type { Memories } from "../contracts/memory.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { DiscardedRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { AGENT_VERBS } from "../contracts/verbs/agents.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { encodeText } from "../core/bytes.ts";
import { encodeJson } from "../core/check.ts";
import { listStart, readPage } from "../core/cursor.ts";
import { decide } from "../core/decide.ts";
import { newId } from "../core/new-id.ts";
import { bindVerbs } from "../core/verbs.ts";
import { createBlocks } from "./blocks.ts";
import { type AgentColumns, agentOf, plainAgent } from "./rows.ts";
import { distinctGuards, leaveBlock, userGuard } from "./sharing.ts";

/** The verbs of memories that agents need; loaded when the first agent is deleted with its memories. */
export type LoadMemories = () => Promise<Pick<Memories, "clear">>;

export function createAgents(storage: Storage, payloads: Payloads, memories: LoadMemories): Agents {
  return bindVerbs(AGENT_VERBS, null, {
    create: (input) => create(storage, input),
    get: async (id) => {
      const row = await liveAgent(storage, id);
      return row === null ? null : agentOf(row);
    },
    list: (filter) => list(storage, filter),
    update: (id, patch) => update(storage, id, patch),
    delete: async (id, options) => {
      const forgotten = options.memories ? await forgetAgent(storage, id, await memories()) : NOTHING;
      const removed = await remove(storage, payloads, id);
      if (removed === null && forgotten.removed.memories === undefined) return null;
      return reportOf(storage, id, [forgotten, removed ?? NOTHING]);
    },
    ...createBlocks(storage, payloads),
  });
}

async function liveAgent(storage: Storage, id: string): Promise<AgentColumns | null> {
  const [row] = await storage.query("agent.get", { id });
  if (row === undefined || row.deleted_at !== null) return null;
  const { no: _, ...columns } = row;
  return columns;
}

/** The given fields as columns, and the tags for their index. */
interface CheckedAgent {
  readonly columns: Partial<AgentColumns>;
  readonly tags: readonly string[] | undefined;
}

type AgentArguments<V extends keyof typeof AGENT_VERBS> = ValuesOf<(typeof AGENT_VERBS)[V]>;

function describe(given: Omit<AgentArguments<"create">[0], "id">): CheckedAgent {
  const { name, agentType, model, system, toolIds, tags, metadata } = given;
  const texts = (list: readonly string[]) => encodeText(JSON.stringify(list));
  const columns: { -readonly [C in keyof AgentColumns]?: AgentColumns[C] } = {};
  if (name !== undefined) columns.name = encodeText(name);
  if (agentType !== undefined) columns.agent_type = agentType;
  if (model !== undefined) columns.model = model;
  if (system !== undefined) columns.system = system === null ? null : encodeText(system);
  if (toolIds !== undefined) columns.tool_ids = texts(toolIds);
  if (tags !== undefined) columns.tags = texts(tags);
  if (metadata !== undefined) columns.metadata = encodeJson(metadata, "metadata", "metadataBytes");
  return { columns, tags };
}

async function create(storage: Storage, { id: given, ...described }: AgentArguments<"create">[0]): Promise<Agent> {
  const id = given ?? newId(storage.environment, "agent");
  const { columns, tags } = describe(described);
  return decide(storage, async () => {
    const [row] = await storage.query("agent.get", { id });
    if (row !== undefined && row.deleted_at === null) {
      throw new HoldfastError("AlreadyExists", `an agent ${JSON.stringify(id)} exists already`, {
        details: { kind: "agent", id },
        hint: "Leave the id out, or change the existing agent with agents.update().",
      });
    }
    // The id of a deleted agent may be reused. Its version continues to increase, so that no old guard matches the new
    // agent.
    const at = storage.environment.now();
    const next = { ...plainAgent(id, at, (row?.version ?? 0) + 1), ...columns };
    const agent = agentOf(next);
    return { commit: writeAgent(next, row?.version ?? null, tags), answer: () => agent };
  });
}

/** `tags` undefined: the tags stay. */
function writeAgent(next: AgentColumns, expect: number | null, tags: readonly string[] | undefined): Commit {
  const tagged = (tags ?? []).map(
    (tag): Write => ({ op: "insert", table: "agent_tags", row: { tag, agent_no: { agent: next.id } } }),
  );
  const untag: Write = { op: "run", statement: "agent.untag", params: [{ agent: next.id }] };
  return {
    agents: [{ id: next.id, at: next.updated_at }],
    guards: [userGuard({ agent: next.id, version: expect })],
    writes: [{ op: "put", table: "agents", row: next }, ...(tags === undefined ? [] : [untag]), ...tagged],
  };
}

async function update(storage: Storage, id: string, patch: AgentArguments<"update">[1]): Promise<Agent> {
  const { version: expected, ...described } = patch;
  const { columns, tags } = describe(described);
  return decide(storage, async () => {
    const row = await liveAgent(storage, id);
    if (row === null) {
      throw new HoldfastError("NotFound", `there is no agent ${JSON.stringify(id)}`, {
        details: { kind: "agent", id },
        hint: "Create it first, or list the agents with agents.list().",
      });
    }
    if (expected !== undefined && row.version !== expected) {
      throw new HoldfastError(
        "Conflict",
        `the agent ${JSON.stringify(id)} has version ${row.version}, not ${expected}`,
        {
          details: { kind: "agent", id, expected, actual: row.version },
          hint: "Read the agent again, and repeat the update if it is still right.",
        },
      );
    }
    if (Object.keys(columns).length === 0) return { answer: agentOf(row) };
    const next = { ...row, ...columns, updated_at: storage.environment.now(), version: row.version + 1 };
    // Before the commit: a damaged row is refused, unless the patch replaces exactly the damaged fields.
    const agent = agentOf(next);
    return { commit: writeAgent(next, row.version, tags), answer: () => agent };
  });
}

const NOTHING: Erasure = { removed: {}, kept: {} };
/** Scopes of memories that are read at once. */
const SCOPES = 100;

/** Before the agent itself goes: a call that ends in between can be made again. */
async function forgetAgent(storage: Storage, id: string, memories: Pick<Memories, "clear">): Promise<Erasure> {
  const erased: Erasure[] = [];
  for (let after = 0; ; ) {
    const scopes = await storage.query("memory.scopesOf", { agent: id, after, limit: SCOPES });
    for (const { namespace } of scopes) erased.push(await memories.clear({ namespace, agent: id }));
    const last = scopes.at(-1);
    if (last === undefined) return sumOf(erased);
    after = last.no;
  }
}

/** What is kept is counted last: also what was saved meanwhile. */
async function reportOf(storage: Storage, id: string, erased: readonly Erasure[]): Promise<Erasure> {
  const { removed, kept } = sumOf(erased);
  const left = (await storage.query("memories.ofAgent", { agent: id }))[0]?.n ?? 0;
  return { removed, kept: left === 0 ? kept : { ...kept, memories: left } };
}

function sumOf(erased: readonly Erasure[]): Erasure {
  const add = (counts: readonly Erasure["removed"][]) => {
    const sum: Record<string, number> = {};
    for (const [kind, n] of counts.flatMap(Object.entries<number>)) sum[kind] = (sum[kind] ?? 0) + n;
    return sum;
  };
  return { removed: add(erased.map(({ removed }) => removed)), kept: add(erased.map(({ kept }) => kept)) };
}

/** Erases (rule LG6) the texts of the agent's blocks and description, from the files too. null: there is no such agent. */
async function remove(storage: Storage, payloads: Payloads, id: string): Promise<Erasure | null> {
  let later: readonly DiscardedRow[] = [];
  const removed = await decide<Erasure | null>(storage, async () => {
    const row = await liveAgent(storage, id);
    if (row === null) return { answer: null };
    const blocks = await storage.query("blocks.load", { agent: id });
    const at = storage.environment.now();
    const users = await storage.query("blocks.users", { agent: id });
    const leaving = leaveBlock(id, blocks, users, at);
    const shared = new Set(users.filter(({ agent }) => agent !== id).map(({ block }) => block)).size;
    later = await storage.query("blocks.discarded", { agent: id });
    // The row stays without its description, because messages refer to the agent by its number.
    const gone = { ...plainAgent(id, row.created_at, row.version + 1), updated_at: at, deleted_at: at };
    const commit: Commit = {
      solo: true,
      agents: [{ id, at }],
      guards: distinctGuards([userGuard({ agent: id, version: row.version }), ...leaving.guards]),
      writes: [
        { op: "put", table: "agents", row: gone },
        { op: "run", statement: "agent.untag", params: [{ agent: id }] },
        { op: "run", statement: "agent.detachBlocks", params: [{ agent: id }] },
        ...leaving.writes,
      ],
    };
    const report: Erasure = {
      removed: { agents: 1, blocks: blocks.length - shared },
      kept: shared === 0 ? {} : { blocks: shared },
    };
    return { commit, answer: () => report };
  });
  if (removed === null) return null;
  await payloads.discard(later);
  await storage.reclaim();
  return removed;
}

async function list(storage: Storage, filter: AgentArguments<"list">[0]): Promise<Page<Agent>> {
  const { tag, agentType: type, limit, order, cursor } = filter;
  const isNewest = order === "newest";
  return readPage({
    list: "agents.list",
    order,
    filter: [tag, type],
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) =>
      tag === undefined
        ? storage.query(isNewest ? "agents.list" : "agents.oldest", { last, agentType: type, limit: most })
        : storage.query(isNewest ? "agents.byTag" : "agents.oldestByTag", { tag, last, agentType: type, limit: most }),
    item: (row) => agentOf(row),
    position: ({ no }) => [no],
  });
}
