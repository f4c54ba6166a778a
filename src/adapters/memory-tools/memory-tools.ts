// Tools with which an agent works on its memory, under the names that models are trained on.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { checkId, checkRecord } from "../../core/check.ts";
import type { AgentTool } from "./agent-tool.ts";
import { type BlockToolName, blockTools } from "./block-tools.ts";

export type MemoryToolName = BlockToolName;

/** The tools by their names, as toolLoop(), defineAgent() and toolSchemas() take them. */
export function memoryTools(
  hf: Pick<Holdfast, "agents">,
  options: { readonly agent: string },
): Readonly<Record<MemoryToolName, AgentTool>> {
  const given = checkRecord(options, "options", ["agent"]);
  return blockTools(hf, checkId(given.agent, "options.agent"));
}
