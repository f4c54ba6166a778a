// The key is Claude Code's own rule; the expected names were seen on disk.
import { mkdirSync, symlinkSync } from "node:fs";
import * as path from "node:path";
import { describe, expect, test } from "vitest";
import { newFolder } from "../../../test/coding/claude-tree.ts";
import { checkProjectKey, configDirOf, fixedProjectKey, projectKey, projectKeyOf } from "./session-files.ts";

describe("CA3 the key of a directory", () => {
  test.each([
    ["/a/dot.dir/.hidden", "-a-dot-dir--hidden"],
    ["/a/under_score", "-a-under-score"],
    ["/a/with space", "-a-with-space"],
    ["/ünïcødé-日本", "--n-c-d----"],
    ["/smile😀", "-smile--"],
    ["/Case/Kept9", "-Case-Kept9"],
    ["/", "-"],
    ["C:\\Users\\me", "C--Users-me"],
  ])("%s is %s", (cwd, key) => {
    expect(projectKey(cwd, "linux")).toBe(key);
  });

  test("a name of more than 200 characters is cut, with a hash of the whole path", () => {
    const at200 = `/${"a".repeat(199)}`;
    expect(projectKey(at200, "linux")).toBe(`-${"a".repeat(199)}`);
    const key = projectKey(`${at200}b`, "linux");
    expect(key).toMatch(/^-a{199}-[0-9a-z]+$/);
    // Made by the rule in one line, so that another way of writing it would be seen.
    const hash = [...`${at200}b`].reduce((h, c) => (Math.imul(h, 31) + c.charCodeAt(0)) | 0, 0);
    expect(key).toBe(`-${"a".repeat(199)}-${Math.abs(hash).toString(36)}`);
    expect(projectKey(`${at200}c`, "linux")).not.toBe(key);
    // The hash is of the path, not of the name made of it.
    expect(projectKey(`${at200}.`, "linux")).not.toBe(projectKey(`${at200}_`, "linux"));
  });

  test("on macOS the path is composed first, elsewhere it is taken as it is", () => {
    const decomposed = "/cafe\u0301";
    expect(projectKey(decomposed, "darwin")).toBe("-caf-");
    expect(projectKey(decomposed, "linux")).toBe("-cafe-");
  });

  test("links in a path are followed, and a directory that is not there is named", async () => {
    const root = newFolder();
    mkdirSync(path.join(root, "real_dir"));
    symlinkSync("real_dir", path.join(root, "link"));
    expect(await projectKeyOf(path.join(root, "link/"))).toBe(projectKey(path.join(root, "real_dir")));
    await expect(projectKeyOf(path.join(root, "none"))).rejects.toMatchObject({ code: "MissingDirectory" });
  });
});

describe("CA3 the config directory", () => {
  test("is CLAUDE_CONFIG_DIR, or .claude in the home directory", () => {
    expect(configDirOf({ HOME: "/home/u" })).toBe("/home/u/.claude");
    expect(configDirOf({ HOME: "/home/u", CLAUDE_CONFIG_DIR: "/c/" })).toBe("/c");
    expect(configDirOf({ HOME: "/home/u", CLAUDE_CONFIG_DIR: "" })).toBe("/home/u/.claude");
    expect(() => configDirOf({})).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
  });

  test("a fixed key counts only beside CLAUDE_CONFIG_DIR, and only when it is a plain name", () => {
    const fixed = { CLAUDE_CODE_PROJECT_DIR_NAME: "box_1-a", CLAUDE_CONFIG_DIR: "/c" };
    expect(fixedProjectKey(fixed)).toBe("box_1-a");
    expect(fixedProjectKey({ ...fixed, CLAUDE_CONFIG_DIR: undefined })).toBe(null);
    for (const name of ["", "a.b", "../x", "a/b", "a".repeat(65), "ü"]) {
      expect(fixedProjectKey({ ...fixed, CLAUDE_CODE_PROJECT_DIR_NAME: name })).toBe(null);
    }
  });

  test("a key from elsewhere is the name of one directory", () => {
    expect(checkProjectKey("-a-b")).toBe("-a-b");
    for (const key of ["", ".", "..", "a/b", "a\0", "a".repeat(256)]) {
      expect(() => checkProjectKey(key)).toThrow(expect.objectContaining({ code: "InvalidArgument" }));
    }
  });
});
