// Replaces an agent's ordered set of blocks: matches each new block with a stored one, finds the differences, and
// removes blocks that are left out. Saving the same set again writes nothing.
import type { Block, BlockInput } from "../contracts/agents.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { LIMITS } from "../contracts/limits.ts";
import type { Commit, Write } from "../contracts/storage/commit.ts";
import type { Payloads, Prepare } from "../contracts/storage/payloads.ts";
import type { AgentRow, BlockUserRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { Decision, FinalAnswer } from "../core/decide.ts";
import { newId } from "../core/new-id.ts";
import { checkFits, type EditKind, writeVersion } from "./edits.ts";
import { plainAgent, type StoredBlock, storedBlock } from "./rows.ts";
import { blockGuard, type Change, distinctGuards, joinBlock, leaveBlock, touchBlock, userGuard } from "./sharing.ts";

/** The stores that an edit needs. */
export interface EditContext {
  readonly storage: Storage;
  readonly payloads: Payloads;
  readonly prepare: Prepare;
}

/** A block of the new set, and the stored block that it replaces, if any. */
interface ArrangedBlock {
  readonly block: Block;
  readonly stored: StoredBlock | null;
  readonly edit: EditKind | null;
}

export function checkDistinct(inputs: readonly BlockInput[]): readonly BlockInput[] {
  const labels = new Set(inputs.map((input) => input.label));
  const ids = inputs.flatMap((input) => input.id ?? []);
  if (labels.size < inputs.length || new Set(ids).size < ids.length) {
    throw new HoldfastError("InvalidArgument", "blocks must have distinct labels and ids", {
      details: { what: "blocks" },
    });
  }
  return inputs;
}

/** The agent's present blocks; `row` is null for an unknown agent. */
export interface BlockSet {
  readonly agent: string;
  readonly row: AgentRow | null;
  readonly current: readonly StoredBlock[];
}

export async function readSet(storage: Storage, payloads: Payloads, agent: string): Promise<BlockSet> {
  // The agent's version is read first, so that its guard covers everything that is read after it.
  const [row] = await storage.query("agent.get", { id: agent });
  const rows = await storage.query("blocks.load", { agent });
  return { agent, row: row ?? null, current: await Promise.all(rows.map((one) => storedBlock(payloads, one))) };
}

/** Replaces the agent's blocks by exactly the given ones, in their order. */
export async function arrangeBlocks(
  { storage, payloads, prepare }: EditContext,
  { agent, row, current }: BlockSet,
  inputs: readonly BlockInput[],
): Promise<Decision<readonly Block[]> | FinalAnswer<readonly Block[]>> {
  const at = storage.environment.now();
  const foreign = await readForeign(storage, payloads, current, inputs);
  const placed = place(storage, current, foreign.blocks, inputs, at);
  const blocks = placed.map((one) => one.block);

  const left = current.filter((held) => !blocks.some((block) => block.id === held.block.id)).map((held) => held.block);
  const renamed = placed.filter((one) => one.stored !== null && one.stored.block.label !== one.block.label);
  const users = left.length + renamed.length === 0 ? [] : await storage.query("blocks.users", { agent });
  for (const one of renamed) checkUnshared(agent, one.block, [...users, ...foreign.users]);

  const sameSet = row?.deleted_at === null && sameOrder(current, blocks);
  const edited = placed.filter((one) => one.edit !== null);
  if (sameSet && edited.length === 0) return { answer: blocks };

  const membership = sameSet ? { guards: [], writes: [] } : changeSet(agent, row, blocks, foreign.users, at);
  const leaving = leaveBlock(agent, left, users);
  const edits = await Promise.all(edited.map((one) => writePlaced(prepare, one)));
  const commit: Commit = {
    agents: [{ id: agent, at }],
    guards: distinctGuards([
      userGuard({ agent, version: row?.version ?? null }),
      ...placed.flatMap(({ stored }) => (stored === null ? [] : [blockGuard(stored.block.id, stored.block.version)])),
      ...membership.guards,
      ...leaving.guards,
    ]),
    blobs: edits.flatMap((edit) => edit.blobs),
    uses: edits.flatMap((edit) => edit.uses),
    writes: [...edits.flatMap((edit) => edit.writes), ...membership.writes, ...leaving.writes],
  };
  return { commit, answer: () => blocks };
}

interface ForeignBlocks {
  readonly blocks: readonly StoredBlock[];
  readonly users: readonly BlockUserRow[];
}

/** Blocks that are named by id and that the agent does not have yet, with the agents that have them. */
async function readForeign(
  storage: Storage,
  payloads: Payloads,
  current: readonly StoredBlock[],
  inputs: readonly BlockInput[],
): Promise<ForeignBlocks> {
  const own = new Set(current.map((held) => held.block.id));
  const ids = inputs.flatMap(({ id }) => (id === undefined || own.has(id) ? [] : [id]));
  const found = await Promise.all(
    ids.map(async (id) => {
      const users = await storage.query("block.users", { id });
      const [row] = await storage.query("block.get", { id });
      if (row !== undefined) return { held: await storedBlock(payloads, row), users };
      throw new HoldfastError("NotFound", `there is no block ${JSON.stringify(id)}`, {
        details: { kind: "block", id },
        hint: "Leave the id out to create a block.",
      });
    }),
  );
  return { blocks: found.map((one) => one.held), users: found.flatMap((one) => one.users) };
}

function place(
  storage: Storage,
  current: readonly StoredBlock[],
  foreign: readonly StoredBlock[],
  inputs: readonly BlockInput[],
  at: number,
): readonly ArrangedBlock[] {
  const known = [...current, ...foreign];
  // An id takes precedence over a label: a block that is named by its id may get a new label while another one gets its
  // old label.
  const named = new Set(inputs.map((input) => input.id));
  return inputs.map((input) => {
    const stored = known.find(({ block }) =>
      input.id === undefined ? block.label === input.label && !named.has(block.id) : block.id === input.id,
    );
    return stored === undefined
      ? { block: newBlock(storage, input, at), stored: null, edit: "created" }
      : changed(stored, input, at);
  });
}

function newBlock(storage: Storage, input: BlockInput, at: number): Block {
  const limit = input.limit ?? LIMITS.blockCharsDefault;
  return {
    id: newId(storage.environment, "block"),
    label: input.label,
    value: checkFits(input.label, input.value ?? "", limit),
    limit,
    description: input.description ?? "",
    readOnly: input.readOnly ?? false,
    version: 1,
    createdAt: at,
    updatedAt: at,
  };
}

function changed(stored: StoredBlock, input: BlockInput, at: number): ArrangedBlock {
  const old = stored.block;
  const { id: _, ...given } = input;
  const block = { ...old, ...given };
  checkFits(block.label, block.value, block.limit);
  const keys = ["label", "limit", "description", "readOnly"] as const;
  const edit = block.value !== old.value ? "set" : keys.some((key) => block[key] !== old[key]) ? "configured" : null;
  return edit === null
    ? { block: old, stored, edit }
    : { block: { ...block, version: old.version + 1, updatedAt: at }, stored, edit };
}

function writePlaced(prepare: Prepare, { block, stored, edit }: ArrangedBlock): ReturnType<typeof writeVersion> {
  return writeVersion(prepare, block, edit ?? "set", edit === "configured" ? (stored?.sha256 ?? null) : null);
}

/**
 * Refuses a new label for a shared block: the other agents use the label, and may have another block with the new one.
 */
function checkUnshared(agent: string, block: Block, users: readonly BlockUserRow[]): void {
  const others = users.filter((user) => user.block === block.id && user.agent !== agent).map((user) => user.agent);
  if (others.length === 0) return;
  throw new HoldfastError("Conflict", `the block ${JSON.stringify(block.id)} is shared, so its label cannot change`, {
    details: { kind: "block", id: block.id, agents: others },
    hint: "Save it with its present label.",
  });
}

function sameOrder(current: readonly StoredBlock[], blocks: readonly Block[]): boolean {
  return current.length === blocks.length && current.every((held, i) => held.block.id === blocks[i]?.id);
}

/**
 * Rewrites the list, registers an agent that is unknown or deleted, and increments the version that guards of the list
 * compare.
 */
function changeSet(
  agent: string,
  row: AgentRow | null,
  blocks: readonly Block[],
  joined: readonly BlockUserRow[],
  at: number,
): Change {
  const joining = joinBlock(joined, at);
  const self: Write =
    row === null || row.deleted_at !== null
      ? { op: "put", table: "agents", row: plainAgent(agent, at, (row?.version ?? 0) + 1) }
      : touchBlock(agent, at);
  const places = blocks.map(
    (block, ord): Write => ({
      op: "insert",
      table: "agent_blocks",
      row: { agent_no: { agent }, ord, block_id: block.id },
    }),
  );
  const detach: Write = { op: "run", statement: "agent.detachBlocks", params: [{ agent }] };
  return { guards: joining.guards, writes: [self, ...joining.writes, detach, ...places] };
}
