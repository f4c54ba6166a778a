// Files on their way to where they go: what is not what was captured never gets there.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import * as path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { newFolder } from "../../test/coding/claude-tree.ts";
import type { CapturedFile } from "../contracts/captures.ts";
import { sha256Hex } from "../core/bytes.ts";
import { type StagedOptions, Staging } from "./staging.ts";

let root: string;
let staging: Staging;
beforeEach(async () => {
  root = path.join(newFolder(), "root");
  staging = await Staging.createIn(root);
});

const CONTENT = Buffer.from("what was captured\n");
const FILE: CapturedFile = {
  role: "transcript",
  path: "a",
  size: CONTENT.byteLength,
  stored: CONTENT.byteLength,
  ref: `sha256:${sha256Hex(CONTENT)}`,
};

async function* bytes(...pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** As a bad disk would: behind what is being written there is more. */
async function* whileTheDiskFails(): AsyncGenerator<Uint8Array> {
  yield CONTENT;
  const [folder = ""] = readdirSync(root);
  const file = openSync(path.join(root, folder, "0"), "r+");
  writeSync(file, Buffer.from("x"), 0, 1, CONTENT.byteLength);
  closeSync(file);
}

const changing: StagedOptions = { change: (pieces) => pieces };
const ways: [string, StagedOptions][] = [
  ["as it is", {}],
  ["last", { last: true }],
  ["changed on the way", changing],
];

test("CA3 what killed restores left is removed later, but for copies of what was there before", async () => {
  await staging.close();
  const LONG_AGO = new Date(Date.now() - 2 * 3_600_000);
  const left = { old: "0", kept: "before-0", young: "0" };
  mkdirSync(root, { recursive: true });
  for (const [name, file] of Object.entries(left)) {
    const folder = path.join(root, `.holdfast-restore-${name}`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, file), "x");
    if (name !== "young") utimesSync(folder, LONG_AGO, LONG_AGO);
  }
  mkdirSync(path.join(root, "project"));
  utimesSync(path.join(root, "project"), LONG_AGO, LONG_AGO);
  await (await Staging.createIn(root)).close();
  expect(readdirSync(root).toSorted()).toEqual([".holdfast-restore-kept", ".holdfast-restore-young", "project"]);
});

describe.each([
  ["by descriptor", true],
  ["by path", false],
])("CA3 what leads out of the root is refused %s", (_, byDescriptor) => {
  const inside = () => path.join(root, "below");
  const outside = () => path.join(path.dirname(root), "outside");
  beforeEach(async () => {
    await staging.close();
    mkdirSync(inside(), { recursive: true });
    mkdirSync(outside());
    staging = await Staging.createIn(root, byDescriptor);
    await staging.add(FILE, path.join(inside(), "deep", "a"), bytes(CONTENT));
  });
  const expectNothing = () => {
    expect(readdirSync(outside())).toEqual([]);
    expect(readdirSync(root).filter((name) => name.startsWith("."))).toEqual([]);
  };

  test("a directory that became a link after files were staged", async () => {
    renameSync(inside(), path.join(root, "aside"));
    symlinkSync(outside(), inside());
    await expect(staging.place()).rejects.toMatchObject({ code: "InvalidArgument" });
    await staging.close();
    expectNothing();
  });

  test("a link in place of the file is replaced", async () => {
    mkdirSync(path.join(inside(), "deep"));
    symlinkSync(path.join(outside(), "a"), path.join(inside(), "deep", "a"));
    await staging.place();
    await staging.close();
    expectNothing();
    expect(readFileSync(path.join(inside(), "deep", "a"))).toEqual(CONTENT);
  });

  test("the root became another directory", async () => {
    renameSync(root, `${root}.aside`);
    symlinkSync(outside(), root);
    const placed = await staging.place().then(
      () => "placed",
      (error) => error.code,
    );
    // Where descriptors are paths, files go into the directory that was opened, wherever it is now.
    expect(placed).toBe(byDescriptor ? "placed" : "Conflict");
    await staging.close().catch(() => {});
    expect(readdirSync(outside())).toEqual([]);
  });

  test("a path that is not below it", async () => {
    await staging.add(FILE, path.join(outside(), "a"), bytes(CONTENT));
    await expect(staging.place()).rejects.toMatchObject({ code: "InvalidArgument" });
    await staging.close();
    expectNothing();
    expect(readdirSync(inside())).toEqual([]);
  });
});

describe.each(ways)("CA3 a file that is written %s", (_, options) => {
  const to = () => path.join(root, "a");
  const refused = { code: "BlobCorrupted", hint: /^Nothing was restored\. `npx holdfast check` reports/ };

  test("is there when all of them are right", async () => {
    await staging.add(FILE, to(), bytes(CONTENT.subarray(0, 4), CONTENT.subarray(4)), options);
    expect(existsSync(to())).toBe(false);
    await staging.place();
    await staging.close();
    expect(readFileSync(to())).toEqual(CONTENT);
    expect(readdirSync(root)).toEqual(["a"]);
  });

  test.each([
    ["as long, with another byte", Buffer.from("What was captured\n")],
    ["shorter", CONTENT.subarray(1)],
    ["longer", Buffer.concat([CONTENT, CONTENT])],
  ])("is refused when it is not what was captured: %s", async (_what, content) => {
    await expect(staging.add(FILE, to(), bytes(content), options)).rejects.toMatchObject(refused);
    await staging.place();
    await staging.close();
    expect(existsSync(root)).toBe(false);
  });

  test("is refused when the disk has something else than was written", async () => {
    await expect(staging.add(FILE, to(), whileTheDiskFails(), options)).rejects.toMatchObject(refused);
    await staging.place();
    await staging.close();
    expect(existsSync(root)).toBe(false);
  });
});
