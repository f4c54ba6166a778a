// A block has promoted lines of one namespace only: an agent that works for several tenants, each in a namespace, has the same blocks
// for all of them, and what one tenant said must not be in the context of another.
import type { Block } from "../../contracts/agents.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { PromotionBlock } from "../../contracts/promotion.ts";
import type { Storage } from "../../contracts/storage/storage.ts";
import { decodeRow, utf8 } from "../../core/decode.ts";
import { lineFor } from "./plan.ts";

/** The namespace of a promoted line of the block that is not of this one; null: there is none. */
export async function findOtherNamespace(storage: Storage, block: Block, namespace: string): Promise<string | null> {
  const lines = new Set(block.value.split("\n"));
  for (const row of await storage.query("memories.inBlock", { block: block.id, namespace })) {
    const { content } = decodeRow({ kind: "memory", memory: row.id }, row, { content: utf8 });
    if (lines.has(lineFor(content))) return row.namespace;
  }
  return null;
}

export function otherNamespace(label: PromotionBlock, agent: string, other: string, namespace: string): HoldfastError {
  const [of, there, here] = [agent, other, namespace].map((name) => JSON.stringify(name));
  return new HoldfastError(
    "Conflict",
    `the block ${label} of the agent ${of} has lines of the namespace ${there}, and takes none of ${here}`,
    {
      details: { agent, label, namespace, other },
      hint: "Use an agent for each namespace. Or remove the other lines: memory.undoPromotion() or memory.clear() in that namespace.",
    },
  );
}
