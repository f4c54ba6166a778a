// holdfast/claude: sessions of the Claude Agent SDK in a Holdfast store. The caller passes the SDK; this package never imports it.
export type * from "../../contracts/session-store.ts";
export { type ClaudeFiles, type ClaudeFilesOptions, claudeFiles } from "./files.ts";
export {
  type CaptureMoment,
  type PersistentQuery,
  type PersistentQueryInput,
  persistentQuery,
  type QueryFunction,
  type QueryProblem,
  type QueryStart,
  type RestoredSession,
} from "./persistent-query.ts";
export { claudeSessionStore } from "./session-store.ts";
