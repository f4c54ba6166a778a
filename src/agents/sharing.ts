// The agents that share a block. A block is deleted with its last agent, so a commit that leaves a block relies on its
// other agents, and a commit that joins one must make concurrent leavers decide again: leaving guards the versions of
// all its agents, joining increments one.
import type { Guard, Write } from "../contracts/storage/commit.ts";
import type { BlockUserRow } from "../contracts/storage/rows.ts";

export interface Change {
  readonly guards: readonly Guard[];
  readonly writes: readonly Write[];
}

/**
 * Removes these blocks from the agent; `users` are all agents that have any of them. The agent's own list is written
 * elsewhere. With `erasedAt`, the values of deleted blocks are removed at once; otherwise the next garbage collection
 * removes them.
 */
export function leaveBlock(
  agent: string,
  blocks: readonly { readonly id: string; readonly version: number }[],
  users: readonly BlockUserRow[],
  erasedAt?: number,
): Change {
  const changes = blocks.map((block): Change => {
    const others = users.filter((user) => user.block === block.id && user.agent !== agent);
    if (others.length > 0) return { guards: others.map(userGuard), writes: [] };
    const drop: Write[] =
      erasedAt === undefined ? [] : [{ op: "run", statement: "block.drop", params: [block.id, erasedAt] }];
    return {
      guards: [blockGuard(block.id, block.version)],
      writes: [
        { op: "run", statement: "block.release", params: [block.id] },
        ...drop,
        { op: "run", statement: "block.removeVersions", params: [block.id] },
        { op: "remove", table: "blocks", row: { id: block.id } },
      ],
    };
  });
  return { guards: changes.flatMap((change) => change.guards), writes: changes.flatMap((change) => change.writes) };
}

/** Adds another agent to the blocks of these agents: increments the version of one agent of each block. */
export function joinBlock(users: readonly BlockUserRow[], at: number): Change {
  const oneOfEach = new Map(users.map((user) => [user.block, user.agent]));
  return {
    guards: users.map(userGuard),
    writes: [...new Set(oneOfEach.values())].map((agent) => touchBlock(agent, at)),
  };
}

export function touchBlock(agent: string, at: number): Write {
  return { op: "run", statement: "agent.touch", params: [at, at, agent] };
}

export function userGuard(user: { readonly agent: string; readonly version: number | null }): Guard {
  return { check: "agent.version", key: [user.agent], expect: user.version };
}

export function blockGuard(id: string, version: number): Guard {
  return { check: "block.version", key: [id], expect: version };
}

/** Removes duplicates and keeps the first guard: two blocks may be shared with the same agent. */
export function distinctGuards(guards: readonly Guard[]): readonly Guard[] {
  const byKey = new Map<string, Guard>();
  for (const guard of guards) {
    const key = JSON.stringify([guard.check, guard.key]);
    if (!byKey.has(key)) byKey.set(key, guard);
  }
  return [...byKey.values()];
}
