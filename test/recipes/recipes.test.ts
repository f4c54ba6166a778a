// The recipes: their files are well-formed, and their shell lines do what they say, with the packed package and the real Claude Code,
// in a home that has nothing but these.
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { Response } from "miniflare";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { withAgents } from "../agents/agents.ts";
import { type Machine, type Machines, type Running, startMachines } from "../agents/machine.ts";
import { bundleWorker, startWorker } from "../edge/workerd.ts";
import { installPackage, packPackage } from "../packed.ts";
import { postgresUrl } from "../schemas.ts";
import { buildScript } from "./image.ts";
import { makeLauncher, type Registry, startRegistry } from "./registry.ts";
import { evaluateExpression, faultsInManifest, faultsInWorkflow } from "./schema.ts";

/** Building and packing take their time on a busy machine. */
const SETUP_MS = 300_000;
/** A user that owns nothing but the home that a test makes; only root can start a program as another user. */
const USER = process.getuid?.() === 0 ? 65_534 : undefined;
const folder = path.resolve(import.meta.dirname, "../../recipes");
const textOf = (name: string) => fs.readFileSync(path.join(folder, name), "utf8");

interface Step {
  readonly name?: string;
  readonly uses?: string;
  readonly run?: string;
}
interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: {
    readonly agent: {
      readonly if: string;
      readonly env: Readonly<Record<string, string>>;
      readonly steps: readonly Step[];
    };
  };
}
interface Job {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly securityContext: { readonly fsGroup: number };
        readonly volumes: readonly [{ readonly persistentVolumeClaim: { readonly claimName: string } }];
        readonly containers: readonly [
          {
            readonly env: readonly {
              readonly name: string;
              readonly value?: string;
              readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
            }[];
            readonly volumeMounts: readonly [{ readonly mountPath: string }];
            readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
          },
        ];
      };
    };
  };
}
interface Wrangler {
  readonly main: string;
  readonly compatibility_flags: readonly string[];
  readonly containers: readonly [{ readonly class_name: string }];
  readonly durable_objects: { readonly bindings: readonly [{ readonly name: string; readonly class_name: string }] };
  readonly hyperdrive: readonly [{ readonly binding: string }];
  readonly kv_namespaces: readonly [{ readonly binding: string }];
  readonly queues: {
    readonly producers: readonly [{ readonly queue: string; readonly binding: string }];
    readonly consumers: readonly [{ readonly queue: string; readonly max_retries: number }];
  };
  readonly vars: Readonly<Record<string, number>>;
}
const wrangler = () => JSON.parse(textOf("cloudflare/wrangler.jsonc")) as Wrangler;
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
  test("the workflow is one by GitHub's own schema, each step does one thing, and no script has text of others in it", () => {
    const text = textOf("github-actions/agent.yml");
    expect(faultsInWorkflow(text)).toEqual([]);
    const { steps } = workflow().jobs.agent;
    for (const { uses, run } of steps) {
      expect([uses, run].filter((one) => one !== undefined)).toHaveLength(1);
      expect(run ?? "").not.toContain("${{");
    }
    // It pushes a branch, and does nothing else that needs a permission.
    expect(workflow().permissions).toEqual({ contents: "write" });
    for (const [right, wrong] of [
      ["runs-on", "runs-om"],
      ["contents: write", "content: write"],
      ["contents: write", "contents: maybe"],
      ["issue_comment:", "issue_coment:"],
      ["github.event.issue.number", "gihub.event.issue.number"],
    ] as const) {
      expect(faultsInWorkflow(text.replace(right, wrong)), wrong).not.toEqual([]);
    }
  });

  test("the workflow lets in those who may write to the repository, and nobody else", () => {
    const may = (author_association: string, body: string) =>
      evaluateExpression(workflow().jobs.agent.if, { github: { event: { comment: { author_association, body } } } });
    for (const who of ["OWNER", "MEMBER", "COLLABORATOR"]) expect([who, may(who, "/agent go")]).toEqual([who, "true"]);
    for (const who of ["CONTRIBUTOR", "FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER", "MANNEQUIN", "NONE"]) {
      expect([who, may(who, "/agent go")]).toEqual([who, "false"]);
    }
    expect(may("OWNER", "what does /agent do?")).toBe("false");
  });

  test("the Job and its claim are such by the schemas of Kubernetes, and there is time to save", () => {
    expect(faultsInManifest(job())).toEqual([]);
    expect(job().spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30);
    const claim = parse(textOf("kubernetes/work.yaml"));
    expect(faultsInManifest(claim)).toEqual([]);
    // The claim that the Job names, at the working directory of the image, for the user of the image.
    const { volumes, containers, securityContext } = job().spec.template.spec;
    expect(volumes[0].persistentVolumeClaim.claimName).toBe(claim.metadata.name);
    const image = instructionsOf("docker/Dockerfile");
    expect(containers[0].volumeMounts[0].mountPath).toBe(image.findLast(([name]) => name === "WORKDIR")?.[1]);
    expect(image.find(([, rest]) => rest.startsWith("useradd"))?.[1]).toContain(`--uid ${securityContext.fsGroup} `);
    for (const [right, wrong] of [
      ["template:", "templat:"],
      ["image:", "imag:"],
      ["backoffLimit: 2", 'backoffLimit: "2"'],
      ["restartPolicy: Never", "restartPolicy: Nevr"],
      ["mountPath:", "mountpath:"],
      ["secretKeyRef:", "secretRef:"],
    ] as const) {
      expect(faultsInManifest(parse(textOf("kubernetes/job.yaml").replace(right, wrong))), wrong).not.toEqual([]);
    }
  });

  test.each(["recipes/kubernetes/job.yaml", "docs/recipes.md"])("%s says how to make the Secret of the Job", (name) => {
    const text = fs.readFileSync(path.join(folder, "..", name), "utf8").replaceAll(/\\\n#?/g, " ");
    const line = /kubectl create secret generic .*/.exec(text)?.[0] ?? "";
    const secret = line.split(" ")[4];
    const made = [...line.matchAll(/--from-literal=(\w+)=/g)].map(([, key]) => ({ name: secret, key }));
    const refs = job().spec.template.spec.containers[0].env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? []);
    expect(refs).toHaveLength(2);
    expect(made).toEqual(refs);
  });

  test("every recipe installs the tarball of this version unless it is told otherwise, and says what is not saved", () => {
    const { version } = JSON.parse(fs.readFileSync(path.join(folder, "../package.json"), "utf8"));
    for (const name of ["docker/Dockerfile", "cloudflare/Dockerfile"]) {
      expect(instructionsOf(name)).toContainEqual(["ARG", `HOLDFAST=./holdfast-${version}.tgz`]);
    }
    const { HOLDFAST = "" } = workflow().jobs.agent.env;
    const spec = (vars: object) => evaluateExpression(/\$\{\{ (.*) \}\}/.exec(HOLDFAST)?.[1] ?? "", { vars });
    expect(spec({})).toBe(`./.github/holdfast-${version}.tgz`);
    expect(spec({ HOLDFAST: "holdfast@9" })).toBe("holdfast@9");
    const files = ["docker/Dockerfile", "docker/entrypoint.sh", "github-actions/agent.yml", "cloudflare/container.mjs"];
    for (const name of [...files, "kubernetes/job.yaml"]) expect(textOf(name), name).toContain("working tree");
  });

  test.each(["docker/Dockerfile", "cloudflare/Dockerfile"])(
    "%s begins from an image, and copies what is there",
    (name) => {
      const instructions = instructionsOf(name);
      expect(instructions[0]?.[0]).toBe("FROM");
      const known = ["FROM", "ARG", "RUN", "COPY", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT"];
      expect(instructions.filter(([instruction]) => !known.includes(instruction))).toEqual([]);
      for (const [instruction, rest] of instructions) {
        if (instruction === "ENTRYPOINT") expect(JSON.parse(rest)).toEqual(expect.any(Array));
        if (instruction !== "COPY") continue;
        const sources = rest
          .split(" ")
          .filter((word) => !word.startsWith("--"))
          .slice(0, -1);
        for (const source of sources.filter((one) => !one.includes("*"))) {
          expect(fs.existsSync(path.join(folder, path.dirname(name), source)), source).toBe(true);
        }
      }
      // The agent has no rights of root.
      expect(instructions.findLast(([instruction]) => instruction === "USER")?.[1]).toBe("agent");
    },
  );

  test("wrangler.jsonc binds what the Worker uses, and the document names the secrets and what must be made", () => {
    const config = wrangler();
    const worker = textOf("cloudflare/worker.js");
    const doc = fs.readFileSync(path.join(folder, "../docs/recipes.md"), "utf8");
    const bound = [
      ...[...config.hyperdrive, ...config.kv_namespaces, ...config.queues.producers].map(({ binding }) => binding),
      ...config.durable_objects.bindings.map(({ name }) => name),
      ...Object.keys(config.vars),
      ...[...doc.matchAll(/wrangler secret put (\w+)/g)].map(([, name]) => name),
    ];
    const used = [...worker.matchAll(/\benv\.([A-Z_]+)/g)].map(([, name]) => name);
    expect(bound.toSorted()).toEqual([...new Set(used)].toSorted());
    expect(config.queues.producers[0].queue).toBe(config.queues.consumers[0].queue);
    expect(doc).toContain(`wrangler queues create ${config.queues.producers[0].queue}\n`);
    expect(doc).toContain(`wrangler kv namespace create ${config.kv_namespaces[0].binding}\n`);
    expect(config.compatibility_flags).toContain("nodejs_compat");
    expect(worker).toContain(`class ${config.containers[0].class_name} extends Container`);
    expect(fs.existsSync(path.join(folder, "cloudflare", config.main))).toBe(true);
  });

  test("the hook is the one that the guide shows", () => {
    const guide = fs.readFileSync(path.join(folder, "../docs/guide.md"), "utf8");
    expect(guide).toContain(textOf("claude-code/settings.json").trim());
  });
});

