// Stops a server and all its processes as a machine does that stands still: connections stay open, and nothing answers.
import { readdirSync, readFileSync } from "node:fs";

export interface Frozen {
  thaw(): void;
}

export async function freeze(pid: number): Promise<Frozen> {
  // The parent first: it starts no others while its children are stopped.
  process.kill(pid, "SIGSTOP");
  const pids = [pid, ...childrenOf(pid)];
  for (const one of pids) send(one, "SIGSTOP");
  return {
    thaw: () => {
      for (const one of pids) send(one, "SIGCONT");
    },
  };
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it is gone
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}
