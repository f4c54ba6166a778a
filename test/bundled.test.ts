// What an app gets that bundles the package into its own files: the app's own program, which reads its own arguments. Bundled
// with esbuild from the installed package, in each format, and run in processes of their own.
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { type BuildOptions, build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packPackage, run, unpackPackage } from "./packed.ts";

const scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-bundled-"));
const project = path.join(scratch, "project");

/** Uses parts that are loaded on first use, and prints what came of it with its arguments. */
const APP = `
  import { defineAgent, open } from "holdfast";
  import { claudeSessionStore } from "holdfast/claude";
  import { localAgent } from "holdfast/coding";

  const echo = defineAgent({
    ...{ id: "echo", version: "1", tools: { double: { execute: async (n) => n * 2 } } },
    iterate: async (it) => it.done(await it.tool("double", 21)),
  });

  async function app() {
    const hf = await open("app.db");
    const scope = { session: "s", agent: "a" };
    await hf.history.append(scope, { role: "user", content: "hi" });
    await hf.state.set("s", { a: 1 });
    const result = {
      messages: (await hf.history.get(scope)).length,
      captures: (await hf.captures.list()).items.length,
      run: (await hf.runs.execute(echo, { session: "r" })).status,
      runs: (await hf.runs.list()).items.length,
      check: (await hf.check()).status,
      tree: (await hf.sessions.tree("s")).sessions.length,
      mirrored: (await claudeSessionStore(hf).listSessions("none")).length,
      entry: typeof localAgent,
      argv: process.argv.slice(2),
    };
    await hf.close();
    return result;
  }
  app().then((result) => console.log(JSON.stringify(result)));`;

const RESULT = {
  messages: 1,
  captures: 0,
  run: "completed",
  runs: 1,
  check: "ok",
  tree: 1,
  mirrored: 0,
  entry: "function",
};

const FORMATS: readonly (readonly [string, BuildOptions])[] = [
  ["one file of ECMAScript modules", { format: "esm", outfile: "esm/app.mjs" }],
  ["ECMAScript modules with shared chunks", { format: "esm", splitting: true, outdir: "split" }],
  ["one file of CommonJS", { format: "cjs", outfile: "cjs/app.cjs" }],
];

beforeAll(async () => {
  unpackPackage(project, await packPackage(scratch));
  fs.writeFileSync(path.join(project, "app.mjs"), APP);
}, 300_000);

afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

/** The file to run. */
async function bundled(options: BuildOptions): Promise<string> {
  const common = {
    absWorkingDir: project,
    bundle: true,
    platform: "node",
    logLevel: "silent",
    metafile: true,
  } as const;
  const { metafile, warnings } = await build({
    ...common,
    ...options,
    entryPoints: ["app.mjs"],
    outExtension: { ".js": ".mjs" },
    external: ["postgres", "@anthropic-ai/claude-agent-sdk"],
  });
  expect(warnings).toEqual([]);
  const [file] = Object.entries(metafile?.outputs ?? {}).find(([, { entryPoint }]) => entryPoint === "app.mjs") ?? [];
  return file ?? "none";
}

describe.each(FORMATS)("an app bundled to %s", (_, options) => {
  let file = "";

  beforeAll(async () => {
    file = await bundled(options);
  });

  test.each([["--port 3000"], ["gc"]])("runs as it does unbundled, with its own arguments: %s", (words) => {
    const argv = words.split(" ");
    fs.rmSync(path.join(project, "app.db"), { force: true });
    const { status, stdout, stderr } = run(project, ["node", file, ...argv]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ ...RESULT, argv });
  });
});
