// The real environment: the machine's clock, randomness, timers and processes. Processes are read from Linux's /proc: a lease names
// the process of its owner, so that a killed worker is known to be gone at once, and recovery need not wait for the lease to end
// (rule RU3).
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { Environment, Processes } from "../contracts/environment.ts";
import { hrtimeMs, platformEnvironment } from "./platform-environment.ts";
import { formatProcessName, type Machine, parseProcessName } from "./run-owner.ts";

export function realEnvironment(): Environment {
  return { ...platformEnvironment(), monotonic: hrtimeMs, processes: machineProcesses() };
}

interface ProcessStat {
  readonly isDead: boolean;
  /** Clock ticks since boot; with the pid it names a process for as long as the machine runs. */
  readonly startTime: string;
}

export function machineProcesses(): Processes {
  let own: string | null | undefined;
  return {
    self: () => {
      if (own === undefined) own = identify("self", process.pid);
      return own;
    },
    identify: (pid) => identify(String(pid), pid),
    liveness: (process) => {
      const named = parseProcessName(process);
      const machine = readMachine();
      if (named === null || machine === null || !isSame(named.machine, machine)) return "unknown";
      return livenessOf(named.pid, named.startTime);
    },
  };
}

/** All processes that the process started, directly or not, as far as the platform shows them. */
export function descendantsOf(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const one of processIds()) {
    const parent = parentOf(one);
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), one]);
  }
  const found: number[] = [];
  const rest = [...(children.get(pid) ?? [])];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    found.push(next);
    rest.push(...(children.get(next) ?? []));
  }
  return found;
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function parentOf(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

function identify(entry: string, pid: number): string | null {
  const machine = readMachine();
  const stat = readStat(entry);
  if (machine === null || stat === null) return null;
  return formatProcessName({ machine, pid, startTime: stat.startTime });
}

function isSame(one: Machine, other: Machine): boolean {
  return (
    one.host === other.host &&
    one.boot === other.boot &&
    one.pidNamespace === other.pidNamespace &&
    one.timeNamespace === other.timeNamespace
  );
}

let machine: Machine | null | undefined;

function readMachine(): Machine | null {
  if (machine === undefined) machine = loadMachine();
  return machine;
}

/** null if the platform does not report it: then a lease ends only when its time is over. */
function loadMachine(): Machine | null {
  try {
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    if (!/^[0-9a-f-]{36}$/.test(boot)) return null;
    return {
      host: hostname(),
      boot,
      pidNamespace: namespaceOf("pid"),
      timeNamespace: namespaceOf("time"),
    };
  } catch {
    return null;
  }
}

/** The inode: "pid:[4026531836]" is 4026531836. Kernels before 5.6 have no time namespaces. */
function namespaceOf(kind: "pid" | "time"): string {
  try {
    return /\[(\d+)\]/.exec(readlinkSync(`/proc/self/ns/${kind}`))?.[1] ?? "";
  } catch (error) {
    if (kind === "time" && (error as NodeJS.ErrnoException).code === "ENOENT") return "0";
    throw error;
  }
}

function livenessOf(pid: number, startTime: string): "alive" | "gone" | "unknown" {
  // Ask the kernel first: /proc may hide processes of other users.
  try {
    process.kill(pid, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH") return "gone";
    if (code !== "EPERM") return "unknown";
  }
  const stat = readStat(String(pid));
  if (stat === null) return "unknown";
  return stat.isDead || stat.startTime !== startTime ? "gone" : "alive";
}

/** Parses /proc/PID/stat. The name of the program is in parentheses and may contain any character. */
function readStat(pid: string): ProcessStat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state = "", threads = "", startTime = ""] = [fields[0], fields[17], fields[19]];
    if (!/^\d+$/.test(startTime)) return null;
    // A zombie waits for its parent to read its exit code. A process whose other threads still run is not dead.
    return { isDead: (state === "Z" || state === "X") && Number(threads) <= 1, startTime };
  } catch {
    return null;
  }
}
