// Installing the coding agents (scripts/agents.ts) with an npm that downloads nothing: whatever happens on the way, only
// whole installs are ever used. That the true npm brings the true agents is seen by every test in test/agents.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { agentAt, agentsFor, installedAgents } from "../scripts/agents.ts";

const root = fs.mkdtempSync(path.join(tmpdir(), "holdfast-install-"));
const folder = path.join(root, "cache", "agents");
const calls = path.join(root, "calls");
const npm = path.join(root, "npm");
const lines: string[] = [];
const options = { folder, npm, say: (line: string) => void lines.push(line) };

/** Makes what the real one would, as far as the script looks at it; `first` is done before. */
function writeNpm({ first = "", prints = "2.1.325 1.18.33" } = {}): void {
  const script = `#!/bin/sh
echo "$PWD $npm_config_registry $npm_package_name $*" >> '${calls}'
${first}
for package in "$@"; do
  case "$package" in -*|install) continue;; esac
  home="node_modules/\${package%@*}"
  mkdir -p "$home/bin"
  mkdir -p node_modules/.bin
  for program in "$home/claude" "$home/bin/opencode" node_modules/.bin/claude; do
    printf '#!/bin/sh\\necho ${prints}\\n' > "$program"
    chmod +x "$program"
  done
done`;
  fs.writeFileSync(npm, script, { mode: 0o755 });
}

function names(): string[] {
  return fs.readdirSync(folder).map((name) => name.replace(/-(linux|darwin)-.*/, ""));
}

function npmCalls(): string[] {
  return fs.existsSync(calls) ? fs.readFileSync(calls, "utf8").trimEnd().split("\n") : [];
}

beforeEach(() => {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.rmSync(calls, { force: true });
  lines.length = 0;
  writeNpm();
});
afterAll(() => fs.rmSync(root, { recursive: true, force: true }));

