// The real coding agents for tests: Claude Code with its Agent SDK, and OpenCode, at exact versions. They are 540 MB and
// partly proprietary, so they are no dependency of this package: each is installed on demand, once per user, into a
// folder of its own in the cache. `node scripts/agents.ts` installs them and prints where they are.
import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";

/** `claude` and `opencode` are the native programs, `sdk` is the folder of the Agent SDK's package. */
export interface AgentPaths {
  readonly claude: string;
  readonly sdk: string;
  readonly opencode: string;
}

export interface InstallOptions {
  /** The folder of the installed agents; default: `holdfast/agents` in $XDG_CACHE_HOME or ~/.cache. */
  readonly folder?: string;
  /** The npm to use; default: the one in the PATH. */
  readonly npm?: string;
  /** Prints progress; default: to standard error. */
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
}

interface Agent {
  readonly name: string;
  readonly version: string;
  readonly packages: readonly string[];
  readonly program: string;
  /** The text that the output of `--version` must contain. */
  readonly prints: string;
}

const INSTALL_TIMEOUT_MS = 10 * 60_000;
/** Unfinished folders this old are abandoned: no install takes so long. */
const ABANDONED_MS = 2 * INSTALL_TIMEOUT_MS;

/** Installs the agents that are not installed yet. Any number of processes may do so at once. */
export async function agentsFor<N extends keyof AgentPaths>(
  names: readonly N[],
  options: InstallOptions = {},
): Promise<Pick<AgentPaths, N>> {
  const folder = options.folder ?? agentsFolder();
  for (const name of names) {
    const agent = name === "opencode" ? opencode() : claude();
    if (!isInstalled(agent, folder)) await install(agent, folder, options);
  }
  return pathsIn(folder);
}

/** The program of one agent at an exact version, which is installed if it is not there yet. */
export async function agentAt(
  name: "claude" | "opencode",
  version: string,
  options: InstallOptions = {},
): Promise<string> {
  const folder = options.folder ?? agentsFolder();
  const agent = name === "opencode" ? opencode(version) : claudeAt(version);
  if (!isInstalled(agent, folder)) await install(agent, folder, options);
  return programOf(agent, folder);
}

