// The programs in examples/ as a user runs them: copied into a project that has installed the packed package, compiled there
// with the strictest options, and started as processes. Models are a fake API on this machine.

import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { installedAgents } from "../scripts/agents.ts";
import { withAgents } from "./agents/agents.ts";
import { startMachines } from "./agents/machine.ts";
import { postgresUrl } from "./engines.ts";
import { installPackage, packPackage, succeed } from "./packed.ts";
import { firstMissing, printsOf } from "./prints.ts";
import { Program, type ProgramOptions } from "./program.ts";

const root = path.resolve(import.meta.dirname, "..");
const examples = path.join(root, "examples");
const scratch = fs.realpathSync(fs.mkdtempSync(path.join(tmpdir(), "holdfast-examples-")));
const project = path.join(scratch, "project");
/** What the examples import, from the packages of this repository. */
const LINKED = ["@ai-sdk/openai", "@anthropic-ai/sdk", "@types/node", "openai", "postgres", "zod"];

beforeAll(async () => {
  installPackage(project, await packPackage(scratch));
  fs.cpSync(examples, project, { recursive: true });
  for (const name of LINKED) link(path.join(root, "node_modules", name), name);
  const agents = installedAgents();
  if (typeof agents !== "string") installClaudeSdk(agents.sdk);
}, 300_000);

const started: Program[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.kill()));
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

function runToEnd(example: string, options: ProgramOptions): Promise<string> {
  return start(example, options).done();
}

test("every example is in the list, and the list has no other", () => {
  const list = fs.readFileSync(path.join(examples, "README.md"), "utf8");
  const listed = [...list.matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1]);
  const files = fs.readdirSync(examples, { withFileTypes: true }).filter(({ name }) => name !== "README.md");
  expect(listed.toSorted()).toEqual(files.map((file) => (file.isDirectory() ? `${file.name}/` : file.name)).toSorted());
});

test("all of them compile in a strict project that checks every declaration", () => {
  const files = fs.readdirSync(examples, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const hasClaude = fs.existsSync(path.join(project, "node_modules/@anthropic-ai/claude-agent-sdk"));
  const compilerOptions = {
    ...{ module: "nodenext", target: "es2023", lib: ["es2024"], types: ["node"], noEmit: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
    ...{ erasableSyntaxOnly: true, verbatimModuleSyntax: true, allowImportingTsExtensions: true },
  };
  const compiled = files.filter((name) => hasClaude || !name.startsWith("claude"));
  fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: compiled }));
  succeed(project, "node", path.join(root, "node_modules/typescript/bin/tsc"), "-p", ".");
}, 180_000);

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
