// Lists the sessions of coding agents on this machine, finds the one that changed last, and imports their conversations into a store.
// Files with the same size and time as at the last import are not read.
import { lstat, readdir, realpath } from "node:fs/promises";
import * as path from "node:path";
import type { CodingAgent } from "../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../contracts/errors.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { encodeText, sha256Hex } from "../core/bytes.ts";
import {
  type ClaudeTranscript,
  configDirOf,
  findClaudeSession,
  fixedProjectKey,
  isFlatAgent,
  listClaudeSessions,
  projectKeyOf,
} from "./claude/session-files.ts";
import { sessionNamedIn } from "./claude/transcript.ts";
import { type Imported, importConversation } from "./conversation/import.ts";
import { readConversation } from "./conversation/read-conversation.ts";
import { type AgentHost, inTemporaryFolder, type LocalSession, openCodeRunner, readableOnDisk } from "./local-agent.ts";
import type { OpenCodeSessionInfo } from "./opencode/export.ts";
import { findOpenCodeSession, listOpenCodeSessions } from "./opencode/find.ts";
import { openCodeDataDir } from "./opencode/runner.ts";
import { learnSecrets, maskSecretsIn } from "./secrets.ts";

/** A session of an agent on this machine. */
export interface LocalSessionEntry {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  /** When it was written to last, epoch milliseconds. */
  readonly changedAt: number;
  /** The same text as long as the session did not change. */
  stamp(): Promise<string>;
  find(): Promise<LocalSession>;
}

/** Called for each folder or file that cannot be listed, with the reason. */
export type Unreadable = (path: string, error: unknown) => void;

export function listLocal(
  agent: CodingAgent,
  host: AgentHost,
  unreadable: Unreadable,
): Promise<readonly LocalSessionEntry[]> {
  return agent === "claude-code" ? listClaudeEntries(host, unreadable) : listOpenCodeEntries(host, unreadable);
}

/** A session that ran in several directories has several transcripts; the longest is used. */
async function listClaudeEntries({ env }: AgentHost, unreadable: Unreadable): Promise<readonly LocalSessionEntry[]> {
  const configDir = configDirOf(env);
  const longest = new Map<string, ClaudeTranscript>();
  for await (const one of listClaudeSessions(configDir, unreadable)) {
    const other = longest.get(one.sessionId);
    const isMore =
      other === undefined || one.size > other.size || (one.size === other.size && one.mtimeMs > other.mtimeMs);
    if (isMore) longest.set(one.sessionId, one);
  }
  const flat = new FlatAgents();
  return [...longest.values()].map(
    ({ sessionId, file, mtimeMs, size }): LocalSessionEntry => ({
      agent: "claude-code",
      sessionId,
      changedAt: mtimeMs,
      stamp: async () => {
        const subagents = await subagentStamps(path.join(file.slice(0, -6), "subagents"));
        return [file, size, mtimeMs, ...subagents, ...(await flat.stampsOf(path.dirname(file), sessionId))].join(" ");
      },
      find: async () => ({
        ...(await findClaudeSession({ transcriptPath: file, configDir, onlyMessages: true })),
        done: async () => {},
      }),
    }),
  );
}

/** Sub-agents write files of their own, also while the main transcript does not change. */
async function subagentStamps(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const stats = await Promise.all(names.toSorted().map((name) => lstat(path.join(folder, name)).catch(() => null)));
  return stats.map((stat) => (stat === null ? "-" : `${stat.size}/${stat.mtimeMs}`));
}

/** Claude Code 2.0 kept the sub-agents of all sessions of a project in one folder; the first lines of each name its session. */
class FlatAgents {
  readonly #folders = new Map<string, Promise<ReadonlyMap<string | null, readonly string[]>>>();

  async stampsOf(folder: string, sessionId: string): Promise<readonly string[]> {
    const known = this.#folders.get(folder) ?? this.#read(folder);
    this.#folders.set(folder, known);
    return (await known).get(sessionId) ?? [];
  }

  async #read(folder: string): Promise<ReadonlyMap<string | null, readonly string[]>> {
    const stamps = new Map<string | null, string[]>();
    for (const name of (await readdir(folder).catch(() => [])).filter(isFlatAgent).toSorted()) {
      const file = path.join(folder, name);
      const stat = await lstat(file).catch(() => null);
      if (!stat?.isFile()) continue;
      const owner = await sessionNamedIn(file).catch(() => null);
      stamps.set(owner, [...(stamps.get(owner) ?? []), `${stat.size}/${stat.mtimeMs}`]);
    }
    return stamps;
  }
}

/** One entry for each session together with its sub-sessions. */
async function listOpenCodeEntries(host: AgentHost, unreadable: Unreadable): Promise<readonly LocalSessionEntry[]> {
  const [runner, dataDir] = [openCodeRunner(host), openCodeDataDir(host.env)];
  const all = await listOpenCodeSessions(runner, dataDir, unreadable);
  const byId = new Map(all.map((one) => [one.sessionId, one]));
  const trees = new Map<string, OpenCodeSessionInfo[]>();
  for (const one of all) {
    const root = rootOf(one, byId);
    trees.set(root, [...(trees.get(root) ?? []), one]);
  }
  return [...trees].map(([sessionId, tree]): LocalSessionEntry => {
    const changedAt = Math.max(...tree.map(({ updatedAt }) => updatedAt));
    return {
      agent: "opencode",
      sessionId,
      changedAt,
      stamp: async () => `${tree.length} ${tree.map(({ updatedAt }) => updatedAt).join(" ")}`,
      // The listing has already reported damaged files.
      find: () =>
        inTemporaryFolder("holdfast-local-", (folder) =>
          findOpenCodeSession({ sessionId, runner, dataDir, folder, unreadable: () => {} }),
        ),
    };
  });
}

