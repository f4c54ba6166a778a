// A machine for a coding agent: a home of its own, a working directory of any name, and an environment that contains
// nothing of the user that runs the tests. The agent talks to the fake APIs and to nothing else. A machine can die as a
// container does: every process killed, the home gone.
import { type ChildProcess, spawn } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentPaths } from "../../scripts/agents.ts";
import { open } from "../../src/open.ts";
import { COMPILED } from "../compiled.ts";
import { type FakeApis, type FakeApisOptions, startFakeApis } from "./fake-apis/server.ts";

export interface RunOptions {
  readonly input?: string;
  /** Killed then, and the run fails with what was said so far. Default: two minutes; they take seconds. */
  readonly timeoutMs?: number;
  /** Standard output goes there: `opencode export` through a pipe is cut off, with exit code 0. */
  readonly stdoutFile?: string;
  /** On top of the machine's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the machine's. */
  readonly cwd?: string;
  /** As another user. */
  readonly uid?: number;
}

export interface ProgramResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TurnOptions extends Omit<RunOptions, "input"> {
  /** More flags for the agent, such as `["--resume", id]`. */
  readonly args?: readonly string[];
}

export interface MachineOptions {
  readonly home?: string;
  readonly cwd?: string;
  /** Another version of Claude Code. */
  readonly claude?: string;
}

const TIMEOUT_MS = 120_000;

/** A scratch folder with machines in it and one fake API for all of them, for one test file. */
export async function startMachines(agents: AgentPaths, options: FakeApisOptions = {}): Promise<Machines> {
  return new Machines(agents, await startFakeApis(options));
}

/** The same with a store in the folder. A hook can return `remove`: Vitest calls it after the tests. */
export async function startMachinesWithStore(agents: AgentPaths) {
  const machines = await startMachines(agents);
  const hf = await open(path.join(machines.folder, "store.db"));
  const remove = async () => {
    await hf.close();
    await machines.remove();
  };
  return { machines, hf, remove };
}

export class Machines {
  /** Without symlinks, because agents name sessions by real paths. */
  readonly folder = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "holdfast-agents-")));
  readonly agents: AgentPaths;
  readonly api: FakeApis;
  readonly #all: Machine[] = [];

  constructor(agents: AgentPaths, api: FakeApis) {
    this.agents = agents;
    this.api = api;
  }

  /** Both are made; relative ones lie in the scratch folder. */
  add(options: MachineOptions = {}): Machine {
    const number = this.#all.length + 1;
    const home = path.resolve(this.folder, options.home ?? `home-${number}`);
    const cwd = path.resolve(this.folder, options.cwd ?? `work-${number}`);
    const agents = { ...this.agents, ...(options.claude === undefined ? {} : { claude: options.claude }) };
    const machine = new Machine(home, cwd, agents, this.api.url);
    this.#all.push(machine);
    return machine;
  }

  async remove(): Promise<void> {
    for (const machine of this.#all) await machine.endAll();
    await this.api.close();
    removeFolder(this.folder);
  }
}

export class Machine {
  readonly home: string;
  readonly cwd: string;
  /** For both agents, and for whatever starts them; they are in its PATH. */
  readonly env: Readonly<Record<string, string>>;
  readonly #agents: AgentPaths;
  readonly #running = new Set<Running>();

  constructor(home: string, cwd: string, agents: AgentPaths, apiUrl: string) {
    this.home = home;
    this.cwd = cwd;
    this.#agents = agents;
    this.env = { ...bareEnvironment(home, agents), ...claudeEnvironment(apiUrl), ...opencodeEnvironment(apiUrl) };
    fs.mkdirSync(path.join(home, "tmp"), { recursive: true });
    fs.mkdirSync(cwd, { recursive: true });
  }

