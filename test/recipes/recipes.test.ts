// The recipes: their files are well-formed, and their shell lines do what they say, with the packed package and the real Claude Code,
// in a home that has nothing but these.
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { Response } from "miniflare";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { withAgents } from "../agents/agents.ts";
import { type Machine, type Machines, type Running, startMachines } from "../agents/machine.ts";
import { bundleWorker, startWorker } from "../edge/workerd.ts";
import { installPackage, packPackage } from "../packed.ts";
import { postgresUrl } from "../schemas.ts";
import { faultsIn, JOB, WORKFLOW } from "./schema.ts";

/** A user that owns nothing but the home that a test makes; only root can start a program as another user. */
const USER = process.getuid?.() === 0 ? 65_534 : undefined;
const folder = path.resolve(import.meta.dirname, "../../recipes");
const textOf = (name: string) => fs.readFileSync(path.join(folder, name), "utf8");

interface Step {
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly jobs: {
    readonly agent: { readonly env: Readonly<Record<string, string>>; readonly steps: readonly Step[] };
  };
}
interface Job {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value?: string }[];
            readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
          },
        ];
      };
    };
  };
}
const workflow = () => parse(textOf("github-actions/agent.yml")) as Workflow;
const job = () => parse(textOf("kubernetes/job.yaml")) as Job;

/** Instructions with what follows them; a comment is none. */
function instructionsOf(name: string): readonly (readonly [string, string])[] {
  const lines = textOf(name).replaceAll("\\\n", " ").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => [line.split(" ", 1)[0] ?? "", line.slice(line.indexOf(" ") + 1)]);
}

