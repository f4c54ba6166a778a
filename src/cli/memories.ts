// What the commands of memory share: how a memory, a time and a source are read and shown.
import { HoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Memory, MemoryScope, MemorySource } from "../contracts/memory.ts";
import { parseInstant } from "../core/instant.ts";
import type { Arguments } from "./command-line.ts";
import { UsageError } from "./failure.ts";
import type { Output } from "./output.ts";
import { facts } from "./table.ts";
import { formatTime, parseDuration } from "./units.ts";

export const SCOPE_OPTIONS = {
  agent: { type: "text", value: "ID", summary: "memories of this agent (default: those of no agent)" },
  namespace: { type: "text", value: "NAME", summary: 'memories of this namespace (default "default")' },
} as const;

export const SCOPE_USAGE = "[--agent A] [--namespace N]";

export function readScope(args: Arguments): MemoryScope {
  const [agent, namespace] = [args.text("agent"), args.text("namespace")];
  return { ...(agent === undefined ? {} : { agent }), ...(namespace === undefined ? {} : { namespace }) };
}

/** Reads `2026-01-31`, `2026-01-31T12:00Z`, or `3d` as three days ago. */
export function readTime(text: string, option: string, now: number): number {
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return now - parseDuration(text, option);
  const at = parseInstant(text);
  if (at !== null && at >= 0) return at;
  throw new UsageError(
    `${option} takes a time from 1970 on such as 2026-01-31 or 2026-01-31T12:00Z, or 3d for three days ago, not "${text}"`,
  );
}

/** undefined: none was given. */
export function readSource(args: Arguments): MemorySource | undefined {
  const [session, run] = [args.text("session"), args.text("run")];
  if (session === undefined && run === undefined) return undefined;
  return { ...(session === undefined ? {} : { session }), ...(run === undefined ? {} : { run }) };
}

export function sourceText({ session, message, run }: MemorySource): string {
  const place = message ?? session;
  return [...(place === undefined ? [] : [place]), ...(run === undefined ? [] : [`run ${run}`])].join(", ");
}

/** NotFound names the scope in which the memory is, if it is in another one: the operator may see all scopes. */
export async function needMemory(holdfast: Holdfast, id: string, scope: MemoryScope): Promise<Memory> {
  const memory = await holdfast.memory.get(id, scope);
  if (memory !== null) return memory;
  const elsewhere = await findScope(holdfast, id);
  throw new HoldfastError("NotFound", `this scope has no memory "${id}"`, {
    hint:
      elsewhere === null
        ? "`holdfast memory` lists memories, `holdfast memory status` their scopes"
        : `add ${elsewhere}`,
    details: { memory: id },
  });
}

/** The options that name the scope of a memory; null: none of the scopes has it. */
async function findScope(holdfast: Holdfast, id: string): Promise<string | null> {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Holdfast["memory"]["scopes"]>> = await holdfast.memory.scopes({ cursor });
    for (const { namespace, agent } of page.items) {
      if ((await holdfast.memory.get(id, { namespace, ...(agent === null ? {} : { agent }) })) === null) continue;
      const names = [
        ...(namespace === "default" ? [] : [`--namespace ${JSON.stringify(namespace)}`]),
        ...(agent === null ? [] : [`--agent ${JSON.stringify(agent)}`]),
      ];
      return names.length === 0 ? "no --agent and no --namespace" : names.join(" ");
    }
    cursor = page.next;
  } while (cursor !== null);
  return null;
}

export function memoryLines(memory: Memory, { frame }: Output): string[] {
  const { subject, attribute, value, validTo, expiresAt, supersededBy, supersededFrom, metadata } = memory;
  const time = (at: number | null) => (at === null ? "" : formatTime(at));
  return facts(
    [
      ["memory", memory.id],
      ["content", memory.content],
      ["kind", memory.kind],
      ["subject", subject ?? ""],
      ["attribute", attribute ?? ""],
      ["value", value ?? ""],
      ["importance", String(memory.importance)],
      ["metadata", Object.keys(metadata).length === 0 ? "" : JSON.stringify(metadata)],
      ["namespace", memory.namespace],
      ["agent", memory.agent ?? ""],
      ["holds from", time(memory.validFrom)],
      ["holds until", time(validTo)],
      ["saved", time(memory.recordedAt)],
      ["confirmed", memory.confirmations === 0 ? "" : `${memory.confirmations} ×, last ${time(memory.confirmedAt)}`],
      ["expires", time(expiresAt)],
      ["superseded by", supersededBy === null ? "" : `${supersededBy} from ${time(supersededFrom)} on`],
    ],
    frame,
  );
}
