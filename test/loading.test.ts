// What a program loads before it can do anything is what it waits for. The files of the built package that each of these programs
// loads are named here, with their bytes, and so are the modules of Node that it must not load. Counted in real processes, not timed.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundle } from "../scripts/bundle.ts";

const root = path.resolve(import.meta.dirname, "..");
const scratch = fs.mkdtempSync(path.join(tmpdir(), "holdfast-loading-"));
const dist = path.join(scratch, "dist");

/** Tells every file of the package and every module of Node that was loaded, when the process ends. */
const WATCH = `data:text/javascript,
  import { registerHooks } from "node:module";
  const files = [];
  registerHooks({ load: (url, context, next) => { files.push(url); return next(url, context); } });
  const before = new Set(process.moduleLoadList);
  process.on("exit", () => {
    const modules = process.moduleLoadList.filter((name) => !before.has(name));
    process.stderr.write("LOADED" + JSON.stringify({ files, modules }));
  });`;

beforeAll(async () => {
  await bundle(dist);
  fs.cpSync(path.join(root, "bin"), path.join(scratch, "bin"), { recursive: true });
  fs.cpSync(path.join(root, "package.json"), path.join(scratch, "package.json"));
  load("--input-type=module", "--eval", program("await hf.history.append(scope, { role: 'user', content: 'hi' });"));
});

afterAll(() => fs.rmSync(scratch, { recursive: true, force: true }));

function program(body: string): string {
  return `const { open } = await import("./dist/index.js");
    const hf = await open("store.db");
    const scope = { session: "s", agent: "a" };
    ${body}
    await hf.close();`;
}

interface LoadedChunks {
  /** Chunks without their hash. */
  readonly names: readonly string[];
  readonly bytes: number;
  /** Of Node. */
  readonly modules: readonly string[];
}

function load(...argv: readonly string[]): LoadedChunks {
  const env = { PATH: process.env.PATH ?? "", HOME: scratch };
  const run = spawnSync(process.execPath, ["--import", WATCH, ...argv], { cwd: scratch, env, encoding: "utf8" });
  const [stderr, json] = run.stderr.split("LOADED");
  expect({ status: run.status, stderr }).toEqual({ status: 0, stderr: "" });
  const loaded = JSON.parse(json ?? "{}") as { readonly files: string[]; readonly modules: string[] };
  const urls = loaded.files.filter((url) => url.includes("/dist/"));
  const files = urls.map((url) => url.slice(url.indexOf("/dist/") + 6));
  const bytes = files.reduce((sum, file) => sum + fs.statSync(path.join(dist, file)).size, 0);
  const names = files.map((file) => file.replace(/^chunks\/(.+)-.{8}\.js$/, "$1"));
  return { names, bytes, modules: loaded.modules.map((name) => name.replace(/^(NativeModule|Internal Binding) /, "")) };
}

const command = (...argv: readonly string[]) => load("bin/holdfast.js", ...argv);
const use = (body: string) => load("--input-type=module", "--eval", program(body));

/** To load any of these takes longer than to read a page of a store. */
const SLOW = ["crypto", "fs/promises", "internal/fs/promises", "zlib", "child_process", "worker_threads", "perf_hooks"];

