// The programs in examples/ as a user runs them: copied into a project that has installed the packed package, compiled there
// with the strictest options, and started as processes. Models are a fake API on this machine.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { installedAgents } from "../scripts/agents.ts";
import { COMPILER } from "../scripts/compiler.ts";
import type { Decision } from "../src/contracts/decisions.ts";
import { open } from "../src/open.ts";
import { withAgents } from "./agents/agents.ts";
import { startMachines } from "./agents/machine.ts";
import { postgresUrl } from "./engines.ts";
import { type FakeAnswer, type FakeModels, type FakeRequest, type FakeScript, startFakeModels } from "./fake-models.ts";
import { packPackage, run, unpackPackage } from "./packed.ts";
import { firstMissing, printsOf } from "./prints.ts";
import { Program, type ProgramOptions } from "./program.ts";

const root = path.resolve(import.meta.dirname, "..");
const examples = path.join(root, "examples");
const scratch = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "holdfast-examples-")));
const project = path.join(scratch, "project");
/** What the examples import, from the packages of this repository. */
const LINKED = ["@ai-sdk/openai", "@anthropic-ai/sdk", "@types/node", "openai", "postgres", "zod"];

beforeAll(async () => {
  unpackPackage(project, await packPackage(scratch));
  fs.cpSync(examples, project, { recursive: true });
  for (const name of LINKED) link(path.join(root, "node_modules", name), name);
  const agents = installedAgents();
  if (typeof agents !== "string") installClaudeSdk(agents.sdk);
}, 300_000);

const started: Program[] = [];
const fakes: FakeModels[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.kill()));
  await Promise.all(fakes.splice(0).map((models) => models.close()));
});
afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

function link(target: string, name: string): void {
  const place = path.join(project, "node_modules", name);
  fs.mkdirSync(path.dirname(place), { recursive: true });
  fs.symlinkSync(target, place);
}

/**
 * The SDK is copied, because the compiler and Node look for what it imports from where it really is. Its native program is
 * linked. Tests install it without its peer for MCP, of which its types name a few.
 */
function installClaudeSdk(sdk: string): void {
  fs.cpSync(sdk, path.join(project, "node_modules/@anthropic-ai/claude-agent-sdk"), { recursive: true });
  for (const name of fs.readdirSync(path.dirname(sdk)).filter((one) => one.startsWith("claude-agent-sdk-"))) {
    link(path.join(path.dirname(sdk), name), `@anthropic-ai/${name}`);
  }
  const mcp = path.join(project, "node_modules/@modelcontextprotocol/sdk");
  const types = ["CallToolResult", "ElicitResult", "JSONRPCMessage", "ToolAnnotations"];
  fs.mkdirSync(path.join(mcp, "server"), { recursive: true });
  fs.writeFileSync(
    path.join(mcp, "package.json"),
    JSON.stringify({ name: "@modelcontextprotocol/sdk", type: "module" }),
  );
  fs.writeFileSync(path.join(mcp, "types.d.ts"), types.map((name) => `export type ${name} = object;\n`).join(""));
  fs.writeFileSync(path.join(mcp, "server/mcp.d.ts"), "export declare class McpServer {}\n");
}

/** An empty folder to run in: it stands for the machine, whatever is started in it. */
function machine(): string {
  return fs.mkdtempSync(path.join(scratch, "machine-"));
}

function start(example: string, options: ProgramOptions): Program {
  const program = new Program([path.join(project, example)], options);
  started.push(program);
  return program;
}

/** A fake API, and what points the SDKs to it. */
async function fakeModels(
  script: FakeScript,
): Promise<FakeModels & { readonly env: Readonly<Record<string, string>> }> {
  const models = await startFakeModels(script);
  fakes.push(models);
  const anthropic = { ANTHROPIC_BASE_URL: models.url, ANTHROPIC_API_KEY: "test" };
  return { ...models, env: { ...anthropic, OPENAI_BASE_URL: `${models.url}/v1`, OPENAI_API_KEY: "test" } };
}

