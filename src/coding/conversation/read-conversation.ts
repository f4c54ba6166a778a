// Reads the conversation from a session's files, for any agent.
import { mainFileOf } from "../../core/agent-sessions.ts";
import { decodeText } from "../../core/bytes.ts";
import { type ReadableSession, readContent } from "../capture-source.ts";
import { type ClaudeSubagent, readClaude, withSubagents } from "./claude.ts";
import type { Conversation } from "./conversation.ts";
import { readOpenCode } from "./opencode.ts";

/** null: there is no transcript among the files. */
export function readConversation(source: ReadableSession): Promise<Conversation | null> {
  return source.agent === "claude-code" ? readClaudeFiles(source) : readOpenCodeFiles(source);
}

const SUBAGENT = /(?:^|\/)(agent-[^/]+)\.jsonl$/;

async function readClaudeFiles(source: ReadableSession): Promise<Conversation | null> {
  const main = source.files.find(({ role }) => role === "transcript");
  if (main === undefined) return null;
  const { conversation } = readClaude(await readContent(source, main.path));
  const paths = new Set(source.files.map(({ path }) => path));
  const subagents: ClaudeSubagent[] = [];
  for (const { role, path } of source.files) {
    const id = role === "subagent" ? SUBAGENT.exec(path)?.[1] : undefined;
    if (id === undefined) continue;
    const metaPath = path.replace(/\.jsonl$/, ".meta.json");
    const meta = paths.has(metaPath) ? parseOrUndefined(await readContent(source, metaPath)) : undefined;
    subagents.push({
      id,
      conversation: readClaude(await readContent(source, path)).conversation,
      ...(meta === undefined ? {} : { meta }),
    });
  }
  return withSubagents(conversation, subagents);
}

async function readOpenCodeFiles(source: ReadableSession): Promise<Conversation | null> {
  const main = mainFileOf("opencode", source.sessionId).path;
  const exports = source.files.filter(({ role }) => role === "export").map(({ path }) => path);
  if (!exports.includes(main)) return null;
  const children: Uint8Array[] = [];
  for (const path of exports) if (path !== main) children.push(await readContent(source, path));
  return readOpenCode(await readContent(source, main), children).conversation;
}

function parseOrUndefined(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeText(bytes));
  } catch {
    return undefined;
  }
}