describe("the coding agents", () => {
  test("are installed once, at exact versions, each into its own folder", async () => {
    expect(installedAgents(folder)).toMatch(/^claude-agent-sdk 0\.3\.325 and opencode-ai 1\.18\.33 not installed; /);
    const paths = await agentsFor(["claude", "sdk", "opencode"], options);
    expect(names()).toEqual(["claude-agent-sdk@0.3.325", "opencode-ai@1.18.33"]);
    for (const place of Object.values(paths)) expect(fs.existsSync(place)).toBe(true);
    expect(npmCalls()).toHaveLength(2);
    expect(npmCalls()[0]).toMatch(
      /@anthropic-ai\/claude-agent-sdk@0\.3\.325 @anthropic-ai\/claude-agent-sdk-\S+@0\.3\.325$/,
    );
    expect(lines).toHaveLength(4);

    expect(await agentsFor(["opencode", "claude"], options)).toEqual(paths);
    expect(installedAgents(folder)).toEqual(paths);
    expect(npmCalls()).toHaveLength(2);
  });

  test("are installed at other versions beside them, each once", async () => {
    writeNpm({ prints: "2.0.77 2.1.141 1.1.65" });
    const at = (name: "claude" | "opencode", version: string) => agentAt(name, version, options);
    const programs = [await at("claude", "2.0.77"), await at("claude", "2.1.141"), await at("opencode", "1.1.65")];
    expect(await at("claude", "2.0.77")).toBe(programs[0]);
    expect(names()).toEqual(["claude-code@2.0.77", "claude-code@2.1.141", "opencode-ai@1.1.65"]);
    for (const program of programs) expect(fs.existsSync(program)).toBe(true);
    const [script, native, opencode] = npmCalls();
    expect(script).toMatch(/@anthropic-ai\/claude-code@2\.0\.77$/);
    expect(native).toMatch(/@anthropic-ai\/claude-code-\S+@2\.1\.141$/);
    expect(opencode).toMatch(/opencode-\S+@1\.1\.65$/);
    expect(npmCalls()).toHaveLength(3);

    writeNpm();
    const { claude } = await agentsFor(["claude"], options);
    expect(await at("claude", "2.1.325"), "the version of all tests is not installed twice").toBe(claude);
  });

  test("are installed only if asked for", async () => {
    await agentsFor(["opencode"], options);
    expect(names()).toEqual(["opencode-ai@1.18.33"]);
    expect(installedAgents(folder)).toMatch(/^claude-agent-sdk 0\.3\.325 not installed/);
  });

  test("come from an npm that knows nothing of this package but how to reach its registry", async () => {
    const kept = { ...process.env };
    Object.assign(process.env, { npm_package_name: "holdfast", npm_config_registry: "somewhere" });
    try {
      await agentsFor(["opencode"], options);
    } finally {
      for (const name of ["npm_package_name", "npm_config_registry"]) {
        if (kept[name] === undefined) delete process.env[name];
        else process.env[name] = kept[name];
      }
    }
    const [cwd, registry, ...rest] = npmCalls()[0]?.split(" ") ?? [];
    expect(cwd).toContain(fs.realpathSync(folder));
    expect(registry).toBe("somewhere");
    expect(rest).not.toContain("holdfast");
  });

  test("are the same for many processes at once", async () => {
    writeNpm({ first: "sleep 0.3" });
    const script = `
      import { agentsFor } from ${JSON.stringify(pathToFileURL(path.resolve("scripts/agents.ts")).href)};
      await agentsFor(["claude", "opencode"], ${JSON.stringify({ folder, npm })});`;
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
    expect(codes).toEqual([0, 0, 0, 0]);
    expect(npmCalls().length, "they did not meet").toBeGreaterThan(2);
    expect(names()).toEqual(["claude-agent-sdk@0.3.325", "opencode-ai@1.18.33"]);
    expect(typeof installedAgents(folder)).toBe("object");
  });

  test("are not used when npm failed half way, or was stopped", async () => {
    const half = 'mkdir -p node_modules/half; echo "no network" >&2';
    writeNpm({ first: `${half}; exit 7` });
    await expect(agentsFor(["claude"], options)).rejects.toThrow(
      "claude-agent-sdk 0.3.325 cannot be installed: npm ended with 7: no network",
    );
    expect(names()).toEqual([]);

    writeNpm({ first: `${half}; exec sleep 60` });
    const stop = new AbortController();
    const installing = agentsFor(["claude"], { ...options, signal: stop.signal });
    const refused = expect(installing).rejects.toThrow("cannot be installed");
    // Not before it has made what it makes: a mkdir of its own would go on behind its end.
    const made = () => fs.readdirSync(folder, { recursive: true, encoding: "utf8" });
    await expect.poll(() => made().filter((name) => name.endsWith("node_modules/half"))).toHaveLength(1);
    expect(npmCalls()).toHaveLength(2);
    stop.abort();
    await refused;
    expect(names()).toEqual([]);

    writeNpm();
    await agentsFor(["claude"], options);
    expect(names()).toEqual(["claude-agent-sdk@0.3.325"]);
  });

  test("are not used when they do not run, or are another version", async () => {
    writeNpm({ prints: "9.9.9" });
    await expect(agentsFor(["claude"], options)).rejects.toThrow("claude --version says 9.9.9, not 2.1.325");
    writeNpm({ prints: "2.1.325; exit 3" });
    await expect(agentsFor(["claude"], options)).rejects.toThrow("cannot be installed");
    expect(names()).toEqual([]);
  });

  test("are installed again when somebody emptied the folder", async () => {
    const { claude } = await agentsFor(["claude"], options);
    fs.rmSync(claude);
    expect(await agentsFor(["claude"], options)).toMatchObject({ claude });
    expect(fs.existsSync(claude)).toBe(true);
    expect(names()).toEqual(["claude-agent-sdk@0.3.325"]);
  });

  test("leave nothing behind: folders of killed installs go when they are old", async () => {
    const [old, fresh] = [".opencode-ai-old", ".opencode-ai-new"].map((name) => path.join(folder, name));
    for (const place of [old, fresh]) fs.mkdirSync(place ?? "", { recursive: true });
    const yesterday = Date.now() / 1000 - 86_400;
    fs.utimesSync(old ?? "", yesterday, yesterday);
    await agentsFor(["opencode"], options);
    expect(names()).toEqual([".opencode-ai-new", "opencode-ai@1.18.33"]);
  });
});