function rootOf(one: OpenCodeSessionInfo, byId: ReadonlyMap<string, OpenCodeSessionInfo>): string {
  const seen = new Set<string>();
  let root = one;
  while (root.parentId !== null && !seen.has(root.sessionId)) {
    seen.add(root.sessionId);
    const parent = byId.get(root.parentId);
    if (parent === undefined) break;
    root = parent;
  }
  return root.sessionId;
}

export type LocalOutcome =
  | { readonly outcome: "imported"; readonly session: string; readonly imported: Imported }
  | { readonly outcome: "unchanged" | "empty" | "erased" | "foreseen"; readonly session: string };

interface ImportForecast {
  readonly outcome: "unchanged" | "erased" | "foreseen";
  readonly session: string;
  readonly stamp: string;
}

/** Decides without reading the session. A session that was erased in the store is not imported again. */
async function forecastImport(holdfast: Holdfast | null, local: LocalSessionEntry): Promise<ImportForecast> {
  const session = `${local.agent}/${local.sessionId}`;
  const stamp = sha256Hex(encodeText(await local.stamp()));
  if (holdfast === null) return { outcome: "foreseen", session, stamp };
  const before = await holdfast.sessions.get({ session });
  const isErased = before === null && (await hasTombstone(holdfast, session));
  const outcome = isErased ? "erased" : before?.metadata.local === stamp ? "unchanged" : "foreseen";
  return { outcome, session, stamp };
}

/** What an import would do. Whether the session has messages is known only when it is read. */
export async function foreseeLocal(holdfast: Holdfast | null, local: LocalSessionEntry): Promise<LocalOutcome> {
  const { outcome, session } = await forecastImport(holdfast, local);
  return { outcome, session };
}

/** Imports into the session that a capture of it would use. */
export async function importLocalSession(
  holdfast: Holdfast,
  local: LocalSessionEntry,
  { request, mask }: { readonly request: string; readonly mask: boolean },
): Promise<LocalOutcome> {
  // The stamp is taken before anything is read, so that the next import sees what the agent adds meanwhile.
  const { outcome, session, stamp } = await forecastImport(holdfast, local);
  if (outcome !== "foreseen") return { outcome, session };
  const found = await local.find();
  try {
    const onDisk = readableOnDisk(found);
    const known = mask ? await learnSecrets(onDisk.files.map(({ path: name }) => onDisk.read(name))) : undefined;
    const read = (name: string) => (mask ? maskSecretsIn(onDisk.read(name), known) : onDisk.read(name));
    const conversation = await readConversation({ ...onDisk, read });
    if (conversation === null || conversation.messages.length === 0) return { outcome: "empty", session };
    const before = await holdfast.sessions.get({ session });
    // A capture may have moved the session to another request meanwhile.
    const to = { session, request: before?.request ?? request };
    const imported = await importConversation(holdfast, conversation, to);
    const after = await holdfast.sessions.get({ session });
    await holdfast.sessions.update(session, { metadata: { ...after?.metadata, local: stamp } });
    return { outcome: "imported", session, imported };
  } finally {
    await found.done();
  }
}

export interface LatestSession {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly changedAt: number;
}

/** NotFound when there is none. It fails if the sessions of an agent cannot be listed, because that agent may have the latest one. */
export async function findLatestSession(agents: readonly CodingAgent[], host: AgentHost): Promise<LatestSession> {
  const all: LatestSession[] = [];
  for (const agent of agents)
    all.push(...(await (agent === "claude-code" ? latestOfClaude(host) : latestOfOpenCode(host))));
  const [latest] = all.toSorted((a, b) => b.changedAt - a.changedAt);
  if (latest !== undefined) return latest;
  throw new HoldfastError("NotFound", `there is no session of ${agents.join(" or ")} in ${host.cwd}`, {
    hint: "name it with --session-id ID, or its directory with --cwd DIR",
    details: { cwd: host.cwd, agents },
  });
}

async function latestOfClaude({ env, cwd }: AgentHost): Promise<readonly LatestSession[]> {
  const key = fixedProjectKey(env) ?? (await projectKeyOf(cwd));
  const found: LatestSession[] = [];
  for await (const one of listClaudeSessions(configDirOf(env), () => {})) {
    if (one.key === key) found.push({ agent: "claude-code", sessionId: one.sessionId, changedAt: one.mtimeMs });
  }
  return found;
}

/** Without sub-sessions. */
async function latestOfOpenCode(host: AgentHost): Promise<readonly LatestSession[]> {
  const directory = await realpath(host.cwd);
  const all = await listOpenCodeSessions(openCodeRunner(host), openCodeDataDir(host.env), () => {});
  return all
    .filter((one) => one.parentId === null && one.directory === directory)
    .map(({ sessionId, updatedAt }) => ({ agent: "opencode", sessionId, changedAt: updatedAt }));
}

/** Whether the session was erased: the log keeps a tombstone of it. */
async function hasTombstone(holdfast: Holdfast, session: string): Promise<boolean> {
  try {
    await holdfast.log.anchor({ session });
    return false;
  } catch (error) {
    return isHoldfastError(error) && error.code === "SessionDeleted";
  }
}