/** Returns what is installed, without installing anything, or the reason for a skipped test why an agent cannot be used. */
export function installedAgents(folder = agentsFolder()): AgentPaths | string {
  try {
    const missing = [claude(), opencode()].filter((agent) => !isInstalled(agent, folder));
    if (missing.length === 0) return pathsIn(folder);
    const names = missing.map((agent) => `${agent.name} ${agent.version}`).join(" and ");
    return `${names} not installed; node scripts/agents.ts installs them`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export function agentsFolder(): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache"), "holdfast", "agents");
}

function pathsIn(folder: string): AgentPaths {
  const sdk = path.join(homeOf(claude(), folder), "node_modules", "@anthropic-ai", "claude-agent-sdk");
  return { claude: programOf(claude(), folder), sdk, opencode: programOf(opencode(), folder) };
}

function claude(): Agent {
  const native = `@anthropic-ai/claude-agent-sdk-${platform()}`;
  const packages = ["@anthropic-ai/claude-agent-sdk", native];
  return { name: "claude-agent-sdk", version: "0.3.325", packages, program: `${native}/claude`, prints: "2.1.325" };
}

/** Claude Code by itself: native programs since 2.1.110, a script for the Node of the PATH before. */
function claudeAt(version: string): Agent {
  const current = claude();
  if (version === current.prints) return current;
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  const isNative = major > 2 || (major === 2 && (minor > 1 || (minor === 1 && patch >= 110)));
  const packages = [`@anthropic-ai/claude-code${isNative ? `-${platform()}` : ""}`];
  const program = isNative ? `${packages[0]}/claude` : ".bin/claude";
  return { name: "claude-code", version, packages, program, prints: version };
}

/** The package opencode-ai only links the program of one of its native packages; that one alone is installed. */
function opencode(version = "1.18.33"): Agent {
  const native = `opencode-${platform()}${process.arch === "x64" && !hasAvx2() ? "-baseline" : ""}`;
  const program = `${native}/bin/opencode`;
  return { name: "opencode-ai", version, packages: [native], program, prints: version };
}

/** The platform, as both agents name it in their packages. */
function platform(): string {
  const { platform, arch } = process;
  if (!["linux", "darwin"].includes(platform) || !["x64", "arm64"].includes(arch)) {
    throw new Error(`the coding agents of the tests are not known for ${platform} ${arch}`);
  }
  return `${platform}-${arch}${platform === "linux" && isMusl() ? "-musl" : ""}`;
}

function isMusl(): boolean {
  const report = process.report.getReport();
  const header = "header" in report ? report.header : undefined;
  return !(typeof header === "object" && header !== null && "glibcVersionRuntime" in header);
}

function hasAvx2(): boolean {
  return process.platform === "linux" && /\bavx2\b/.test(fs.readFileSync("/proc/cpuinfo", "utf8"));
}

/** The platform is part of the name: a home may be shared by machines of several kinds. */
function homeOf({ name, version }: Agent, folder: string): string {
  return path.join(folder, `${name}@${version}-${platform()}`);
}

function programOf(agent: Agent, folder: string): string {
  return path.join(homeOf(agent, folder), "node_modules", agent.program);
}

/** A folder gets its name when it is complete. The program is checked all the same, because people and tools empty caches. */
function isInstalled(agent: Agent, folder: string): boolean {
  return fs.existsSync(programOf(agent, folder));
}

async function install(agent: Agent, folder: string, options: InstallOptions): Promise<void> {
  const { say = (line: string) => console.error(line), npm = "npm", signal } = options;
  fs.mkdirSync(folder, { recursive: true });
  removeAbandoned(folder);
  const started = performance.now();
  const unfinished = fs.mkdtempSync(path.join(folder, `.${agent.name}-`));
  try {
    say(`agents: installing ${agent.name} ${agent.version} into ${folder}`);
    await runNpm(npm, agent, unfinished, signal);
    prove(agent, unfinished);
    const others = place(unfinished, agent, folder);
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    say(`agents: ${agent.name} ${agent.version} ${others ? "came from another process" : `installed in ${seconds} s`}`);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${agent.name} ${agent.version} cannot be installed: ${why}`, { cause });
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Gives the finished folder its name. Returns true if another process was faster: then that process's folder stays. */
function place(finished: string, agent: Agent, folder: string): boolean {
  const home = homeOf(agent, folder);
  for (let attempt = 0; ; attempt++) {
    if (isInstalled(agent, folder)) return true;
    try {
      fs.renameSync(finished, home);
      return false;
    } catch (error) {
      if (attempt === 10) throw error;
      // The folder contains no program. It is moved away; a concurrent install then finds nothing to move.
      const trash = `${fs.mkdtempSync(path.join(folder, ".emptied-"))}/home`;
      if (!isInstalled(agent, folder) && fs.existsSync(home)) fs.renameSync(home, trash);
      fs.rmSync(path.dirname(trash), { recursive: true, force: true });
    }
  }
}

/** Installs into a folder with its own package.json, so that npm uses neither this repository's package.json nor its .npmrc. */
async function runNpm(npm: string, agent: Agent, cwd: string, signal: AbortSignal | undefined): Promise<void> {
  fs.writeFileSync(path.join(cwd, "package.json"), JSON.stringify({ private: true }));
  const flags = [
    "--omit=optional",
    "--omit=peer",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
    // Without a network, npm would try for more than a minute by default.
    "--fetch-retry-mintimeout=2000",
    "--fetch-retry-maxtimeout=10000",
    "--loglevel=error",
  ];
  const packages = agent.packages.map((name) => `${name}@${agent.version}`);
  const stop = AbortSignal.any([AbortSignal.timeout(INSTALL_TIMEOUT_MS), ...(signal ? [signal] : [])]);
  const child = spawn(npm, ["install", ...flags, ...packages], {
    cwd,
    env: npmEnvironment(),
    stdio: ["ignore", "ignore", "pipe"],
    signal: stop,
    killSignal: "SIGKILL",
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return;
  const lines = errors.split("\n").map((line) => line.replace(/^npm error\s*/, "").trim());
  const telling = lines.filter((line) => line !== "" && !/^at /.test(line)).slice(0, 5);
  throw new Error(`npm ended with ${code}: ${telling.join("; ")}`);
}

/** `npm test` sets variables about this package for its children. Only those that say how to reach a registry are passed on. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const reach = /^npm_config_(registry|cafile|ca|proxy|https_proxy|noproxy|cache|userconfig|globalconfig)$/i;
  const kept = Object.entries(process.env).filter(
    ([name]) => (!/^npm_|^NODE_OPTIONS$|^VITEST/i.test(name) && name !== "INIT_CWD") || reach.test(name),
  );
  return Object.fromEntries(kept);
}

/** Throws if the program does not run on this machine or is another version, so that its folder never gets its name. */
function prove({ program, prints }: Agent, unfinished: string): void {
  const home = fs.mkdtempSync(path.join(unfinished, "home-"));
  const env = { PATH: process.env.PATH, HOME: home, DISABLE_AUTOUPDATER: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" };
  const options = { env, cwd: home, encoding: "utf8", timeout: 60_000 } as const;
  const said = execFileSync(path.join(unfinished, "node_modules", program), ["--version"], options);
  if (!said.includes(prints)) throw new Error(`${path.basename(program)} --version says ${said.trim()}, not ${prints}`);
  fs.rmSync(home, { recursive: true, force: true });
}

/** Removes the folders of processes that were killed. */
function removeAbandoned(folder: string): void {
  for (const name of fs.readdirSync(folder).filter((name) => name.startsWith("."))) {
    const place = path.join(folder, name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = fs.statSync(place, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > ABANDONED_MS) fs.rmSync(place, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(JSON.stringify(await agentsFor(["claude", "sdk", "opencode"]), null, 2));