describe("the files of the recipes", () => {
  test("the workflow has the fields of one, each step does one thing, and no script has text of others in it", () => {
    expect(faultsIn(workflow(), WORKFLOW)).toEqual([]);
    const { steps } = workflow().jobs.agent;
    for (const { uses, run } of steps) {
      expect([uses, run].filter((one) => one !== undefined)).toHaveLength(1);
      expect(run ?? "").not.toContain("${{");
    }
    expect(faultsIn({ ...workflow(), job: {} }, WORKFLOW)).toEqual(["$.job is unknown"]);
    expect(faultsIn({ on: {}, jobs: { a: { steps: [] } } }, WORKFLOW)).toHaveLength(2);
  });

  test("the Job has the fields of one, and time to save", () => {
    expect(faultsIn(job(), JOB)).toEqual([]);
    expect(job()).toMatchObject({ apiVersion: "batch/v1", kind: "Job" });
    expect(job().spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30);
    expect(faultsIn({ ...job(), spec: {} }, JOB)).toEqual(["$.spec.template is missing"]);
  });

  test.each(["docker/Dockerfile", "cloudflare/Dockerfile"])(
    "%s begins from an image, and copies what is there",
    (name) => {
      const instructions = instructionsOf(name);
      expect(instructions[0]?.[0]).toBe("FROM");
      const known = ["FROM", "RUN", "COPY", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT"];
      expect(instructions.filter(([instruction]) => !known.includes(instruction))).toEqual([]);
      for (const [instruction, rest] of instructions) {
        if (instruction === "ENTRYPOINT") expect(JSON.parse(rest)).toEqual(expect.any(Array));
        if (instruction !== "COPY") continue;
        const [source = ""] = rest.split(" ").filter((word) => !word.startsWith("--"));
        expect(fs.existsSync(path.join(folder, path.dirname(name), source)), source).toBe(true);
      }
      // The agent has no rights of root.
      expect(instructions.findLast(([instruction]) => instruction === "USER")?.[1]).toBe("agent");
    },
  );

  test("wrangler.jsonc binds what the Worker uses", () => {
    const config = JSON.parse(textOf("cloudflare/wrangler.jsonc"));
    const worker = textOf("cloudflare/worker.js");
    for (const name of [...worker.matchAll(/\benv\.([A-Z]+)/g)].map(([, binding]) => binding)) {
      expect(JSON.stringify([config.hyperdrive, config.durable_objects])).toContain(`"${name}"`);
    }
    expect(config.compatibility_flags).toContain("nodejs_compat");
    expect(worker).toContain(`class ${config.containers[0].class_name} extends Container`);
    expect(fs.existsSync(path.join(folder, "cloudflare", config.main))).toBe(true);
  });

  test("the hook is the one that the guide shows", () => {
    const guide = fs.readFileSync(path.join(folder, "../docs/guide.md"), "utf8");
    expect(guide).toContain(textOf("claude-code/settings.json").trim());
  });
});

withAgents("the recipes with the real Claude Code", (agents) => {
  let machines: Machines;
  let scratch: string;
  beforeAll(async () => {
    scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-recipes-"));
    installPackage(path.join(scratch, "user"), await packPackage(scratch));
    machines = await startMachines(agents);
    // What is installed is root's own: another user gets copies of it.
    fs.mkdirSync(path.join(scratch, "programs"));
    for (const [name, file] of [["claude", agents.claude] as const, ["node", process.execPath] as const]) {
      fs.copyFileSync(file, path.join(scratch, "programs", name));
    }
    fs.mkdirSync(path.join(scratch, "store"));
    fs.cpSync(folder, path.join(scratch, "recipes"), { recursive: true });
    if (USER !== undefined) fs.chownSync(path.join(scratch, "store"), USER, USER);
    for (const open of [scratch, machines.folder]) fs.chmodSync(open, 0o755);
  });
  afterAll(async () => {
    await machines?.remove();
    fs.rmSync(scratch, { recursive: true, force: true });
  });

  /** The package's program in the PATH, as after its installation. */
  const envOf = (machine: Machine, more: Readonly<Record<string, string>>) => ({
    PATH: `${path.join(scratch, "user/node_modules/.bin")}:${path.join(scratch, "programs")}:${machine.env.PATH}`,
    HOLDFAST_STORE: path.join(scratch, "store/agents.db"),
    ...more,
  });
  const options = (machine: Machine, more: Readonly<Record<string, string>>) => {
    if (USER !== undefined) for (const one of [machine.home, machine.cwd]) give(one, USER);
    return { env: envOf(machine, more), ...(USER === undefined ? {} : { uid: USER }) };
  };
  const shell = (machine: Machine, script: string, more: Readonly<Record<string, string>>): Running =>
    machine.start("/bin/sh", ["-c", script], options(machine, more));

  test("CA2 Docker, Kubernetes: a container is told to end in mid-turn, and the next one continues", async () => {
    const entrypoint = path.join(scratch, "recipes/docker/entrypoint.sh");
    const [{ env, lifecycle }] = job().spec.template.spec.containers;
    const REQUEST = env.find(({ name }) => name === "REQUEST")?.value ?? "";
    const first = machines.add({ cwd: "docker-work" });
    await shell(first, entrypoint, { REQUEST, PROMPT: "The word is CODEWORD-3. [[say noted]]" }).done();
    const second = machines.add({ cwd: "docker-work" });
    const slow = "LATE-4 [[hang]]";
    const running = second.start(entrypoint, [], options(second, { REQUEST, PROMPT: slow }));
    const transcripts = path.join(second.home, ".claude/projects");
    await running.until(() => grown(transcripts, "LATE-4"));
    const [program = "", flag = "", script = ""] = lifecycle.preStop.exec.command;
    // In the container it is process 1.
    const stop = script.replaceAll(/(kill -\w+) 1\b/g, `$1 ${running.pid}`);
    await second.start(program, [flag, stop]).done();
    await running.ended;
    const third = machines.add({ cwd: "docker-work" });
    const answer = await shell(third, entrypoint, { REQUEST, PROMPT: "And? [[recall CODEWORD-\\d|LATE-\\d]]" }).done();
    expect(answer).toContain("CODEWORD-3");
    expect(answer).toContain("LATE-4");
    const refused = await shell(third, entrypoint, { REQUEST }).ended;
    expect(refused).toMatchObject({ code: expect.any(Number), stderr: expect.stringContaining("PROMPT") });
    expect(refused.code).not.toBe(0);
  });

  test("GitHub Actions: two comments on an issue are one conversation, and the summary says what was done", async () => {
    const { env, steps } = workflow().jobs.agent;
    const [work, report] = steps.flatMap(({ run }) => (run?.startsWith("holdfast") ? [run] : []));
    const values: Record<string, string> = { "github.event.issue.number": "7" };
    const given = (body: string) =>
      Object.fromEntries(
        Object.entries(env).flatMap(([name, text]) => {
          if (text.includes("secrets.")) return [];
          const all = { ...values, "github.event.comment.body": body };
          return [[name, text.replaceAll(/\$\{\{ ([\w.]+) \}\}/g, (_, key: string) => all[key as never] ?? "")]];
        }),
      );
    const runners = [machines.add({ cwd: "actions" }), machines.add({ cwd: "actions" })] as const;
    await shell(runners[0], work ?? "", given("/agent It is CODEWORD-5; $(touch hacked) [[say noted]]")).done();
    const said = await shell(runners[1], work ?? "", given("/agent And? [[recall CODEWORD-\\d]]")).done();
    expect(said).toContain("CODEWORD-5");
    expect(fs.existsSync(path.join(runners[0].cwd, "hacked"))).toBe(false);
    const summary = path.join(runners[1].home, "summary.md");
    await shell(runners[1], report ?? "", { ...given(""), GITHUB_STEP_SUMMARY: summary }).done();
    expect(fs.readFileSync(summary, "utf8")).toContain("CODEWORD-5");
  });

  test("the SessionEnd hook captures a session when it ends", async () => {
    const machine = machines.add();
    fs.mkdirSync(path.join(machine.home, ".claude"), { recursive: true });
    fs.writeFileSync(path.join(machine.home, ".claude/settings.json"), textOf("claude-code/settings.json"));
    const begin = 'claude -p "Begin. [[say CODEWORD-6]]"';
    await shell(machine, begin, { HOLDFAST_REQUEST: "by-hook" }).done();
    const told = await shell(machine, "holdfast handover --request by-hook", {}).done();
    expect(told).toContain("CODEWORD-6");
  });

  test("CA6 Cloudflare: a container without a database, and a Worker that keeps its sessions in PostgreSQL", async () => {
    const sql = postgres(postgresUrl(), { max: 1, onnotice: () => {} });
    const database = `hf_recipe_${process.pid}`;
    await sql.unsafe(`CREATE DATABASE ${database}`);
    const url = new URL(postgresUrl());
    url.pathname = `/${database}`;
    const { code } = await bundleWorker(path.join(import.meta.dirname, "worker.ts"));
    let port = 0;
    const worker = startWorker(code, url.href, {
      AGENT: async (request: { text(): Promise<string> }) => {
        const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: await request.text() });
        return new Response(await answer.text(), { status: answer.status });
      },
    });
    const ask = async (prompt: string) => {
      const container = machines.add({ cwd: "cloudflare" });
      const stdoutFile = path.join(container.home, "said.txt");
      const program = path.join(scratch, "recipes/cloudflare/container.mjs");
      const own = options(container, { PORT: "0", HOLDFAST_STORE: "" });
      const serving = container.start(path.join(scratch, "programs/node"), [program], { ...own, stdoutFile });
      await serving.until(() => grown(stdoutFile, "listening on"));
      port = Number(/\d+/.exec(fs.readFileSync(stdoutFile, "utf8"))?.[0]);
      const body = JSON.stringify({ request: "issue-9", prompt });
      const answer = await worker.dispatchFetch("http://worker/", { method: "POST", body });
      const text = await answer.text();
      await container.die({ keepsCwd: true });
      return text;
    };
    try {
      expect(JSON.parse(await ask("It is CODEWORD-8. [[say noted]]"))).toMatchObject({ code: 0, generation: 1 });
      const second = JSON.parse(await ask("And? [[recall CODEWORD-\\d]]"));
      expect(second).toMatchObject({ code: 0, generation: 2, output: expect.stringContaining("CODEWORD-8") });
      expect(await (await worker.dispatchFetch("http://worker/sweep")).json()).toBe(0);
    } finally {
      await worker.dispose();
      await sql.unsafe(`DROP DATABASE ${database} WITH (FORCE)`);
      await sql.end();
    }
  });
});

function give(folder: string, user: number): void {
  for (const name of ["", ...fs.readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    fs.lchownSync(path.join(folder, name), user, user);
  }
}

/** Whether that file, or a transcript below that folder, has the text in it by now. */
function grown(below: string, text: string): boolean {
  if (!fs.existsSync(below)) return false;
  if (fs.statSync(below).isFile()) return fs.readFileSync(below, "utf8").includes(text);
  const names = fs.readdirSync(below, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  return names.some((name) => fs.readFileSync(path.join(below, name), "utf8").includes(text));
}
