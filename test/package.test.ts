// What a user gets: the package is built, packed and installed into an empty project, offline, and used from there.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPILER } from "../scripts/compiler.ts";
import { scaled } from "../src/testing/scale.ts";
import { installPackage, packPackage, run, succeed } from "./packed.ts";

const root = path.resolve(import.meta.dirname, "..");
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));
const scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-package-"));
const project = path.join(scratch, "project");
let tarball = "";

/** From that folder, with "/". */
function filesOf(folder: string, pattern: RegExp): string[] {
  const names = fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.map((name) => name.replaceAll(path.sep, "/")).filter((name) => pattern.test(name));
}

beforeAll(async () => {
  tarball = await packPackage(scratch);
  installPackage(project, tarball);
}, 300_000);

afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

describe("the tarball", () => {
  const installed = path.join(project, "node_modules", manifest.name);
  const read = (file: string) => fs.readFileSync(path.join(installed, file), "utf8");

  test("holds everything that package.json lists, and no sources or tests", () => {
    expect(filesOf(installed, /./)).toEqual(expect.arrayContaining(manifest.files));
    // A recipe is there to be copied.
    const sources = filesOf(installed, /\.test\.|(?<!\.d)\.ts$/).filter((name) => !name.startsWith("recipes/"));
    expect(sources).toEqual([]);
  });

  test("holds a source map for every file of code, with the sources that it maps to", () => {
    // Some only lead to others.
    const isCode = (file: string) => !/^(import [^;]+;\s*)*(export \{[^}]+\};\s*)?$/.test(read(`dist/${file}`));
    const code = filesOf(path.join(installed, "dist"), /\.js$/).filter(isCode);
    expect(code).toContain("testing.js");
    for (const file of code) {
      expect(read(`dist/${file}`)).toMatch(new RegExp(`//# sourceMappingURL=${path.posix.basename(file)}\\.map\\n?$`));
      const { sources, sourcesContent } = JSON.parse(read(`dist/${file}.map`));
      expect(sourcesContent).toHaveLength(sources.length);
      expect(sourcesContent.every((text: unknown) => typeof text === "string")).toBe(true);
    }
  });

  test("holds every file that its pages link to", () => {
    const links = filesOf(installed, /\.md$/).flatMap((page) => {
      const targets = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? "");
      return targets.map((target) => ({ page, target, file: path.join(installed, path.dirname(page), target) }));
    });
    expect(links.map(({ target }) => target)).toContain("SPEC.md");
    const dead = links.filter(({ file }) => !file.startsWith(installed) || !fs.existsSync(file));
    expect(dead.map(({ page, target }) => `${page} links to ${target}`)).toEqual([]);
  });

  test("brings no dependencies", () => {
    const packages = fs.readdirSync(path.join(project, "node_modules")).filter((name) => !name.startsWith("."));
    expect(packages).toEqual([manifest.name]);
  });

  test("pleases publint", async () => {
    const bytes = new Uint8Array(fs.readFileSync(tarball)).buffer;
    const { messages, pkg } = await publint({ pack: { tarball: bytes }, level: "warning", strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test("has types that resolve (attw, profile esm-only)", () => {
    const attw = path.join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
    succeed(
      scratch,
      "node",
      attw,
      tarball,
      "--profile=esm-only",
      "--no-definitely-typed",
      "--format=ascii",
      "--no-color",
    );
  });
});

const USE = `
  import { open } from "holdfast";
  const hf = await open(":memory:");
  const scope = { session: "s", agent: "a" };
  await hf.history.append(scope, { role: "user", content: "hi" });
  const messages = await hf.history.get(scope);
  await hf.close();`;

describe("a project that installed it", () => {
  test("appends a message and reads it back", () => {
    fs.writeFileSync(
      path.join(project, "use.js"),
      `${USE}\nconsole.log(JSON.stringify(messages.map((m) => m.content)));`,
    );
    const { status, stdout, stderr } = run(project, ["node", "use.js"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual([[{ type: "text", text: "hi" }]]);
  });

  test.each(Object.keys(manifest.exports))("can import %s with nothing else installed", (subpath) => {
    const name = path.posix.join(manifest.name, subpath);
    const attributes = name.endsWith(".json") ? ', { with: { type: "json" } }' : "";
    succeed(project, "node", "--input-type=module", "--eval", `await import("${name}"${attributes})`);
  });

  test("gets one and the same HoldfastError from every entry", () => {
    const text = `
      import { HoldfastError, open } from "holdfast";
      import { claudeSessionStore } from "holdfast/claude";
      import { localAgent } from "holdfast/coding";
      import { openEdge } from "holdfast/edge";
      import { openaiEmbedder } from "holdfast/embedders";
      import { longTermMemory } from "holdfast/long-term-memory";
      import { memoryTools } from "holdfast/memory-tools";
      import { taskStore } from "holdfast/task-store";
      import { naiveModel } from "holdfast/testing";
      const hf = await open(":memory:");
      const failures = {
        "holdfast": () => hf.history.get({}),
        "a part that is loaded when it is used": () => hf.captures.files("none"),
        "holdfast/claude": () => claudeSessionStore(hf).load({}),
        "holdfast/coding": async () => localAgent("claude-code", { env: {} }),
        "holdfast/edge": () => openEdge("store.db"),
        "holdfast/embedders": async () => openaiEmbedder({ model: "m" }),
        "holdfast/long-term-memory": () => longTermMemory(hf).get(1, 1),
        "holdfast/memory-tools": async () => memoryTools(hf, {}),
        "holdfast/task-store": () => taskStore(hf).getTaskList(1),
        "holdfast/testing": () => naiveModel({ now: () => 0 }).sessions.list({ cursor: "none" }),
      };
      const caught = await Promise.all(Object.entries(failures).map(async ([entry, fail]) => {
        const error = await fail().then(() => null, (error) => error);
        return [entry, error instanceof HoldfastError ? "HoldfastError" : String(error)];
      }));
      await hf.close();
      console.log(JSON.stringify(Object.fromEntries(caught)));`;
    fs.writeFileSync(path.join(project, "errors.js"), text);
    const caught: Record<string, string> = JSON.parse(succeed(project, "node", "errors.js"));
    const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
    expect(Object.keys(caught)).toEqual(expect.arrayContaining(entries.map((one) => path.posix.join("holdfast", one))));
    expect(new Set(Object.values(caught))).toEqual(new Set(["HoldfastError"]));
  });

  // The other tests of the types compile with TypeScript 7.
  test("type-checks against the installed types with TypeScript 6", () => {
    const text = `${USE}
      const block = messages[0]?.content[0];
      export const text: string | undefined = block?.type === "text" ? block.text : undefined;
      // @ts-expect-error: if this were allowed, the types would not have been read
      await hf.history.get({ session: 1, agent: "a" });`;
    const compilerOptions = {
      module: "nodenext",
      target: "es2023",
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      // That the installed types are sound in themselves is tried below.
      skipLibCheck: true,
      typeRoots: [path.join(root, "node_modules/@types")],
      types: ["node"],
    };
    fs.writeFileSync(path.join(project, "use.ts"), text);
    fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts"] }));
    succeed(project, "node", path.join(root, "node_modules/typescript/bin/tsc"), "-p", ".");
  });

  // Nothing is skipped, and nothing but the language and the web's types is there to lean on.
  test.each(scaled({ short: ["es2022"], long: ["es2022", "esnext"] }))(
    "has types that are whole by themselves, for target %s",
    (target) => {
      const imports = ["holdfast", "holdfast/coding", "holdfast/edge", "holdfast/testing"].map(
        (name) => `export * from "${name}";`,
      );
      fs.writeFileSync(path.join(project, "whole.ts"), imports.join("\n"));
      const compilerOptions = {
        module: "nodenext",
        target,
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        types: [],
      };
      fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["whole.ts"] }));
      succeed(project, "node", COMPILER, "-p", ".");
    },
  );

  // The examples and the fixtures import the sources; here they import the package.
  test("compiles every use, and refuses every wrong use, in the strictest project (examples: test/examples.test.ts)", () => {
    const folder = path.join(scratch, "consumer");
    const modules = path.join(folder, "node_modules");
    fs.mkdirSync(modules, { recursive: true });
    fs.symlinkSync(path.join(project, "node_modules", manifest.name), path.join(modules, manifest.name));
    for (const name of Object.keys(manifest.devDependencies)) {
      fs.mkdirSync(path.dirname(path.join(modules, name)), { recursive: true });
      fs.symlinkSync(path.join(root, "node_modules", name), path.join(modules, name));
    }
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "consumer", type: "module" }));
    const files = ["test/fixtures/consumer"].flatMap((source) =>
      filesOf(path.join(root, source), /\.ts$/).map((name) => {
        const text = fs.readFileSync(path.join(root, source, name), "utf8");
        const file = path.join(folder, source, name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, text.replaceAll(/"(?:\.\.\/)+src\/index\.ts"/g, JSON.stringify(manifest.name)));
        return file;
      }),
    );
    expect(files.map((file) => path.basename(file))).toEqual(expect.arrayContaining(["usage.ts", "wrong.ts"]));
    const compilerOptions = {
      module: "nodenext",
      target: "es2023",
      lib: ["es2024", "dom"],
      noEmit: true,
      allowImportingTsExtensions: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      typeRoots: [path.join(root, "node_modules/@types")],
      types: ["node"],
    };
    fs.writeFileSync(path.join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    succeed(folder, "node", COMPILER, "-p", ".");
  }, 300_000);

  test("can be required from CommonJS, with nothing else installed", () => {
    fs.writeFileSync(path.join(project, "use.cjs"), 'console.log(typeof require("holdfast").open);');
    const { status, stdout, stderr } = run(project, ["node", "use.cjs"]);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "function\n", stderr: "" });
  });

  test("has a command, holdfast", () => {
    const { status, stdout, stderr } = run(project, ["npx", "--offline", "holdfast", "--help"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("holdfast");
  });
});

