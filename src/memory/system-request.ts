// Reads the options of a context that ask for blocks and memories.
import type { ContextMemoryQuery } from "../contracts/context.ts";
import {
  checkArray,
  checkBoolean,
  checkId,
  checkInt,
  checkLimit,
  checkOptionalId,
  checkRecord,
  checkText,
  invalid,
} from "../core/check.ts";
import type { SystemOptions } from "../core/system-source.ts";

const MEMORIES = 10;

export interface SystemRequest extends Pick<SystemOptions, "budget" | "count"> {
  /** null: without a system prompt and blocks. `labels` null: all blocks. */
  readonly blocks: { readonly agent: string; readonly labels: readonly string[] | null } | null;
  readonly memory: MemoryRequest | null;
}

export interface MemoryRequest {
  readonly query: string;
  readonly namespace: string;
  /** "": memories that belong to no agent. */
  readonly agent: string;
  readonly kind: string | undefined;
  readonly limit: number;
  /** null: half of what the budget leaves. */
  readonly tokens: number | null;
}

/** null: the context has neither blocks nor memories. */
export function readSystemRequest({
  blocks: given,
  memory: query,
  own,
  budget,
  count,
}: SystemOptions): SystemRequest | null {
  const blocks = readBlocks(given, own);
  const memory = readMemory(query, blocks?.agent ?? own);
  return blocks === null && memory === null ? null : { blocks, memory, budget, count };
}

function readBlocks(value: unknown, own: string | null): SystemRequest["blocks"] {
  if (value === undefined) return null;
  const given = typeof value === "object" ? checkRecord(value, "blocks", ["agent", "labels"]) : {};
  if (typeof value !== "object" && !checkBoolean(value, "blocks")) return null;
  const agent = checkOptionalId(given.agent, "blocks.agent") ?? own;
  if (agent === null) {
    throw invalid("blocks", "asked for with an agent", value, "Name it: { blocks: { agent } }, or the option agent.");
  }
  const labels =
    given.labels === undefined
      ? null
      : checkArray(given.labels, "blocks.labels", "blocksPerAgent").map((label, i) =>
          checkId(label, `blocks.labels[${i}]`),
        );
  return { agent, labels };
}

const MEMORY_FIELDS = [
  "query",
  "namespace",
  "agent",
  "kind",
  "limit",
  "tokens",
] as const satisfies readonly (keyof ContextMemoryQuery)[];

function readMemory(value: unknown, own: string | null): MemoryRequest | null {
  if (value === undefined) return null;
  const given = typeof value === "string" ? { query: value } : checkRecord(value, "memory", MEMORY_FIELDS);
  const fields: Readonly<Partial<Record<keyof ContextMemoryQuery, unknown>>> = given;
  const { namespace, agent, kind, limit, tokens } = fields;
  return {
    query: checkText(fields.query, "memory.query", "searchQueryBytes"),
    namespace: checkOptionalId(namespace, "memory.namespace") ?? "default",
    agent: agent === null ? "" : (checkOptionalId(agent, "memory.agent") ?? own ?? ""),
    kind: checkOptionalId(kind, "memory.kind"),
    limit: limit === undefined ? MEMORIES : checkLimit(limit, "page", "memory.limit"),
    tokens: tokens === undefined ? null : checkInt(tokens, "memory.tokens", 0, Number.MAX_SAFE_INTEGER),
  };
}
