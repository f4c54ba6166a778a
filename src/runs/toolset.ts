// Names and effects of an agent's tools, names of its models, as a run is pinned to them: with others, a recorded step could
// mean something else.
import type { AgentDefinition } from "../contracts/runs.ts";
import { encodeText, sameBytes, sha256 } from "../core/bytes.ts";
import { canonicalJson } from "../core/canonical.ts";

interface Toolset {
  readonly tools: Readonly<Record<string, string>>;
  readonly models: readonly string[];
}

export function toolsetOf(agent: AgentDefinition): Uint8Array {
  return hashOf(saidBy(agent));
}

function saidBy({ tools = {}, models = {} }: AgentDefinition): Toolset {
  return {
    tools: Object.fromEntries(Object.entries(tools).map(([name, { effect }]) => [name, effect ?? "non-idempotent"])),
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
    ...Object.entries(tools).flatMap(([name, effect]) => {
      const { [name]: _, ...others } = tools;
      const other = effect === "idempotent" ? "non-idempotent" : "idempotent";
      return [
        [`without the tool ${JSON.stringify(name)}`, { tools: others, models }] as const,
        [
          `with the tool ${JSON.stringify(name)} declared ${other}, not ${effect}`,
          { tools: { ...tools, [name]: other }, models },
        ] as const,
      ];
    }),
    ...models.map((name) => {
      const before = { tools, models: models.filter((one) => one !== name) };
      return [`without the model ${JSON.stringify(name)}`, before] as const;
    }),
  ].find(([, before]) => sameBytes(recorded, hashOf(before)));
  return found?.[0] ?? null;
}