interface ServerOptions extends ProgramOptions {
  readonly url: string;
}

/** With a port that is free now, and is the same when the server is started again. */
async function serverOptions(env: Readonly<Record<string, string>> = {}): Promise<ServerOptions> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return { cwd: machine(), env: { ...env, PORT: `${address.port}` }, url: `http://127.0.0.1:${address.port}` };
}

async function startServer(example: string, options: ServerOptions): Promise<Program> {
  const server = start(example, options);
  await server.until((output) => output.includes("listening on port"));
  return server;
}

function runToEnd(example: string, options: ProgramOptions): Promise<string> {
  return start(example, options).done();
}

test("every example is in the list, and the list has no other", () => {
  const list = fs.readFileSync(path.join(examples, "README.md"), "utf8");
  const listed = [...list.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1]);
  const files = fs.readdirSync(examples, { withFileTypes: true }).filter(({ name }) => name !== "README.md");
  expect(listed.toSorted()).toEqual(files.map((file) => (file.isDirectory() ? `${file.name}/` : file.name)).toSorted());
});

/** Each marked line must not compile. */
const MISTAKES = `import { defineAgent, type Holdfast, shape, tool, toolLoop } from "holdfast";
import { z } from "zod";

declare const hf: Holdfast;
const refund = tool({ input: z.object({ order: z.string() }), execute: ({ order }) => ({ refunded: order }) });
const agent = defineAgent({
  ...{ id: "a", version: "1" },
  input: shape<{ order: string }>(),
  tools: { refund },
  async iterate(it) {
    const { refunded } = await it.tools.refund(it.input);
    // @ts-expect-error: no such tool
    await it.tools.refnud({ order: "7" });
    // @ts-expect-error: no such tool
    await it.tool("refnud", { order: "7" });
    // @ts-expect-error: an order is a text
    await it.tools.refund({ order: 7 });
    // @ts-expect-error: the result has no such field
    (await it.tool("refund", { order: "7" })).receipt;
    return it.done(refunded);
  },
});
// @ts-expect-error: the input has an order
await hf.runs.execute(agent, { id: "r", session: "s", input: { item: "7" } });
// @ts-expect-error: no JSON Schema to show to the model
toolLoop({ id: "a", version: "1", model: () => "Hello.", tools: { ping: tool({ execute: () => null }) } });
`;

