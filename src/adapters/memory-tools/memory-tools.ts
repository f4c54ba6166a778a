// Tools with which an agent works on its memory, under the names that models are trained on.
import type { Holdfast } from "../../contracts/holdfast.ts";
import { checkId, checkOptionalId, checkRecord } from "../../core/check.ts";
import type { AgentTool } from "./agent-tool.ts";
import { type ArchivalToolName, archivalTools } from "./archival-tools.ts";
import { type BlockToolName, blockTools } from "./block-tools.ts";
import { type ConversationToolName, conversationTools } from "./conversation-tools.ts";

export type MemoryToolName = BlockToolName | ArchivalToolName | ConversationToolName;

export interface MemoryToolsOptions {
  /** Whose blocks, memories and conversations the tools work on. */
  readonly agent: string;
  /** Of its memories; "default" if none is given. */
  readonly namespace?: string;
  /** The conversation tools search only this session, and memories name it as their source. All sessions of the agent by default. */
  readonly session?: string;
}

/** The tools by their names, as toolLoop(), defineAgent() and toolSchemas() take them. */
export function memoryTools(
  hf: Pick<Holdfast, "agents" | "memory" | "history" | "search">,
  options: MemoryToolsOptions,
): Readonly<Record<MemoryToolName, AgentTool>> {
  const given = checkRecord(options, "options", ["agent", "namespace", "session"]);
  const agent = checkId(given.agent, "options.agent");
  const namespace = checkOptionalId(given.namespace, "options.namespace");
  const session = checkOptionalId(given.session, "options.session");
  const scope = { agent, ...(namespace === undefined ? {} : { namespace }) };
  return {
    ...blockTools(hf, agent),
    ...archivalTools(hf, scope, session),
    ...conversationTools(hf, { agent, session }),
  };
}
