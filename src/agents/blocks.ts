// Core blocks: an agent's small texts that are needed on every request. Every edit is a version that stays readable.
import type { Agents, Block, BlockInput, BlockVersion } from "../contracts/agents.ts";
import { HoldfastError } from "../contracts/errors.ts";
import type { Page } from "../contracts/json.ts";
import type { Payloads } from "../contracts/storage/payloads.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { AGENT_VERBS } from "../contracts/verbs/agents.ts";
import type { ValuesOf } from "../contracts/verbs/vocabulary.ts";
import { invalid } from "../core/check.ts";
import { listStart, readPage } from "../core/cursor.ts";
import { type Decision, decide, type FinalAnswer } from "../core/decide.ts";
import type { Rules } from "../core/verbs.ts";
import { arrangeBlocks, checkDistinct, type EditContext, readSet } from "./arrange.ts";
import { checkVersion, checkWritable, type EditKind, replaceOnce, withValue, writeVersion } from "./edits.ts";
import { blockVersion, type StoredBlock, storedBlock } from "./rows.ts";
import { blockGuard } from "./sharing.ts";

export type Blocks = Pick<
  Agents,
  | "saveBlocks"
  | "loadBlocks"
  | "getBlock"
  | "appendBlock"
  | "replaceInBlock"
  | "rethinkBlock"
  | "shareBlock"
  | "blockVersions"
  | "restoreBlock"
>;

type BlockStores = Omit<EditContext, "prepare">;

/** Every attempt may prepare its own text; texts that were not committed are released at the end. */
function deciding<T>(
  shelf: BlockStores,
  rule: (bench: EditContext) => Promise<Decision<T> | FinalAnswer<T>>,
): Promise<T> {
  return shelf.payloads.preparing((prepare) => decide(shelf.storage, () => rule({ ...shelf, prepare })));
}

export function createBlocks(
  storage: Storage,
  payloads: Payloads,
): Rules<Blocks, Pick<typeof AGENT_VERBS, keyof Blocks>> {
  const shelf = { storage, payloads };
  return {
    saveBlocks: async (id, blocks) => {
      const inputs = checkDistinct(blocks);
      return deciding(shelf, async (bench) => arrangeBlocks(bench, await readSet(storage, payloads, id), inputs));
    },
    loadBlocks: async (agent) => {
      const rows = await storage.query("blocks.load", { agent });
      return Promise.all(rows.map(async (row) => (await storedBlock(payloads, row)).block));
    },
    getBlock: async (agent, label) => {
      const held = await findBlock(shelf, agent, label);
      return held?.block ?? null;
    },
    appendBlock: (agent, label, text, { version }) =>
      edit(shelf, { agent, label, version }, { kind: "append", change: (block) => block.value + text, initial: text }),
    replaceInBlock: async (agent, label, find, put, { version }) => {
      if (find === "") throw invalid("find", "a text that is not empty", find);
      return edit(
        shelf,
        { agent, label, version },
        { kind: "replace", change: (block) => replaceOnce(block, find, put) },
      );
    },
    rethinkBlock: (agent, label, value, { version }) =>
      edit(shelf, { agent, label, version }, { kind: "rethink", change: () => value }),
    shareBlock: (agent, label, withAgent) => share(shelf, agent, label, withAgent),
    blockVersions: (agent, label, options) => versions(shelf, agent, label, options),
    restoreBlock: (agent, label, version) => restore(shelf, agent, label, version),
  };
}

async function findBlock(
  { storage, payloads }: BlockStores,
  agent: string,
  label: string,
): Promise<StoredBlock | null> {
  const [row] = await storage.query("block.byLabel", { agent, label });
  return row === undefined ? null : storedBlock(payloads, row);
}

async function existingBlock(shelf: BlockStores, agent: string, label: string): Promise<StoredBlock> {
  const held = await findBlock(shelf, agent, label);
  if (held !== null) return held;
  throw new HoldfastError("NotFound", `the agent ${JSON.stringify(agent)} has no block ${JSON.stringify(label)}`, {
    details: { kind: "block", agent, label },
    hint: "Create it with saveBlocks() or appendBlock().",
  });
}

interface BlockTarget {
  readonly agent: string;
  readonly label: string;
  /** The version that the caller expects; any version by default. */
  readonly version?: number | undefined;
}

interface BlockEdit {
  readonly kind: EditKind;
  /** The new value. */
  change(block: Block): string;
  /** The value for a missing block; without it, the block must exist. */
  readonly initial?: string;
}

