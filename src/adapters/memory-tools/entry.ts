// holdfast/memory-tools: tools with which agents edit and search their memory.
export type { AgentTool, ToolCallInfo } from "./agent-tool.ts";
export { anthropicMemoryTool, type MemoryCommands, memoryCommands } from "./files/memory-file-tool.ts";
export { type MemoryToolName, memoryTools } from "./memory-tools.ts";