describe("an old Node", () => {
  const oldNode = olderNode();
  const line = /holdfast needs Node 22\.15 or newer; this is v\d+\.\d+\.\d+ \(.+\)\n/;
  const refusal = new RegExp(`^${line.source}$`);
  const advised = new RegExp(`^${line.source}  hint: .*npm install --save-dev node@24\\n$`);
  // What opens a store, and tells nothing but the failure.
  const opens = `import { isHoldfastError, open } from "holdfast"; import "holdfast/testing";
    await open(":memory:").catch((error) => {
      console.error(error.message);
      const isTold = isHoldfastError(error) && error.code === "MissingDependency" && /newer Node/.test(error.hint);
      process.exitCode = isTold ? 1 : 2;
    });`;

  describe.skipIf(oldNode === undefined)(
    oldNode ? "of this machine" : "of this machine (skipped: no Node older than 22.15 in the PATH)",
    () => {
      test("is refused by the command, which says what to do", () => {
        const { status, stdout, stderr } = run(project, ["npx", "--offline", "holdfast", "--help"], oldNode);
        expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
        expect(stderr).toMatch(advised);
      });

      test("is refused by open() in one line", () => {
        const { status, stdout, stderr } = run(project, ["node", "--input-type=module", "--eval", opens], oldNode);
        expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
        expect(stderr).toMatch(refusal);
      });

      test("is told so also when nobody catches it", () => {
        const { status, stderr } = run(project, ["node", "--input-type=module", "--eval", USE], oldNode);
        expect(status).toBe(1);
        expect(stderr).toMatch(new RegExp(`\nHoldfastError: ${line.source}`));
      });
    },
  );

  test.each(["v14.21.3", "v20.20.2", "v22.14.0", "v23.7.0"])("is refused by its version alone: %s", (version) => {
    // What it does not have must not even be asked for.
    const pretend = `data:text/javascript,
      import { registerHooks } from "node:module";
      const resolve = (name, context, next) => next(name === "node:sqlite" ? "node:nothing" : name, context);
      registerHooks({ resolve });
      Object.defineProperty(process, "version", { value: "${version}" });
      Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version.slice(1)}" } });`;
    const commands = [
      [[path.join(project, "node_modules/holdfast/bin/holdfast.js"), "--help"], advised],
      [["--input-type=module", "--eval", opens], refusal],
    ] as const;
    for (const [command, told] of commands) {
      const { status, stdout, stderr } = run(project, ["node", "--import", pretend, ...command]);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(stderr).toMatch(told);
      expect(stderr).toContain(version);
    }
  });

  /** One that npx itself can still run on. */
  function olderNode(): string | undefined {
    const nodes = (process.env.PATH ?? "").split(path.delimiter).map((folder) => path.join(folder, "node"));
    return nodes.filter(fs.existsSync).find((node) => {
      const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
      return /^v(20|21|22\.([0-9]|1[0-4]))\./.test(version);
    });
  }
});