describe("what is loaded", () => {
  const append = "await hf.history.append(scope, { role: 'user', content: 'hi' });";
  const line = ["node-version.js", "cli.js", "core"];

  test.each([
    [
      "import and first append",
      () => use(append),
      // Of an embedder it has the checks of its settings, and what wakes it; all else is loaded with its first call.
      { files: ["index.js", "core", "node-version.js", "refusals", "store", "common"], kilobytes: 630 },
      SLOW.filter((name) => name !== "crypto"),
    ],
    ["holdfast --version", () => command("--version"), { files: line, kilobytes: 160 }, [...SLOW, "sqlite"]],
    [
      "holdfast --help",
      () => command("--help"),
      // The help of every command is in it: there is room for one or two more.
      { files: [...line, "command-help"], kilobytes: 308 },
      [...SLOW, "sqlite"],
    ],
    [
      "holdfast sessions",
      () => command("sessions", "--store", "store.db"),
      { files: [...line, "sessions", "store", "common", "nouns"], kilobytes: 890 },
      SLOW,
    ],
  ] as const)("%s: these files, and no slow module of Node", (_, run, { files, kilobytes }, slow) => {
    const { names, bytes, modules } = run();
    expect([...names].sort()).toEqual([...files].sort());
    expect(bytes / 1000, "kB loaded; a start that loads more needs a reason and a new bound here").toBeLessThanOrEqual(
      kilobytes,
    );
    expect(modules.filter((name) => slow.includes(name))).toEqual([]);
  });

  test("no file only passes on what another exports, or holds a character that makes V8 store it in two bytes each", () => {
    const files = fs.readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
    // What is imported by its name from outside, and shares its modules with others.
    const entries = ["coding.js", "demo-agent.js", "edge.js"];
    for (const file of files.filter((one) => !entries.includes(one))) {
      const text = fs.readFileSync(path.join(dist, file), "utf8");
      expect(text.replace(/^(import .*|export \{[^}]*\};|\/\/.*|)$/gm, "").trim(), file).not.toBe("");
      expect(/[^\0-\x7f]/.test(text), file).toBe(false);
    }
  });

  /** The files that these import, directly or through others, also with `import()`. */
  function importedBy(...files: readonly string[]): ReadonlySet<string> {
    const reached = new Set<string>();
    const pending = [...files];
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      const text = fs.readFileSync(path.join(dist, file), "utf8");
      for (const [, name = ""] of text.matchAll(/(?:\bfrom |\bimport\(|^import )"(\.[^"]+)"/gm)) {
        const target = path.posix.join(path.posix.dirname(file), name);
        if (!reached.has(target)) pending.push(target);
        reached.add(target);
      }
    }
    return reached;
  }

  test("nothing that a program imports loads the command line", () => {
    expect([...importedBy("cli.js")].join()).toMatch(/\bchunks\/gc-/);
    const library = importedBy("index.js", "claude.js", "coding.js", "edge.js", "testing.js");
    expect([...library].join()).toMatch(/\bchunks\/captures-.*\bchunks\/store-|\bchunks\/store-.*\bchunks\/captures-/);
    expect([...library]).not.toContain("cli.js");
  });

  test("no file imports itself", () => {
    const files = fs.readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
    const own = files.filter((file) =>
      fs.readFileSync(path.join(dist, file), "utf8").includes(`/${path.basename(file)}"`),
    );
    expect(own).toEqual([]);
  });

  test.each([
    ["nouns", "await hf.state.set('s', { a: 1 });"],
    ["runs", "await hf.runs.list();"],
    ["captures", "await hf.captures.list();"],
    ["check", "await hf.check();"],
    ["archives", "await hf.sessions.tree('s');"],
    ["trace", "await hf.trace('s');"],
  ])("%s is loaded when it is first called", (part, call) => {
    expect(use(`${append} ${call}`).names).toContain(part);
  });

  test("a command loads no other command", () => {
    const names = command("sessions", "--store", "store.db").names;
    expect(names).toContain("sessions");
    for (const other of ["demo", "messages", "worker", "blobs"]) expect(names).not.toContain(other);
  });
});

/** What a program in a process of its own prints, as JSON. */
function printed<T>(text: string): T {
  const env = { PATH: process.env.PATH ?? "", HOME: scratch };
  const argv = ["--input-type=module", "--eval", text];
  const { stdout, stderr } = spawnSync(process.execPath, argv, { cwd: scratch, env, encoding: "utf8" });
  expect(stderr).toBe("");
  return JSON.parse(stdout) as T;
}

describe("calls that wait for their code", () => {
  test("use their arguments as they were when the call was made", () => {
    const text = program(`
      const value = { list: [{ n: 1 }], bytes: 1 };
      const bytes = new Uint8Array([1, 2, 3]);
      const message = { role: "user", content: "as it was" };
      const calls = [
        hf.state.set("early", value),
        hf.blobs.store(bytes),
        hf.history.append({ session: "early", agent: "a" }, message),
      ];
      value.list[0].n = 2;
      value.list.push(3);
      bytes[0] = 9;
      message.content = "as it became";
      const [, ref] = await Promise.all(calls);
      const [{ content }] = await hf.history.get({ session: "early", agent: "a" });
      console.log(JSON.stringify({ state: await hf.state.get("early"), blob: [...(await hf.blobs.resolve(ref))], content }));`);
    expect(printed(text)).toEqual({
      state: { list: [{ n: 1 }], bytes: 1 },
      blob: [1, 2, 3],
      content: [{ type: "text", text: "as it was" }],
    });
  });

  test("happen in the order in which they were made, also before those whose code is there", () => {
    const text = program(`
      const state = hf.state.set("order", { a: 1 });
      const append = hf.history.append({ session: "order", agent: "a" }, { role: "user", content: "second" });
      await Promise.all([state, append]);
      const types = (await hf.log.read("order")).map(({ type }) => type);
      console.log(JSON.stringify(types));`);
    const types = printed<string[]>(text);
    expect(types.indexOf("message/added")).toBeGreaterThan(types.findIndex((type) => type.startsWith("state/")));
  });
});