  /** A turn of Claude Code with all tools allowed. */
  claude(prompt: string, { args = [], ...options }: TurnOptions = {}): Running {
    const flags = ["-p", "--model", MODEL, "--dangerously-skip-permissions", ...args];
    return this.start(this.#agents.claude, flags, { ...options, input: prompt });
  }

  /** A turn of OpenCode. The prompt goes in by stdin, because `opencode run` quotes its arguments once more. */
  opencode(prompt: string, { args = [], ...options }: TurnOptions = {}): Running {
    return this.start(this.#agents.opencode, ["run", "--format", "json", ...args], { ...options, input: prompt });
  }

  /** Another command of OpenCode, such as `["export", id]`. */
  opencodeCommand(args: readonly string[], options: RunOptions = {}): Running {
    return this.start(this.#agents.opencode, args, options);
  }

  /** Any program, in this machine's environment. */
  start(program: string, args: readonly string[], options: RunOptions = {}): Running {
    const running = new Running(program, args, this, options);
    this.#running.add(running);
    return running;
  }

  /** kill -9 for everything that runs on this machine, also for what has left its parent's process group. */
  async endAll(): Promise<void> {
    const all = [...this.#running];
    for (const running of all) running.killNow();
    const deadline = performance.now() + 10_000;
    for (let pids = processesOf(this.home); pids.length > 0; pids = processesOf(this.home)) {
      if (performance.now() > deadline) throw new Error(`processes ${pids.join(", ")} do not end`);
      for (const pid of pids) endNow(pid);
      await sleep(10);
    }
    await Promise.allSettled(all.map((running) => running.ended));
    this.#running.clear();
  }

  /** The container dies: its processes, its home and, unless it lay on a volume, its working directory are gone. */
  async die({ keepsCwd = false } = {}): Promise<void> {
    await this.endAll();
    removeFolder(this.home);
    if (!keepsCwd) removeFolder(this.cwd);
  }
}

export const MODEL = "claude-sonnet-4-5";

/** Starts from nothing, so that no key, proxy or setting of the caller leaks in. */
function bareEnvironment(home: string, agents: AgentPaths): Record<string, string> {
  const programs = [path.dirname(agents.claude), path.dirname(agents.opencode), process.env.PATH ?? ""];
  return {
    PATH: programs.join(path.delimiter),
    HOME: home,
    TMPDIR: path.join(home, "tmp"),
    LANG: "C.UTF-8",
    TERM: "dumb",
    ...COMPILED,
    ...SHORT_PROGRAMS,
  };
}

/** Both agents are programs of Bun that run for a second here: what its second compiler optimizes is not run again. */
const SHORT_PROGRAMS = { BUN_JSC_useDFGJIT: "0", BUN_JSC_numberOfGCMarkers: "1" };

/** No models but the fake one: OpenCode takes a second of processor time to read its own list of all. */
const NO_MODELS = path.resolve(import.meta.dirname, "fake-apis/no-models.json");

function claudeEnvironment(apiUrl: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: apiUrl,
    ANTHROPIC_API_KEY: "test-key",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    IS_SANDBOX: "1", // lets root skip permission prompts
  };
}

function opencodeEnvironment(apiUrl: string): Record<string, string> {
  const models = { "fake-model": { name: "Fake", tool_call: true, limit: { context: 200_000, output: 8_000 } } };
  const fake = {
    npm: "@ai-sdk/openai-compatible", // part of the program, not fetched
    name: "Fake",
    options: { baseURL: `${apiUrl}/v1`, apiKey: "test-key" },
    models,
  };
  const names = { model: "fake/fake-model", small_model: "fake/fake-model" };
  const config = { share: "disabled", autoupdate: false, ...names, provider: { fake }, permission: { "*": "allow" } };
  return {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_MODELS_PATH: NO_MODELS,
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    npm_config_registry: "http://127.0.0.1:9/", // its background install of a plugin fails at once, harmlessly
  };
}

/** A program on a machine. */
export class Running {
  readonly ended: Promise<ProgramResult>;
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #machine: Machine;
  #stdout = "";
  #stderr = "";
  #isOver = false;
  #isLate = false;

  constructor(program: string, args: readonly string[], machine: Machine, options: RunOptions) {
    this.#name = [path.basename(program), ...args].join(" ").slice(0, 200);
    this.#machine = machine;
    const output = options.stdoutFile === undefined ? "pipe" : fs.openSync(options.stdoutFile, "w");
    // Detached: in a process group of its own, which is killed as a whole.
    this.#child = spawn(program, args, {
      cwd: options.cwd ?? machine.cwd,
      env: { ...machine.env, ...options.env },
      stdio: ["pipe", output, "pipe"],
      detached: true,
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    });
    if (typeof output === "number") fs.closeSync(output);
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.#child.stdin?.on("error", () => undefined);
    this.#child.stdin?.end(options.input ?? "");
    const deadline = setTimeout(() => {
      this.#isLate = true;
      this.killNow();
    }, options.timeoutMs ?? TIMEOUT_MS);
    this.ended = new Promise<ProgramResult>((resolve, reject) => {
      this.#child.once("error", reject);
      // A background process may keep the pipes open for ever: a moment after the exit they are closed here.
      this.#child.once("exit", () => setTimeout(() => this.#closePipes(), 2_000).unref());
      this.#child.once("close", (code, signal) => {
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr });
      });
    }).finally(() => {
      clearTimeout(deadline);
      this.#isOver = true;
    });
    this.ended.catch(() => undefined);
  }

  #closePipes(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error(`${this.#name} did not start`);
    return pid;
  }

  /** Standard output of a run that must end well. */
  async done(): Promise<string> {
    const { code, signal, stdout, stderr } = await this.ended;
    if (code === 0) return stdout;
    throw new Error(`${this.#name} ended with ${this.#isLate ? "its deadline" : (code ?? signal)}: ${stderr}${stdout}`);
  }

  /** Waits for a moment in the middle of the run, such as the appearance of a file that a tool makes. */
  async until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (this.#isOver) throw new Error(`${this.#name} ended too early: ${this.#stderr}${this.#stdout}`);
      await sleep(10);
    }
  }

  /** kill -9 for the whole process group, and for everything else on the machine. */
  async kill(): Promise<ProgramResult> {
    this.killNow();
    await this.#machine.endAll();
    return await this.ended;
  }

  killNow(): void {
    if (this.#child.pid !== undefined && !this.#isOver) endNow(-this.#child.pid);
  }
}

/** A killed process may still be releasing its files. */
function removeFolder(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}

function endNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // it is gone already
  }
}

/** Every process that was started with this home; agents put tools into process groups of their own. */
function processesOf(home: string): number[] {
  if (process.platform !== "linux") return [];
  const pids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && environmentOf(pid).includes(`HOME=${home}`));
}

function environmentOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return []; // gone, or another user's
  }
}
