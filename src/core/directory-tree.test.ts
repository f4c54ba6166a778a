// Directories below a root: the tree uses the directory that it opened, and detects an exchange.
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import * as path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newFolder } from "../../test/coding/claude-tree.ts";
import { DirectoryTree, OpenDirectory } from "./open-directory.ts";

let root: string;
let tree: DirectoryTree;
beforeEach(async () => {
  root = newFolder();
  for (let i = 0; i < 100; i++) mkdirSync(path.join(root, "a", String(i)), { recursive: true });
  tree = new DirectoryTree(await OpenDirectory.open(root), root);
});
afterEach(async () => {
  await tree.close();
  await tree.root.close();
});

function exchange(name: string, make: (at: string) => void): void {
  renameSync(path.join(root, name), path.join(root, "aside"));
  make(path.join(root, name));
}

test("CA3 paths that still lead to the opened directories pass the check", async () => {
  await tree.get(["a", "1"]);
  await expect(tree.requireSame()).resolves.toBeUndefined();
});

test.each([
  ["a link", "a/1", (at: string) => symlinkSync(path.dirname(at), at)],
  ["a link above it", "a", (at: string) => symlinkSync(path.join(path.dirname(at), "aside"), at)],
  ["another directory", "a/1", (at: string) => mkdirSync(at)],
  ["nothing", "a/1", () => {}],
])("CA3 a directory that became %s is detected after files were moved", async (_, name, make) => {
  await tree.get(["a", "1"]);
  exchange(name, make);
  await expect(tree.requireSame()).rejects.toThrow(/replaced|ENOTDIR|ELOOP|ENOENT/);
});

test("CA3 few directories are open at a time, and a closed one is not confused with another later", async () => {
  for (let i = 0; i < 100; i++) await tree.get(["a", String(i)]);
  exchange("a/0", (at) => mkdirSync(at));
  await expect(tree.get(["a", "0"])).rejects.toThrow(/not the directory that was used before/);
  // The directory that was used last is still open.
  await expect(tree.get(["a", "99"])).resolves.toMatchObject({ path: path.join(root, "a", "99") });
});