test("all of them compile in a strict project that checks every declaration, and mistakes do not", () => {
  fs.writeFileSync(path.join(project, "mistakes.ts"), MISTAKES);
  const files = fs.readdirSync(examples, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const hasClaude = fs.existsSync(path.join(project, "node_modules/@anthropic-ai/claude-agent-sdk"));
  const compiled = ["mistakes.ts", ...files.filter((name) => hasClaude || !name.startsWith("claude"))];
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2024"],
    types: ["node"],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
  };
  fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: compiled }));
  const { stdout, stderr } = run(project, ["node", COMPILER, "-p", ".", "--pretty", "false"]);
  const errors = stdout.split(/\n(?! )/).filter((error) => error !== "");
  // The AI SDK's own declarations do not compile with exactOptionalPropertyTypes, nor without the types of browsers.
  const ours = errors.filter((error) => !/^[^(]*\/node_modules\/@ai-sdk\/[^(]*\(/.test(error));
  expect({ ours, stderr }).toEqual({ ours: [], stderr: "" });
});

test.each(["idempotency.ts"])("%s prints what it says", async (name) => {
  const prints = printsOf(fs.readFileSync(path.join(examples, name), "utf8"));
  expect(prints).not.toEqual([]);
  const output = await runToEnd(name, { cwd: machine() });
  expect(firstMissing(output, prints), `what is not printed, or not in this order, of:\n${output}`).toBeUndefined();
});

test("crash-test.test.ts passes under Node's test runner", async () => {
  const program = new Program(["--test", path.join(project, "crash-test.test.ts")], { cwd: machine() });
  expect(await program.done()).toMatch(/crashed at \d+ points[\s\S]*\bpass 2\n[\s\S]*\bfail 0\n/);
});

const TOOL_LOOPS = [
  { example: "tool-loop-anthropic.ts", args: [], api: "anthropic" },
  { example: "tool-loop-openai.ts", args: [], api: "openai-responses" },
  { example: "tool-loop-openai.ts", args: ["chat"], api: "openai-chat" },
  { example: "tool-loop-ai-sdk.ts", args: [], api: "openai-responses" },
];

/** Asks for the refund of order 7, and answers when it has the result. */
const refundOrder: FakeScript = ({ turns }) =>
  turns.at(-1)?.results.length === 0
    ? { text: "One moment.", tools: [{ name: "refund", input: { order: "7" } }] }
    : { text: "Order 7 is refunded." };

describe("tool loops", () => {
  test.each(TOOL_LOOPS)("$example $args answers, and started again it gives the same answer", async (loop) => {
    const models = await fakeModels(refundOrder);
    const options = { cwd: machine(), env: models.env, args: loop.args };
    expect(await runToEnd(loop.example, options)).toBe("Order 7 is refunded.\n");
    expect(models.requests.map(({ api, tools }) => `${api} ${tools}`)).toEqual([
      `${loop.api} refund`,
      `${loop.api} refund`,
    ]);
    expect(await runToEnd(loop.example, options)).toBe("Order 7 is refunded.\n");
    expect(models.requests).toHaveLength(2);
    expect(refunds(options.cwd)).toEqual([{ order: "7" }]);
  });

  test("killed in each model call and started again, it refunds once and leaves the transcript of an undisturbed run", async () => {
    const script = (request: FakeRequest): FakeAnswer => {
      const answer = refundOrder(request);
      return request.count % 2 === 0 && "text" in answer ? { stall: answer } : answer;
    };
    const models = await fakeModels(script);
    const options = { cwd: machine(), env: models.env };
    for (const asked of [1, 3]) {
      const program = start("tool-loop-anthropic.ts", options);
      await program.until(() => models.requests.length === asked);
      await program.kill();
    }
    expect(await runToEnd("tool-loop-anthropic.ts", options)).toBe("Order 7 is refunded.\n");
    expect(models.requests).toHaveLength(4);
    expect(refunds(options.cwd)).toEqual([{ order: "7" }]);

    const undisturbed = { cwd: machine(), env: (await fakeModels(refundOrder)).env };
    await runToEnd("tool-loop-anthropic.ts", undisturbed);
    expect(await transcript(options.cwd)).toEqual(await transcript(undisturbed.cwd));
  });

  function refunds(cwd: string): unknown[] {
    const files = fs.readdirSync(cwd).filter((name) => name.startsWith("refund-"));
    return files.map((name) => JSON.parse(fs.readFileSync(path.join(cwd, name), "utf8")));
  }

  async function transcript(cwd: string): Promise<unknown[]> {
    const hf = await open(path.join(cwd, "support.db"));
    const messages = await hf.history.session("ticket-42");
    await hf.close();
    return messages.map(({ role, content }) => ({ role, content }));
  }
});

test("spawn.ts asks each researcher once, also when it is killed before the writer has answered", async () => {
  const facts: Readonly<Record<string, string>> = { tides: "Tides rise.", kelp: "Kelp holds fast." };
  const models = await fakeModels(({ turns, system, count }) => {
    const asked = turns.at(-1)?.text ?? "";
    if (system.startsWith("State")) return { text: facts[asked] ?? "" };
    return count === 2 ? { stall: { text: "Lost" } } : { text: asked.replace("\n", " ") };
  });
  const options = { cwd: machine(), env: models.env, args: ["tides", "kelp"] };
  const program = start("spawn.ts", options);
  await program.until(() => models.requests.length === 3);
  await program.kill();
  expect(await runToEnd("spawn.ts", options)).toBe("Tides rise. Kelp holds fast.\n4 model calls\n");
  expect(models.requests).toHaveLength(4);
});

test("remember.ts knows in a new session what the user said in earlier ones, and what has changed", async () => {
  const cwd = machine();
  const say = (words: string) => runToEnd("remember.ts", { cwd, args: [words] });
  expect(await say("where do I live?")).toBe("I know nothing about that.\n");
  expect(await say("I live in Paris")).toBe("I will remember: The user lives in Paris.\n");
  expect(await say("I live in Rome now")).toBe("I have changed: The user lives in Rome.\n");
  expect(await say("where do I live?")).toBe("The user lives in Rome.\n");
});

test("assistant.ts remembers across sessions, offline and with a model's API", async () => {
  const cwd = machine();
  const say = (words: string, env = {}) => runToEnd("assistant.ts", { cwd, args: [words], env });
  expect(await say("What do I drink?")).toBe("I do not know, stranger.\n");
  expect(await say("My name is Ada.")).toBe("I will remember that.\n");
  expect(await say("I drink green tea without sugar.")).toBe("I will remember that.\n");
  const known = "The user said: I drink green tea without sugar.";
  expect(await say("What do I drink?")).toBe(`Ada, I know this: ${known}\n`);
  const models = await fakeModels(({ system }) => ({
    text: `${system.includes("Called Ada.")} ${system.includes(`> ${known}`)}`,
  }));
  expect(await say("Tea?", models.env)).toBe("true true\n");
  expect(models.requests.map(({ tools }) => tools.includes("archival_memory_insert"))).toEqual([true]);
});

test("chat-server/: a server that is killed in the middle of an answer completes it for a client that reconnects", async () => {
  const models = await fakeModels(({ turns, count }) => {
    const answer = { text: `Answer ${(turns.length + 1) / 2}: tides rise and fall.` };
    return count === 0 ? { stall: answer } : answer;
  });
  const options = await serverOptions(models.env);
  const client = (id: string) => {
    const args = ["sea", id, `Question ${id}`];
    return start("chat-server/client.ts", { cwd: options.cwd, env: { CHAT_URL: options.url }, args });
  };
  const server = await startServer("chat-server/server.ts", options);
  const first = client("1");
  await first.until((output) => output === "Answer 1: tides");
  await server.kill();
  await first.until((output) => output.includes("(reconnecting)"));
  await startServer("chat-server/server.ts", options);
  expect(await first.done()).toMatch(/^Answer 1: tides\n(\(reconnecting\)\n\n?)+Answer 1: tides rise and fall\.\n$/);
  for (const _ of ["asked", "posted once more"]) {
    expect(await client("2").done()).toBe("Answer 2: tides rise and fall.\n");
  }
  expect(models.requests.map(({ turns }) => turns.length)).toEqual([1, 1, 3]);
});

test("approval-server.ts: a person is asked, also by the next server, and nothing is charged before", async () => {
  const options = await serverOptions();
  const call = async <Body = unknown>(target: string, body?: object) => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${options.url}${target}`, init);
    return { status: response.status, body: (await response.json()) as Body };
  };
  const pending = async (count: number) => {
    for (;;) {
      const { body } = await call<Pick<Decision, "id" | "run" | "reason">[]>("/pending");
      if (body.length >= count) return body;
      await sleep(20);
    }
  };
  const result = async (order: string) => {
    for (;;) {
      const { body } = await call<{ status: string }>(`/orders/${order}`);
      if (["completed", "failed"].includes(body.status)) return body;
      await sleep(20);
    }
  };
  const server = await startServer("approval-server.ts", options);
  const orders = [
    { id: "order-1", item: "kettle", eur: 40 },
    { id: "order-2", item: "car", eur: 40_000 },
  ];
  for (const order of [...orders, ...orders]) expect((await call("/orders", order)).status).toBe(200);
  expect(await call("/orders", { ...orders[0], eur: 1 })).toMatchObject({ status: 409, body: { code: "Conflict" } });
  await pending(2);
  await server.kill();
  await startServer("approval-server.ts", options);
  for (const { id, run, reason } of await pending(2)) {
    expect((await call(`/orders/${run}`)).body).toMatchObject({ status: "waiting" });
    const decision = `/decisions/${encodeURIComponent(id)}`;
    const answer = { approve: run === "order-1", by: "ada" };
    expect((await call(decision, { ...answer, reason: "in-doubt" })).status).toBe(409);
    expect(await call(decision, { ...answer, reason })).toEqual({ status: 200, body: { run } });
  }
  expect(await result("order-1")).toMatchObject({
    status: "completed",
    value: { eur: 40, receipt: expect.any(String) },
  });
  expect(await result("order-2")).toMatchObject({ status: "completed", value: "refused" });
  expect((await call("/pending")).body).toEqual([]);
});

describe("workers", () => {
  const schema = `hf_examples_${randomBytes(6).toString("hex")}`;
  afterAll(async () => {
    const sql = postgres(postgresUrl(), { max: 1, onnotice: () => undefined });
    await sql`DROP SCHEMA IF EXISTS ${sql(schema)} CASCADE`;
    await sql.end();
  });

  test("one of two is killed, and the other continues its runs", async () => {
    const url = new URL(postgresUrl());
    url.searchParams.set("schema", schema);
    const options = { cwd: machine(), env: { DATABASE_URL: url.href } };
    const workers = [start("workers/worker.ts", options), start("workers/worker.ts", options)] as const;
    const starter = start("workers/start.ts", options);
    await starter.until(() => workers.some(({ output }) => output.includes(" page 2\n")));
    const [doomed, other] = workers[0].output.includes(" page 2\n") ? workers : [workers[1], workers[0]];
    await doomed.kill();

    const reports = [1, 2, 3, 4, 5, 6].map((i) => `report-${i}`);
    const ended = reports.map((id) => `${id} completed { pages: 5 }\n`).join("");
    expect(await starter.done()).toBe(ended);
    expect(other.output).toMatch(/begun report-\d, recovering\n/);
    const pages = reports.flatMap((id) => [1, 2, 3, 4, 5].map((page) => `${id} page ${page}\n`));
    const written = `${doomed.output}${other.output}`;
    const times = pages.map((page) => written.split(page).length - 1);
    expect(Math.min(...times)).toBe(1);
    // Those that the kill cut off, at most, are written once more.
    expect(times.filter((count) => count > 1).length).toBeLessThanOrEqual(4);

    expect(await runToEnd("workers/start.ts", options)).toBe(ended);
    await other.kill("SIGTERM");
    expect(await other.done()).toBe(other.output);
  });
});

withAgents("claude-agent-sdk.ts", (agents) => {
  test("a program on another machine continues the conversation", async () => {
    const machines = await startMachines(agents);
    try {
      const store = path.join(machines.folder, "store.db");
      const ask = async (task: string) => {
        const { cwd, home, env } = machines.add();
        const own = { ...env, CLAUDE_CONFIG_DIR: path.join(home, ".claude"), HOLDFAST_STORE: store };
        return runToEnd("claude-agent-sdk.ts", { cwd, env: own, args: [task] });
      };
      expect(await ask("The word is CODEWORD-5. [[say noted]]")).toMatch(/^noted\n\d+ model calls in the store\n$/);
      expect(await ask("And? [[recall CODEWORD-\\d+]]")).toContain("CODEWORD-5");
    } finally {
      await machines.remove();
    }
  }, 300_000);
});
