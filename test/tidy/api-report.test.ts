// The report says what a package exports. That the committed api-report.md is up to date is a part of `npm run check`
// (scripts/check.ts).
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { apiReport, readProject, reportOn, staleness } from "../../scripts/api-report.ts";

const root = path.resolve(import.meta.dirname, "../..");

describe("apiReport", () => {
  const files = {
    "package.json": JSON.stringify({
      name: "example",
      exports: { ".": { types: "./dist/types/index.d.ts" }, "./package.json": "./package.json" },
    }),
    "tsconfig.json": readFileSync(path.join(root, "tsconfig.json"), "utf8").replace('"node"', ""),
    "src/index.ts": `
      export { Store, open as openStore } from "./store.ts";
      export type { Options } from "./store.ts";
      export const LIMIT = 10;`,
    "src/store.ts": `
      /** A comment. */
      export interface Options { /** Another. */ readonly path: string; readonly mode?: Mode }
      type Mode = "full" | "normal";
      interface Unreached { secret: true }
      export class Store {
        #secret = 1;
        private hidden: Unreached | undefined;
        get(key: string) { return { key, n: this.#secret }; }
      }
      export function open(options: Options): Promise<Store>;
      export function open(path: string): Promise<Store>;
      export async function open(options: Options | string) { return new Store(); }`,
  };

  function inFolder(check: (folder: string) => void): void {
    const folder = mkdtempSync(path.join(tmpdir(), "holdfast-api-"));
    try {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
        writeFileSync(path.join(folder, name), text);
      }
      check(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test("prints every exported name with its whole declaration, sorted, and nothing private", () => {
    inFolder((folder) => {
      expect(apiReport(folder).split("\n## ")[1]).toBe(`example

\`\`\`ts
const LIMIT = 10;
interface Options {
    readonly path: string;
    readonly mode?: Mode;
}
class Store { get(key: string): { key: string; n: number; }; }
// openStore
function open(options: Options): Promise<Store>;
function open(path: string): Promise<Store>;
\`\`\`

Reached through the above, not exported:

\`\`\`ts
type Mode = "full" | "normal";
\`\`\`
`);
    });
  });

  test("is the same from a program that has more files, and an older one is stale", () => {
    inFolder((folder) => {
      const report = apiReport(folder);
      mkdirSync(path.join(folder, "test"));
      writeFileSync(
        path.join(folder, "test/more.ts"),
        'import { LIMIT } from "../src/index.ts"; export default LIMIT;',
      );
      const { options, fileNames } = readProject(folder);
      expect(fileNames).toHaveLength(3);
      expect(reportOn(folder, ts.createProgram(fileNames, options))).toBe(report);
      expect(staleness(folder, report)).toContain("is stale");
      writeFileSync(path.join(folder, "api-report.md"), report);
      expect(staleness(folder, report)).toBeUndefined();
    });
  });
});
