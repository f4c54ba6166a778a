// The committed api-report.md says what the package exports now.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { apiReport, REPORT } from "../../scripts/api-report.ts";

const root = path.resolve(import.meta.dirname, "../..");

describe("api-report.md", () => {
  test("is up to date", () => {
    const report = apiReport(root);
    const file = path.join(root, REPORT);
    const committed = existsSync(file) ? readFileSync(file, "utf8") : "";
    expect(committed, `${REPORT} is stale: run npm run api-report and review the difference`).toBe(report);
  });
});

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

  test("prints every exported name with its whole declaration, sorted, and nothing private", () => {
    const folder = mkdtempSync(path.join(tmpdir(), "holdfast-api-"));
    try {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
        writeFileSync(path.join(folder, name), text);
      }
      expect(apiReport(folder).split("\n## ")[1]).toBe(`example

\`\`\`ts
const LIMIT = 10;
interface Options {
    readonly path: string;
    readonly mode?: Mode;
}
class Store {
    get(key: string): {
        key: string;
        n: number;
    };
}
// openStore
function open(options: Options): Promise<Store>;
function open(path: string): Promise<Store>;
\`\`\`

Reached through the above, not exported:

\`\`\`ts
type Mode = "full" | "normal";
\`\`\`
`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