async function edit(
  shelf: BlockStores,
  { agent, label, version: expected }: BlockTarget,
  { kind, change, initial }: BlockEdit,
): Promise<Block> {
  const rule = async (bench: EditContext): Promise<Decision<Block> | FinalAnswer<Block>> => {
    const held = await (initial === undefined ? existingBlock : findBlock)(shelf, agent, label);
    checkVersion(label, held?.block.version ?? 0, expected);
    // If a concurrent call creates the block between these two reads, it is edited.
    if (held === null) return (await addBlock(bench, agent, { label, value: initial ?? "" })) ?? rule(bench);
    checkWritable(held.block);
    const value = change(held.block);
    // An edit without a change writes no version, so a call can be repeated after a lost answer.
    return value === held.block.value ? { answer: held.block } : editCommit(bench, held.block, value, kind, null);
  };
  return deciding(shelf, rule);
}

async function editCommit(
  { storage, prepare }: EditContext,
  block: Block,
  value: string,
  kind: EditKind,
  stored: Uint8Array | null,
): Promise<Decision<Block>> {
  const next = withValue(block, value, storage.environment.now());
  const written = await writeVersion(prepare, next, kind, stored);
  return { commit: { ...written, guards: [blockGuard(block.id, block.version)] }, answer: () => next };
}

/** Adds a block at the end of the agent's blocks; null if the agent has one with this label. */
async function addBlock(
  bench: EditContext,
  agent: string,
  input: BlockInput,
): Promise<Decision<Block> | FinalAnswer<Block> | null> {
  const set = await readSet(bench.storage, bench.payloads, agent);
  if (set.current.some(({ block }) => block.label === input.label)) return null;
  const kept = set.current.map(({ block: { id, label } }) => ({ id, label }));
  const decision = await arrangeBlocks(bench, set, checkDistinct([...kept, input]));
  const last = (blocks: readonly Block[]): Block => {
    const block = blocks.at(-1);
    if (block === undefined) throw new HoldfastError("Internal", "a block that was added is not among the blocks");
    return block;
  };
  if (!("commit" in decision)) return { answer: last(decision.answer) };
  return { commit: decision.commit, answer: (committed) => last(decision.answer(committed)) };
}

function labelTaken(agent: string, label: string): HoldfastError {
  return new HoldfastError(
    "AlreadyExists",
    `the agent ${JSON.stringify(agent)} has a block ${JSON.stringify(label)} already`,
    { details: { kind: "block", agent, label }, hint: "Remove that block with saveBlocks() first." },
  );
}

async function share(shelf: BlockStores, agent: string, label: string, other: string): Promise<Block> {
  return deciding(shelf, async (bench) => {
    const { block } = await existingBlock(shelf, agent, label);
    const added = await addBlock(bench, other, { id: block.id, label });
    if (added === null) throw labelTaken(other, label);
    return added;
  });
}

async function versions(
  shelf: BlockStores,
  agent: string,
  label: string,
  { limit, cursor, order }: ValuesOf<typeof AGENT_VERBS.blockVersions>[2],
): Promise<Page<BlockVersion>> {
  const { block } = await existingBlock(shelf, agent, label);
  const statement = order === "newest" ? "block.versions" : "block.versions.oldest";
  return readPage({
    list: "agents.blockVersions",
    order,
    filter: [block.id],
    limit,
    cursor,
    start: listStart(order),
    read: ([last], most) => shelf.storage.query(statement, { id: block.id, last, limit: most }),
    item: (row) => blockVersion(shelf.payloads, block.id, row),
    position: ({ version }) => [version],
  });
}

/** An operator's call, like saveBlocks: it may restore a read-only block. */
async function restore(shelf: BlockStores, agent: string, label: string, version: number): Promise<Block> {
  return deciding(shelf, async (bench) => {
    const { block } = await existingBlock(shelf, agent, label);
    const [row] = await shelf.storage.query("block.versions", { id: block.id, last: version + 1, limit: 1 });
    if (row === undefined || row.version !== version) {
      throw new HoldfastError("NotFound", `the block ${JSON.stringify(label)} has no version ${version}`, {
        details: { kind: "block", agent, label, version },
        hint: "List the versions with blockVersions().",
      });
    }
    const { value } = await blockVersion(shelf.payloads, block.id, row);
    return editCommit(bench, block, value, "restored", row.sha256);
  });
}
