// The session that an agent worked on last in a directory, for those who do not know its id.
import { realpath } from "node:fs/promises";
import { configDirOf, fixedKeyOf, projectKeyOf } from "../../coding/claude/key.ts";
import { listClaudeSessions } from "../../coding/claude/list.ts";
import { type Here, openCodeRunner } from "../../coding/here.ts";
import { listOpenCodeSessions } from "../../coding/opencode/find.ts";
import { openCodeDataDir } from "../../coding/opencode/runner.ts";
import type { CodingAgent } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";

export interface Latest {
  readonly agent: CodingAgent;
  readonly sessionId: string;
  readonly changedAt: number;
}

/** NotFound when there is none. An agent that cannot be asked is a failure: its session could be the last. */
export async function latestHere(agents: readonly CodingAgent[], here: Here): Promise<Latest> {
  const all: Latest[] = [];
  for (const agent of agents) all.push(...(await (agent === "claude-code" ? ofClaude(here) : ofOpenCode(here))));
  const [latest] = all.toSorted((a, b) => b.changedAt - a.changedAt);
  if (latest !== undefined) return latest;
  throw new HoldfastError("NotFound", `no session of ${agents.join(" or ")} was begun in ${here.cwd}`, {
    hint: "name it with --session-id ID, or its directory with --cwd DIR",
    details: { cwd: here.cwd, agents },
  });
}

async function ofClaude({ env, cwd }: Here): Promise<readonly Latest[]> {
  const key = fixedKeyOf(env) ?? (await projectKeyOf(cwd));
  const found: Latest[] = [];
  for await (const one of listClaudeSessions(configDirOf(env), () => {})) {
    if (one.key === key) found.push({ agent: "claude-code", sessionId: one.sessionId, changedAt: one.mtimeMs });
  }
  return found;
}

/** Those below another come with it. */
async function ofOpenCode(here: Here): Promise<readonly Latest[]> {
  const directory = await realpath(here.cwd);
  const all = await listOpenCodeSessions(openCodeRunner(here), openCodeDataDir(here.env), () => {});
  return all
    .filter((one) => one.parentId === null && one.directory === directory)
    .map(({ sessionId, updatedAt }) => ({ agent: "opencode", sessionId, changedAt: updatedAt }));
}
