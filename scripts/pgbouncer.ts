// A real PgBouncer before a test server, on loopback. Its program comes from Debian's packages, unpacked once per user into
// the cache: nothing is installed. If that is not possible, `obtainPgBouncer` returns the reason, and tests are skipped by name.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { connect, createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface PgBouncerProgram {
  readonly program: string;
  /** The folders for LD_LIBRARY_PATH. */
  readonly libraries: string;
}

export interface PgBouncer {
  readonly url: string;
  /** Kills PgBouncer: all connections through it are cut. */
  kill(): Promise<void>;
  /** Starts it again on the same port after `kill`. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** The program and the libraries that a plain machine lacks. */
const PACKAGES = ["pgbouncer", "libevent-2.1-7", "libc-ares2"];
const DOWNLOAD_MS = 60_000;
const START_MS = 10_000;

function cacheFolder(): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache"), "holdfast", "pgbouncer");
}

/** Returns the program, or the reason why it cannot be installed. */
export function obtainPgBouncer(): PgBouncerProgram | string {
  if (process.platform !== "linux") return "PgBouncer comes from Debian's packages";
  const folder = cacheFolder();
  try {
    if (!fs.existsSync(folder)) download(folder);
    const found = programIn(folder);
    execFileSync(found.program, ["--version"], { env: { LD_LIBRARY_PATH: found.libraries }, stdio: "ignore" });
    return found;
  } catch (error) {
    return `PgBouncer cannot be had here (${String(error instanceof Error ? error.message : error).split("\n")[0]})`;
  }
}

function download(folder: string): void {
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  // The folder has another name until it is complete, because several processes may do this at once.
  const partial = fs.mkdtempSync(`${folder}-`);
  try {
    const options = { cwd: partial, stdio: "pipe", timeout: DOWNLOAD_MS } as const;
    execFileSync("apt-get", ["download", ...PACKAGES], options);
    for (const name of fs.readdirSync(partial).filter((one) => one.endsWith(".deb"))) {
      execFileSync("dpkg", ["-x", name, "."], options);
      fs.rmSync(path.join(partial, name));
    }
    fs.chmodSync(partial, 0o755);
    if (fs.existsSync(folder)) fs.rmSync(partial, { recursive: true });
    else fs.renameSync(partial, folder);
  } catch (error) {
    fs.rmSync(partial, { recursive: true, force: true });
    if (!fs.existsSync(folder)) throw error;
  }
}

function programIn(folder: string): PgBouncerProgram {
  const parent = path.join(folder, "usr", "lib");
  const libraries = fs.readdirSync(parent).find((name) => name.endsWith("-linux-gnu")) ?? "";
  return { program: path.join(folder, "usr", "sbin", "pgbouncer"), libraries: path.join(parent, libraries) };
}

/** `settings` are lines of the [pgbouncer] section, such as `{ pool_mode: "transaction" }`. */
export async function startPgBouncer(
  { program, libraries }: PgBouncerProgram,
  server: string,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer> {
  const to = new URL(server);
  const folder = fs.mkdtempSync(path.join(tmpdir(), "holdfast-pgbouncer-"));
  fs.chmodSync(folder, 0o755);
  const port = await freePort();
  const lines = {
    listen_addr: "127.0.0.1",
    listen_port: String(port),
    unix_socket_dir: "",
    auth_type: "plain",
    auth_file: path.join(folder, "users"),
    max_client_conn: "200",
    default_pool_size: "4",
    ...settings,
  };
  const users = `"${decodeURIComponent(to.username)}" "${decodeURIComponent(to.password)}"\n`;
  fs.writeFileSync(path.join(folder, "users"), users, { mode: 0o644 });
  const config = path.join(folder, "config.ini");
  const section = Object.entries(lines).map(([name, value]) => `${name} = ${value}`);
  const database = `* = host=${to.hostname} port=${to.port}`;
  fs.writeFileSync(config, `[databases]\n${database}\n[pgbouncer]\n${section.join("\n")}\n`);
  // PgBouncer refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const env = { LD_LIBRARY_PATH: libraries, PATH: process.env.PATH ?? "" };
  const command = { program, flags: [...user, config], env, port };
  let child: ChildProcess | null = null;
  const kill = async () => {
    if (child !== null) await end(child);
  };
  const restart = async () => {
    child = await launch(command);
  };
  const stop = async () => {
    await kill();
    fs.rmSync(folder, { recursive: true, force: true });
  };
  try {
    await restart();
  } catch (error) {
    await stop();
    throw error;
  }
  const url = new URL(server);
  [url.hostname, url.port] = ["127.0.0.1", String(port)];
  return { url: url.href, kill, restart, stop };
}

interface Command {
  readonly program: string;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
}

/** Returns when PgBouncer accepts connections. */
async function launch({ program, flags, env, port }: Command): Promise<ChildProcess> {
  // Only this user may be able to enter the program's folder, so the program is opened before the user is changed.
  const child = spawn(program, flags, { env, stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const deadline = performance.now() + START_MS;
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await end(child);
      throw new Error(`PgBouncer did not start. Its log:\n${log}`);
    }
    await sleep(20);
  }
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(port, "127.0.0.1", () => {
      probe.destroy();
      resolve(true);
    });
    probe.on("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening) => probe.listen(0, "127.0.0.1", listening));
  const address = probe.address();
  await new Promise((closed) => probe.close(closed));
  if (typeof address !== "object" || address === null) throw new Error("no free port");
  return address.port;
}
