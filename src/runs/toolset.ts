// Names and effects of an agent's tools, names of its models, as a run is pinned to them: with others, a recorded step could
// mean something else.
import type { AgentDefinition, Tool } from "../contracts/runs.ts";
import { encodeText, sameBytes, sha256 } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";

/** Appended to the effect of a tool that asks for approval, so that agents without such tools keep their hash. */
const APPROVED = ", approved";

interface Toolset {
  readonly tools: Readonly<Record<string, string>>;
  readonly models: readonly string[];
}

export function toolsetOf(agent: AgentDefinition): Uint8Array {
  return hashOf(saidBy(agent));
}

function saidBy({ tools = {}, models = {} }: AgentDefinition): Toolset {
  return {
    tools: Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [
        name,
        `${tool.effect ?? "non-idempotent"}${asksForApproval(tool) ? APPROVED : ""}`,
      ]),
    ),
    models: Object.keys(models).sort(),
  };
}

function hashOf(said: Toolset): Uint8Array {
  return sha256(encodeText(canonicalJson({ ...said })));
}

/** The one change that leads from what was recorded to the agent as it is; null when no single one does, or something is gone. */
export function changeSince(recorded: Uint8Array, agent: AgentDefinition): string | null {
  const { tools, models } = saidBy(agent);
  const found = [
    ...Object.entries(tools).flatMap(([name, declared]) => {
      const { [name]: _, ...others } = tools;
      const isApproved = declared.endsWith(APPROVED);
      const effect = isApproved ? declared.slice(0, -APPROVED.length) : declared;
      const other = effect === "idempotent" ? "non-idempotent" : "idempotent";
      const tool = `the tool ${JSON.stringify(name)}`;
      const as = (then: string) => ({ tools: { ...tools, [name]: then }, models });
      return [
        [`without ${tool}`, { tools: others, models }] as const,
        [`with ${tool} declared ${other}, not ${effect}`, as(`${other}${isApproved ? APPROVED : ""}`)] as const,
        isApproved
          ? ([`with ${tool} asking no person for approval`, as(effect)] as const)
          : ([`with ${tool} asking a person for approval`, as(`${effect}${APPROVED}`)] as const),
      ];
    }),
    ...models.map((name) => {
      const before = { tools, models: models.filter((one) => one !== name) };
      return [`without the model ${JSON.stringify(name)}`, before] as const;
    }),
  ].find(([, before]) => sameBytes(recorded, hashOf(before)));
  return found?.[0] ?? null;
}

/** As a run is pinned to it. */
export function asksForApproval({ approve = false }: Pick<Tool, "approve">): boolean {
  return approve !== false;
}
