// holdfast vectors on a real store: documents in, matches out, what a mistake says, and that erased is gone.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const cli = (...argv: string[]) => captureOutput(main, ["vectors", ...argv], { cwd });

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  await (await open(path.join(cwd, "holdfast.db"))).close();
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const LINES = [
  '{"id":"tea","content":"About tea","embedding":[0.1,0.9],"metadata":{"year":2021}}',
  "",
  '{"id":"coffee","content":"About coffee","embedding":[0.9,0.1]}',
].join("\n");

test("documents are added, found, shown and erased", async () => {
  expect((await cli()).stdout).toBe("no collections\n");
  expect((await cli("add", "notes", LINES, "--model", "m-1")).stdout).toBe("2 documents added to notes\n");
  expect((await cli()).stdout).toBe(
    "COLLECTION  DOCUMENTS  EMBEDDED  NUMBERS  METRIC  MODEL\nnotes               2         2        2  cosine  m-1\n",
  );
  const found = await cli("search", "notes", "[0.1, 0.9]", "--limit", "1");
  expect(found.stdout).toBe('SCORE  ID   CONTENT    METADATA\n1.000  tea  About tea  {"year":2021}\n');
  const kept = await cli("search", "notes", "[1, 0]", "--filter", '{"year":{"gte":2020}}', "--json");
  expect(JSON.parse(kept.stdout)).toMatchObject({
    collection: "notes",
    matches: [{ id: "tea", metadata: { year: 2021 } }],
  });
  const shown = await cli("show", "notes", "coffee", "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    documents: [{ id: "coffee", embedding: [expect.closeTo(0.9), expect.closeTo(0.1)] }],
  });
  expect((await cli("show", "notes")).stdout).toContain("2, 2 with an embedding");
  expect((await cli("add", "notes", '{"id":"tea","content":"New"}', "--replace")).code).toBe(EXIT.ok);
  expect((await cli("rebuild", "notes")).stdout).toBe("2 documents indexed again\n");
  expect((await cli("rm", "notes", "coffee", "--yes")).stdout).toBe("1 document erased\n");
  expect((await cli("search", "notes", "[1, 0]")).stdout).toBe("no document has an embedding\n");
  expect((await cli("rm", "notes", "--all", "--yes")).stdout).toBe("1 document erased\n");
  expect((await cli("ls", "--json")).stdout).toContain('"collections": []');
});

test("a mistake is named, with what to do", async () => {
  await cli("add", "other", '{"id":"a","content":"a","embedding":[1,2]}');
  await cli("add", "named", '{"id":"a","content":"a","embedding":[1,2]}', "--model", "m-1");
  const mistakes: readonly (readonly [argv: readonly string[], code: number, says: string])[] = [
    [["search", "other", "[1]"], EXIT.refused, "1 numbers"],
    [["add", "other", '{"content":"b","embedding":[1,2]}', "--model", "m"], EXIT.refused, "leave --model out"],
    [["add", "named", '{"content":"b","embedding":[1,2]}'], EXIT.refused, 'pass --model "m-1"'],
    [["search", "other", '["1"]'], EXIT.usage, "list of numbers"],
    [["search", "other", "[1,"], EXIT.usage, "is not JSON"],
    [["add", "other", "notes.txt"], EXIT.notFound, "there is no file notes.txt"],
    [["search", "missing", "[1]"], EXIT.notFound, "`holdfast vectors` lists all collections"],
    [["search", "other", "[1, 2]", "--filter", '{"a":{"like":1}}'], EXIT.usage, "eq, ne, in"],
    [["show", "other", "b"], EXIT.notFound, 'no document "b"'],
    [["add", "other", '{"id":"a","content":"a"}'], EXIT.refused, "--replace"],
    [["add", "other", '{"content":"a"}\n{"content":'], EXIT.usage, "line 2"],
    [["rm", "other"], EXIT.usage, "--all"],
    [["rebuild", "missing"], EXIT.notFound, "lists all collections"],
  ];
  for (const [argv, code, says] of mistakes) {
    const { stderr, ...rest } = await cli(...argv);
    expect([argv, rest.code, rest.stdout]).toEqual([argv, code, ""]);
    expect(stderr).toContain(says);
  }
});

test("text files are added paragraph by paragraph, and found by words", async () => {
  const notes = "Green tea is brewed\nbelow 80 °C.\n\n\nEspresso needs nine bar.\n";
  writeFileSync(path.join(cwd, "notes.txt"), notes);
  expect((await cli("add", "docs", "notes.txt", "Ada takes tea without sugar")).stdout).toBe(
    "3 documents added to docs\n",
  );
  const found = await cli("search", "docs", "brewing", "green", "tea", "--limit", "1");
  expect(found.stdout.replace(/0\.\d{3}/, "SCORE")).toBe("notes.txt:1 SCORE\n    Green tea is brewed below 80 °C.\n");
  const json = JSON.parse((await cli("search", "docs", "tea", "--json")).stdout);
  expect([json.mode, json.matches.length, json.matches[0].signals[0].name]).toEqual(["text", 2, "text"]);
  const none = await cli("search", "docs", "wine");
  expect([none.stdout, none.stderr]).toEqual(["no document matches\n", expect.stringContaining("wine*")]);
  expect((await cli("add", "whole", "notes.txt", "--whole")).stdout).toBe("1 document added to whole\n");
  expect((await cli("show", "whole", "notes.txt")).stdout).toContain("Espresso");
  const german = ["Alte Häuser am Hafen", '{"content":"The houses","language":"english"}', "--language", "german"];
  expect((await cli("add", "docs", ...german)).code).toBe(EXIT.ok);
  expect((await cli("search", "docs", "Haus", "--json")).stdout).toContain("Häuser am Hafen");
  expect((await cli("search", "docs", "house")).stdout).toContain("The houses");
  const unknown = await cli("add", "docs", "a text", "--language", "de");
  expect([unknown.code, unknown.stderr]).toEqual([EXIT.usage, expect.stringContaining("german")]);
  expect((await cli("add", "docs", "notes.txt")).stderr).toContain("--replace");
  expect((await cli("add", "docs", "notes.txt", "--replace")).code).toBe(EXIT.ok);
});