/** What the agent is asked to do in a shell: a commit of its own, and the tests of the project. */
const bash = (command: string) => `[[tool Bash ${JSON.stringify({ command, description: "work" })}]]`;
const COMMIT = bash("git add . && git commit -qm 'by the agent'");
const TEST = bash("npm test");
const PACKAGE = JSON.stringify({ scripts: { test: "echo passed > tested" } });
const REPOSITORY = `git init -q . && echo '${PACKAGE}' > package.json`;

withAgents("the recipes with the real Claude Code", (agents) => {
  let machines: Machines;
  let scratch: string;
  let tarball: string;
  let registry: Registry;
  beforeAll(async () => {
    scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-recipes-"));
    // The one that all tests share is root's own.
    const packed = await packPackage(scratch);
    tarball = path.join(scratch, path.basename(packed));
    fs.copyFileSync(packed, tarball);
    installPackage(path.join(scratch, "user"), tarball);
    machines = await startMachines(agents);
    // What is installed is root's own: another user gets copies of it.
    fs.mkdirSync(path.join(scratch, "programs"));
    for (const [name, file] of [["claude", agents.claude] as const, ["node", process.execPath] as const]) {
      fs.copyFileSync(file, path.join(scratch, "programs", name));
    }
    registry = await startRegistry(path.join(scratch, "registry"), [
      makeLauncher(
        path.join(scratch, "code"),
        "@anthropic-ai/claude-code",
        "claude",
        path.join(scratch, "programs/claude"),
      ),
      path.resolve(import.meta.dirname, "../../node_modules/postgres"),
    ]);
    fs.mkdirSync(path.join(scratch, "store"));
    fs.cpSync(folder, path.join(scratch, "recipes"), { recursive: true });
    if (USER !== undefined) fs.chownSync(path.join(scratch, "store"), USER, USER);
    for (const open of [scratch, machines.folder]) fs.chmodSync(open, 0o755);
  }, SETUP_MS);
  afterAll(async () => {
    registry?.close();
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

  /** Users, mounts and root directories are root's to make. */
  const asRoot = (title: string, body: () => Promise<void>) => {
    const isRoot = process.getuid?.() === 0;
    test.skipIf(!isRoot)(isRoot ? title : `${title} (skipped: not root)`, body);
  };

  /** What the image's user gets from a script, with the tarball beside the Dockerfile. */
  function inImage(name: string, script: string, more: Readonly<Record<string, string>> = {}): Running {
    const machine = machines.add();
    const context = path.join(scratch, `context-${path.dirname(name)}`);
    fs.cpSync(path.join(folder, path.dirname(name)), context, { recursive: true });
    fs.copyFileSync(tarball, path.join(context, path.basename(tarball)));
    const shared = [scratch, machines.folder];
    const lines = buildScript({ instructions: instructionsOf(name), context, shared, script });
    const npm = { npm_config_registry: registry.url, npm_config_update_notifier: "false" };
    const PATH = `/usr/local/bin:${path.join(scratch, "programs")}:/usr/sbin:/usr/bin:/sbin:/bin`;
    return machine.start("unshare", ["--mount", "sh", "-c", lines], { env: { ...npm, PATH, ...more } });
  }

  asRoot("Docker: the image installs what it needs, and its user works in a directory that is its own", async () => {
    const store = path.join(scratch, "image-store");
    fs.mkdirSync(store);
    fs.chmodSync(store, 0o777);
    const script = `id -u; pwd; holdfast --version; ${REPOSITORY}; "$@"; git log --format=%s; cat tested`;
    const more = {
      HOLDFAST_STORE: path.join(store, "agents.db"),
      REQUEST: "image",
      PROMPT: `Begin. ${COMMIT} ${TEST} [[say CODEWORD-1]]`,
    };
    const said = await inImage("docker/Dockerfile", script, more).done();
    expect(said).toMatch(/^10001\n\/home\/agent\/work\n\d+\.\d+\.\d+\nCODEWORD-1\nby the agent\npassed$/m);
    // With another package, or none, it is that one that npm looks for.
    const { code, stderr } = await inImage("docker/Dockerfile", "true", { HOLDFAST: "@yours/holdfast" }).ended;
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringMatching(/404[\s\S]*@yours\/holdfast/)]);
    expect(code).not.toBe(0);
    // Nothing of it is left on this machine.
    expect(fs.readFileSync("/etc/passwd", "utf8")).not.toContain(":10001:");
    expect(fs.existsSync("/opt/agent/entrypoint.sh")).toBe(false);
  });

  /** Until the server that was started last is there. */
  const LISTENING = "until grep -s listening said; do kill -0 $!; sleep 0.1; done; kill $!";
  asRoot("Cloudflare: the image has what its entry point starts", async () => {
    const commit = `${REPOSITORY}; git add . && git commit -qm made && git log --format=%s`;
    const programs = "holdfast --version; claude --version";
    const script = `id -u; pwd; ${programs}; ${commit}; "$@" > said & ${LISTENING}`;
    const said = await inImage("cloudflare/Dockerfile", script, { PORT: "0" }).done();
    expect(said).toMatch(/^10001\n\/home\/agent\/work\n\d+\.\d+\.\d+\n.*Claude Code\)\nmade\nlistening on \d+$/m);
  });

  test("GitHub Actions: two comments on an issue are one conversation and one branch, and the summary says what was done", async () => {
    const { env, steps } = workflow().jobs.agent;
    const step = (name: string) => steps.find((one) => one.name === name)?.run ?? "";
    const issue = { number: 7 };
    const given = (machine: Machine, body: string) => ({
      npm_config_registry: registry.url,
      npm_config_prefix: path.join(machine.home, "global"),
      PATH: `${path.join(machine.home, "global/bin")}:${path.join(scratch, "programs")}:${machine.env.PATH}`,
      GITHUB_STEP_SUMMARY: path.join(machine.home, "summary.md"),
      ...Object.fromEntries(
        Object.entries(env).flatMap(([name, text]) => {
          if (text.includes("secrets.")) return [];
          const contexts = { vars: {}, github: { event: { issue, comment: { body } } } };
          const value = text.replaceAll(/\$\{\{ (.*?) \}\}/g, (_, one: string) => evaluateExpression(one, contexts));
          return [[name, value]];
        }),
      ),
    });
    const origin = path.join(scratch, "store/origin");
    const maker = machines.add();
    const commit = "git -c user.name=a -c user.email=a@localhost commit -qm begin && git push -q origin HEAD";
    const begin = `git init -q --bare ${origin} && git clone -q ${origin} . && mkdir .github && cp ${tarball} .github/`;
    await shell(maker, `${begin} && echo '${PACKAGE}' > package.json && git add . && ${commit}`, {}).done();
    const runner = async (
      body: string,
      edit: string,
    ): Promise<{ readonly machine: Machine; readonly said: string }> => {
      const machine = machines.add({ cwd: "actions" });
      await shell(machine, `git clone -q ${origin} .`, {}).done();
      for (const name of ["Install", "Branch"]) await shell(machine, step(name), given(machine, body)).done();
      const said = await shell(machine, step("Work"), given(machine, body)).done();
      await shell(machine, edit, {}).done();
      for (const name of ["Push", "Report"]) await shell(machine, step(name), given(machine, body)).done();
      return { machine, said };
    };
    const first = await runner(
      "/agent It is CODEWORD-5; $(touch hacked) [[say noted]]",
      "[ ! -e hacked ] && echo one > one.txt",
    );
    await first.machine.die();
    const { machine, said } = await runner(
      `/agent And? ${bash("echo three > three.txt")} ${COMMIT} ${TEST} [[recall CODEWORD-\\d]]`,
      "cat one.txt && echo two > two.txt",
    );
    expect(said).toContain("CODEWORD-5");
    expect(fs.readFileSync(path.join(machine.home, "summary.md"), "utf8")).toContain("CODEWORD-5");
    const list = "git ls-tree --name-only origin/agent/issue-7 && git log --format=%s origin/agent/issue-7";
    const kept = await shell(maker, `git fetch -q && ${list}`, {}).done();
    const files = ["one.txt", "two.txt", "three.txt", "tested"];
    expect(kept.split("\n")).toEqual(expect.arrayContaining([...files, "by the agent", "Work on issue-7"]));
  });

  /** A machine with the hook in Claude Code's settings. */
  function withHook(): Machine {
    const machine = machines.add();
    fs.mkdirSync(path.join(machine.home, ".claude"), { recursive: true });
    fs.writeFileSync(path.join(machine.home, ".claude/settings.json"), textOf("claude-code/settings.json"));
    return machine;
  }

  test("the SessionEnd hook captures a session when it ends", async () => {
    const machine = withHook();
    const begin = 'claude -p "Begin. [[say CODEWORD-6]]"';
    await shell(machine, begin, { HOLDFAST_REQUEST: "by-hook" }).done();
    const told = await shell(machine, "holdfast handover --request by-hook", {}).done();
    expect(told).toContain("CODEWORD-6");
  });

  test("the SessionEnd hook does nothing without a request, names a missing store, and creates none", async () => {
    const machine = withHook();
    const begin = 'claude -p "Begin. [[say CODEWORD-7]]"';
    // Also what is not set at all, as opposed to empty.
    const ended = await shell(machine, `unset HOLDFAST_REQUEST; ${begin}`, { HOLDFAST_STORE: "" }).ended;
    expect(ended).toMatchObject({ code: 0, stdout: "CODEWORD-7\n", stderr: "" });
    const stored = await shell(machine, begin, { HOLDFAST_REQUEST: "" }).ended;
    expect(stored).toMatchObject({ code: 0, stderr: "" });
    const named = await shell(machine, `unset HOLDFAST_STORE; ${begin}`, { HOLDFAST_REQUEST: "no-store" }).ended;
    expect(named.stderr).toContain("HOLDFAST_STORE");
    expect(fs.readdirSync(machine.cwd)).toEqual([]);
  });

  /** `container.mjs` on a machine, with what the Worker gives a container as its environment. */
  async function startContainer(machine: Machine, env: Readonly<Record<string, string>>): Promise<number> {
    const stdoutFile = path.join(machine.home, "said.txt");
    const program = path.join(scratch, "recipes/cloudflare/container.mjs");
    const own = options(machine, { PORT: "0", HOLDFAST_STORE: "", ANTHROPIC_API_KEY: "", ...env });
    const serving = machine.start(path.join(scratch, "programs/node"), [program], { ...own, stdoutFile });
    await serving.until(() => grown(stdoutFile, "listening on"));
    return Number(/\d+/.exec(fs.readFileSync(stdoutFile, "utf8"))?.[0]);
  }

  test("Cloudflare: a container works on one request at a time, and turns others away", async () => {
    const machine = machines.add();
    const port = await startContainer(machine, { ANTHROPIC_API_KEY: "test-key" });
    const post = (prompt: string) =>
      fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: JSON.stringify({ prompt, session: null }) });
    const both = await Promise.all([post("[[say CODEWORD-1]]"), post("[[say CODEWORD-2]]")]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    // It is free again, also after a request that it cannot read.
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "{" })).status).toBe(500);
    const last = await post(`${bash(`${REPOSITORY} && npm test`)} [[say CODEWORD-3]]`);
    expect(await last.json()).toMatchObject({ code: 0, output: expect.stringContaining("CODEWORD-3") });
    expect(fs.readFileSync(path.join(machine.cwd, "tested"), "utf8")).toBe("passed\n");
  });

  test("CA6 Cloudflare: a Worker takes jobs, retries those that failed, and keeps sessions and answers", async () => {
    const sql = postgres(postgresUrl(), { max: 1, onnotice: () => {} });
    const database = `hf_recipe_${process.pid}`;
    await sql.unsafe(`CREATE DATABASE ${database}`);
    const url = new URL(postgresUrl());
    url.pathname = `/${database}`;
    const { durable_objects, kv_namespaces, queues, vars } = wrangler();
    const [{ queue, max_retries: maxRetries }] = queues.consumers;
    const [{ name, class_name }] = durable_objects.bindings;
    const containers = path.join(import.meta.dirname, "containers.js");
    const { code } = await bundleWorker(path.join(folder, "cloudflare/worker.js"), {
      "@cloudflare/containers": containers,
    });
    const attempts: number[] = [];
    let busy = 0;
    // A container for each attempt: nothing is left of the last one.
    const MACHINE = async (request: { text(): Promise<string>; headers: { get(name: string): string | null } }) => {
      if (busy-- > 0) return new Response("busy", { status: 409 });
      const container = machines.add({ cwd: "cloudflare" });
      const { port: inside, env } = JSON.parse(request.headers.get("start") ?? "");
      const port = await startContainer(container, env);
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: await request.text() });
      const text = await answer.text();
      await container.die({ keepsCwd: true });
      attempts.push(inside);
      return new Response(text, { status: answer.status });
    };
    const worker = startWorker(code, url.href, {
      bindings: { ...vars, BUSY_SECONDS: 0, ANTHROPIC_API_KEY: "test-key", TOKEN: "a-token" },
      durableObjects: { [name]: class_name },
      kvNamespaces: kv_namespaces.map(({ binding }) => binding),
      queueProducers: Object.fromEntries(queues.producers.map((one) => [one.binding, one.queue])),
      queueConsumers: { [queue]: { maxBatchSize: 1, maxBatchTimeout: 0, maxRetries, retryDelay: 0 } },
      serviceBindings: { MACHINE },
    });
    const headers = { authorization: "Bearer a-token" };
    const post = (body: unknown, by: Readonly<Record<string, string>> = headers) =>
      worker.dispatchFetch("http://worker/", { method: "POST", body: JSON.stringify(body), headers: by });
    /** The answer to a job after as many attempts. */
    const ask = async (prompt: string, tries: number) => {
      attempts.length = 0;
      const sent = await post({ request: "issue-9", prompt });
      expect(sent.status).toBe(202);
      const { id } = (await sent.json()) as { readonly id: string };
      return vi.waitFor(
        async () => {
          const answer = await worker.dispatchFetch(`http://worker/${id}`, { headers });
          expect([answer.status, attempts.length]).toEqual([200, tries]);
          const told = (await answer.json()) as { readonly attempt: number };
          expect(told.attempt).toBe(tries);
          return told;
        },
        { timeout: 120_000, interval: 100 },
      );
    };
    try {
      for (const by of [{}, { authorization: "Bearer other" }, { authorization: "Bearer undefined" }]) {
        expect((await post({ request: "issue-9", prompt: "[[say hacked]]" }, by)).status).toBe(401);
      }
      for (const body of [null, {}, { request: "", prompt: "x" }, { request: "issue-9", prompt: 7 }]) {
        expect((await post(body)).status).toBe(400);
      }
      expect((await worker.dispatchFetch("http://worker/", { headers })).status).toBe(404);
      expect(await ask("It is CODEWORD-8. [[say noted]]", 1)).toMatchObject({ code: 0, generation: 1 });
      // The busy container is asked again, and that is no failure.
      busy = maxRetries + 2;
      const second = await ask("And? [[recall CODEWORD-\\d]]", 1);
      expect(second).toMatchObject({ code: 0, generation: 2, output: expect.stringContaining("CODEWORD-8") });
      // Tried as often as the queue allows. The answer says how it failed, and the session is kept.
      const failed = await ask("LATE-9 [[error 400 invalid_request_error no]]", maxRetries + 1);
      expect(failed).toMatchObject({ code: 1, output: expect.stringContaining("400") });
      expect(await ask("[[recall LATE-\\d]]", 1)).toMatchObject({ code: 0, output: expect.stringContaining("LATE-9") });
      expect(attempts).toEqual([8080]);
      expect((await worker.dispatchFetch("http://worker/cdn-cgi/handler/scheduled")).status).toBe(200);
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
