// holdfast/coding: the functions of `holdfast run`, for hosts that start coding agents themselves. They find and restore sessions on this
// machine, save a session while it grows, import its conversation, and make a digest of it for an agent that cannot resume.
export type * from "../contracts/coding.ts";
export { type ReadableSession, sourceOfCapture } from "./capture-source.ts";
export { importCaptured } from "./catch-up.ts";
export type {
  Conversation,
  ConversationCall,
  ConversationCompaction,
  ConversationMessage,
  Subagent,
} from "./conversation/conversation.ts";
export { type DigestOptions, digest } from "./conversation/digest.ts";
export { type HandoverOptions, handover } from "./conversation/handover.ts";
export { type Imported, type ImportOptions, importConversation } from "./conversation/import.ts";
export { readConversation } from "./conversation/read-conversation.ts";
export { conversationOfRequest } from "./conversation/request-conversations.ts";
export {
  type AgentHost,
  type LocalAgent,
  type LocalSession,
  localAgent,
  type RestoreOptions,
  readableOnDisk,
} from "./local-agent.ts";
export { type FileFinding, type Saved, Saver, type SaverOptions } from "./saver.ts";
