// What a process asked of the disk and when, from strace's report, and whether each acknowledgement it wrote to its
// standard output came after a sync of what belonged to it.
import { spawnSync } from "node:child_process";

/** Why strace cannot be used here; null when it can. */
export function straceTrouble(): string | null {
  const { error, status, stderr } = spawnSync("strace", ["-f", "-o", "/dev/null", "true"], { encoding: "utf8" });
  if (error !== undefined) return "strace is not installed";
  return status === 0 ? null : `strace cannot run here, ${stderr.trim().split("\n")[0] ?? ""}`;
}

/** -y names the file of each descriptor. */
export function straceCommand(report: string): readonly string[] {
  const calls = [
    "fdatasync",
    "fsync",
    "sync_file_range",
    "pwrite64",
    "pwritev",
    "write",
    "writev",
    "openat",
    "unlink",
    "unlinkat",
  ];
  return ["strace", "-f", "-y", "-s", "200", "-e", `trace=${calls.join(",")}`, "-o", report];
}

interface Call {
  readonly name: string;
  /** The file it is about; for openat the path that was asked for. */
  readonly file: string;
  readonly text: string;
}

/** In the order in which they were finished; failed ones left out. */
export function callsIn(report: string): Call[] {
  const unfinished = new Map<string, string>();
  return report.split("\n").flatMap((line) => {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest.endsWith("<unfinished ...>")) {
      unfinished.set(thread, rest.slice(0, -"<unfinished ...>".length));
      return [];
    }
    const [, resumed] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
    const whole = resumed === undefined ? rest : (unfinished.get(thread) ?? "") + resumed;
    const [, name, first, result] = /^(\w+)\(([^,)]*).*\)\s+= (-?\d+)/.exec(whole) ?? [];
    if (name === undefined || result?.startsWith("-")) return [];
    const [, opened = ""] = /^openat\([^"]*"([^"]*)"/.exec(whole) ?? [];
    const [, described = ""] = /<(.*)>$/.exec(first ?? "") ?? [];
    return [{ name, file: name === "openat" ? opened : described, text: whole }];
  });
}

const SYNCS = ["fdatasync", "fsync"];

export interface Verdict {
  readonly acknowledged: number;
  /** Acknowledgements without anything written to the log since it was asked for, or before that was synced. */
  readonly unsynced: readonly string[];
  /** Whether the folder was synced after the log was created in it and before the first acknowledgement. */
  readonly folderSynced: boolean;
}

/** The child says "ask …" before each append and "ack …" after it. */
export function judge(calls: readonly Call[], wal: string): Verdict {
  const folder = wal.slice(0, wal.lastIndexOf("/"));
  const unsynced: string[] = [];
  let acknowledged = 0;
  let written = false;
  let synced = false;
  let folderSynced = false;
  // Every open passes O_CREAT, whether the file exists or not.
  let isThere = false;
  for (const { name, file, text } of calls) {
    if (file === wal && /^p?write/.test(name)) [written, synced] = [true, false];
    if (file === wal && SYNCS.includes(name)) synced = true;
    if (name.startsWith("unlink") && text.includes(`"${wal}"`)) isThere = false;
    if (file === wal && name === "openat" && text.includes("O_CREAT") && !isThere) {
      isThere = true;
      if (acknowledged === 0) folderSynced = false;
    }
    if (file === folder && SYNCS.includes(name) && acknowledged === 0) folderSynced = true;
    const [, word, rest] = /^write\(1<[^>]*>, "(ask|ack) ([^\\"]*)/.exec(text) ?? [];
    if (word === "ask") [written, synced] = [false, false];
    if (word === "ack") {
      acknowledged++;
      if (!written || !synced) unsynced.push(rest ?? "");
    }
  }
  return { acknowledged, unsynced, folderSynced };
}
