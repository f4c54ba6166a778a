// How hints name this command and the installation of a package, by how the program was started.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { main, processIo } from "./main.ts";
import { Output } from "./output.ts";
import { captureOutput } from "./output-capture.ts";

describe("hints fit how the command was started", () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  });
  afterEach(() => rmSync(cwd, { recursive: true, force: true }));

  const printHint = (script: string, env: Readonly<Record<string, string>> = {}, at = cwd) =>
    new Output({ ...processIo(), script, env, cwd: at }, false).withCommands("`npx holdfast gc`; npm install postgres");

  test("in a project: through npx, and the package is installed there", () => {
    const script = path.join(cwd, "node_modules", ".bin", "holdfast");
    expect(printHint(script)).toBe("`npx holdfast gc`; npm install postgres");
    expect(printHint(script, {}, path.join(cwd, "src", "deep"))).toBe("`npx holdfast gc`; npm install postgres");
  });

  test("a project's command that was started outside of the project: by its path, which npx does not find", () => {
    const script = path.join(cwd, "my app", "node_modules", ".bin", "holdfast");
    const app = path.join(cwd, "my app");
    expect(printHint(script)).toBe(`\`'${script}' gc\`; npm install --prefix '${app}' postgres`);
    const file = path.join(cwd, "app", "node_modules", "holdfast", "bin", "holdfast.js");
    expect(printHint(file)).toBe(`\`node ${file} gc\`; npm install --prefix ${path.join(cwd, "app")} postgres`);
  });

  test("through npx without a project: the packages are given to npx", () => {
    const script = path.join(cwd, ".npm", "_npx", "1a2b", "node_modules", ".bin", "holdfast");
    expect(printHint(script)).toBe("`npx holdfast gc`; npx --package holdfast --package postgres holdfast …");
  });

  test("of a global install: by its name, and the package is installed globally", () => {
    const all = "`holdfast gc`; npm install --global postgres";
    expect(printHint("/usr/local/bin/holdfast")).toBe(all);
    writeFileSync(path.join(cwd, "holdfast"), "");
    expect(printHint("/usr/lib/node_modules/holdfast/bin/holdfast.js", { PATH: cwd })).toBe(all);
  });

  test("of a clone: through its script, which has the package", () => {
    const env = { npm_package_name: "holdfast", npm_lifecycle_event: "holdfast" };
    expect(printHint("/clone/scripts/holdfast.ts", env)).toBe("`npm run -s holdfast -- gc`; npm ci");
  });

  test("also in the errors of the command line", async () => {
    const script = path.join(cwd, "node_modules", ".bin", "holdfast");
    const { stderr } = await captureOutput(main, ["sessions", "show", "nope"], { cwd: tmpdir(), script });
    expect(stderr).toContain(`\`${script} init\``);
  });
});
