// How a process is named where a store keeps its name, as machines and people read it.

/** Everything that must be equal before two processes may judge each other. */
export interface Machine {
  readonly host: string;
  /** A new one with every boot. */
  readonly boot: string;
  /** Pids have a meaning only within their namespace. */
  readonly pidNamespace: string;
  /** Start times are in the clock of the reader's own time namespace. */
  readonly timeNamespace: string;
}

export interface ProcessName {
  readonly machine: Machine;
  readonly pid: number;
  readonly startTime: string;
}

const SEPARATOR = "/";
const FIELDS = 5;

export function formatProcessName({ machine, pid, startTime }: ProcessName): string {
  const { host, boot, pidNamespace, timeNamespace } = machine;
  return [host, pid, startTime, pidNamespace, timeNamespace, boot].join(SEPARATOR);
}

/** null: it is no such name. */
export function parseProcessName(text: string): ProcessName | null {
  const parts = text.split(SEPARATOR);
  if (parts.length <= FIELDS) return null;
  const [pid = "", startTime = "", pidNamespace = "", timeNamespace = "", boot = ""] = parts.slice(-FIELDS);
  if (!/^[1-9]\d{0,9}$/.test(pid)) return null;
  const host = parts.slice(0, -FIELDS).join(SEPARATOR);
  return { machine: { host, boot, pidNamespace, timeNamespace }, pid: Number(pid), startTime };
}

/** What people want to know of a process that self() named. */
export function describeProcess(process: string): { readonly host: string; readonly pid: number } | null {
  const named = parseProcessName(process);
  return named === null ? null : { host: named.machine.host, pid: named.pid };
}
