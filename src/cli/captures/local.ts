// The sessions that coding agents have on this machine, and bringing what they said into a store: what did not change since
// the last time is known by its sizes and times, and not read.
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { findClaudeSession } from "../../coding/claude/find.ts";
import { configDirOf } from "../../coding/claude/key.ts";
import { isFlatAgent } from "../../coding/claude/layout.ts";
import { type ClaudeTranscript, listClaudeSessions } from "../../coding/claude/list.ts";
import { sessionNamedIn } from "../../coding/claude/transcript.ts";
import { type Imported, importConversation } from "../../coding/conversation/import.ts";
import { conversationIn } from "../../coding/conversation-in.ts";
import { type FoundHere, type Here, openCodeRunner } from "../../coding/here.ts";
import { readableOnDisk } from "../../coding/on-disk.ts";
import {
  type FindOpenCode,
  findOpenCodeSession,
  type LocalOpenCode,
  listOpenCodeSessions,
} from "../../coding/opencode/find.ts";
import { openCodeDataDir } from "../../coding/opencode/runner.ts";
import { learnSecrets, maskSecretsIn } from "../../coding/secrets.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { encodeText, sha256Hex } from "../../core/bytes.ts";
import { hasTombstone } from "../sessions.ts";

export interface Local {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  /** When it was written to last, epoch milliseconds. */
  readonly changedAt: number;
  /** What tells that it did not change; asked for only when it may be imported. */
  stamp(): Promise<string>;
  find(): Promise<FoundHere>;
}

/** What cannot even be listed, and why. */
export type Unreadable = (place: string, error: unknown) => void;

export function listLocal(agent: CodingAgent, here: Here, unreadable: Unreadable): Promise<readonly Local[]> {
  return agent === "claude-code" ? claudeLocals(here, unreadable) : openCodeLocals(here, unreadable);
}

/** A session that ran in several directories has several transcripts: as everywhere, the longest is meant. */
async function claudeLocals({ env }: Here, unreadable: Unreadable): Promise<readonly Local[]> {
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
    ({ sessionId, file, mtimeMs, size }): Local => ({
      ...{ agent: "claude-code", sessionId, changedAt: mtimeMs },
      stamp: async () => {
        const subagents = await besides(path.join(file.slice(0, -6), "subagents"));
        return [file, size, mtimeMs, ...subagents, ...(await flat.of(path.dirname(file), sessionId))].join(" ");
      },
      find: async () => ({
        ...(await findClaudeSession({ transcriptPath: file, configDir, onlyMessages: true })),
        done: async () => {},
      }),
    }),
  );
}

/** Sub-agents go on in files of their own, also while the main transcript rests. */
async function besides(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  const stats = await Promise.all(names.toSorted().map((name) => lstat(path.join(folder, name)).catch(() => null)));
  return stats.map((stat) => (stat === null ? "-" : `${stat.size}/${stat.mtimeMs}`));
}

/** Of 2.0, where the sub-agents of all sessions of a project lie beside them: whose each is stands in its first lines. */
class FlatAgents {
  readonly #folders = new Map<string, Promise<ReadonlyMap<string | null, readonly string[]>>>();

  async of(folder: string, sessionId: string): Promise<readonly string[]> {
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
      const whose = await sessionNamedIn(file).catch(() => null);
      stamps.set(whose, [...(stamps.get(whose) ?? []), `${stat.size}/${stat.mtimeMs}`]);
    }
    return stamps;
  }
}

/** Those below another come with it. */
async function openCodeLocals(here: Here, unreadable: Unreadable): Promise<readonly Local[]> {
  const [runner, dataDir] = [openCodeRunner(here), openCodeDataDir(here.env)];
  const all = await listOpenCodeSessions(runner, dataDir, unreadable);
  const byId = new Map(all.map((one) => [one.sessionId, one]));
  const trees = new Map<string, LocalOpenCode[]>();
  for (const one of all) {
    const root = rootOf(one, byId);
    trees.set(root, [...(trees.get(root) ?? []), one]);
  }
  return [...trees].map(([sessionId, tree]): Local => {
    const changedAt = Math.max(...tree.map(({ updatedAt }) => updatedAt));
    return {
      ...{ agent: "opencode", sessionId, changedAt },
      stamp: async () => `${tree.length} ${tree.map(({ updatedAt }) => updatedAt).join(" ")}`,
      find: () => findOpenCode({ sessionId, runner, dataDir }),
    };
  });
}

/** What is damaged was told when they were listed. */
async function findOpenCode(session: Omit<FindOpenCode, "folder" | "unreadable">): Promise<FoundHere> {
  const folder = await mkdtemp(path.join(tmpdir(), "holdfast-local-"));
  const done = () => rm(folder, { recursive: true, force: true });
  try {
    return { ...(await findOpenCodeSession({ ...session, folder, unreadable: () => {} })), done };
  } catch (error) {
    await done();
    throw error;
  }
}

function rootOf(one: LocalOpenCode, byId: ReadonlyMap<string, LocalOpenCode>): string {
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

interface Standing {
  readonly outcome: "unchanged" | "erased" | "foreseen";
  readonly session: string;
  readonly stamp: string;
}

/** Without reading it. One that was erased stays so. */
async function standingOf(holdfast: Holdfast | null, local: Local): Promise<Standing> {
  const session = `${local.agent}/${local.sessionId}`;
  const stamp = sha256Hex(encodeText(await local.stamp()));
  if (holdfast === null) return { outcome: "foreseen", session, stamp };
  const before = await holdfast.sessions.get({ session });
  const isErased = before === null && (await hasTombstone(holdfast, session));
  const outcome = isErased ? "erased" : before?.metadata.local === stamp ? "unchanged" : "foreseen";
  return { outcome, session, stamp };
}

/** What an import would do; whether there is anything in it only who reads it knows. */
export async function foreseeLocal(holdfast: Holdfast | null, local: Local): Promise<LocalOutcome> {
  const { outcome, session } = await standingOf(holdfast, local);
  return { outcome, session };
}

/** Into the session that a capture of it would use. */
export async function importLocalSession(
  holdfast: Holdfast,
  local: Local,
  { request, mask }: { readonly request: string; readonly mask: boolean },
): Promise<LocalOutcome> {
  // Taken before anything is read: what is added meanwhile is for the next time.
  const { outcome, session, stamp } = await standingOf(holdfast, local);
  if (outcome !== "foreseen") return { outcome, session };
  const found = await local.find();
  try {
    const onDisk = readableOnDisk(found);
    const known = mask ? await learnSecrets(onDisk.files.map(({ path: name }) => onDisk.read(name))) : undefined;
    const read = (name: string) => (mask ? maskSecretsIn(onDisk.read(name), known) : onDisk.read(name));
    const conversation = await conversationIn({ ...onDisk, read });
    if (conversation === null || conversation.messages.length === 0) return { outcome: "empty", session };
    const before = await holdfast.sessions.get({ session });
    // A capture may have given it to another request meanwhile.
    const to = { session, request: before?.request ?? request };
    const imported = await importConversation(holdfast, conversation, to);
    const after = await holdfast.sessions.get({ session });
    await holdfast.sessions.update(session, { metadata: { ...after?.metadata, local: stamp } });
    return { outcome: "imported", session, imported };
  } finally {
    await found.done();
  }
}
