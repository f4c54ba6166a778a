// --embedder and HOLDFAST_EMBEDDER against an embedding server on this machine: which requests it gets, what is found, and that no output
// has the key.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeEmbeddings, startFakeEmbeddings } from "../../test/fake-embeddings.ts";
import { EXIT } from "./exit.ts";
import { main } from "./main.ts";
import { captureOutput } from "./output-capture.ts";

const KEY = "sk-a-key-that-must-not-show";

let cwd: string;
let server: FakeEmbeddings;
let refusing: FakeEmbeddings;
let shown = "";

async function cli(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const result = await captureOutput(main, [...argv], { cwd, env: { HOLDFAST_EMBEDDER_KEY: KEY, ...env } });
  shown += result.stdout + result.stderr;
  return result;
}

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  server = await startFakeEmbeddings();
  refusing = await startFakeEmbeddings(() => ({ status: 401, json: { error: { message: `no such key ${KEY}` } } }));
  await cli(["init"]);
});

afterAll(async () => {
  await Promise.all([server.close(), refusing.close()]);
  rmSync(cwd, { recursive: true, force: true });
});

test("EM12 documents are embedded by the server that --embedder names, and found by words and meaning", async () => {
  const embedder = `openai:${server.url}/v1#nomic`;
  expect((await cli(["vectors", "add", "notes", "green tea", "black coffee", "--embedder", embedder])).code).toBe(
    EXIT.ok,
  );
  expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  const collection = JSON.parse((await cli(["vectors", "show", "notes", "--json"])).stdout);
  expect(collection).toMatchObject({ model: "openai/nomic@8", dimension: 8, embedded: 2 });
  const asked = server.requests.length;
  const found = await cli(["vectors", "search", "notes", "tea", "--json"], { HOLDFAST_EMBEDDER: embedder });
  const { mode, matches } = JSON.parse(found.stdout);
  expect([mode, matches.length, matches[0].content[0].text]).toEqual(["hybrid", 2, "green tea"]);
  // The store knows how long the vectors are: only the question is sent.
  expect(server.requests.slice(asked).map(({ body }) => body.input)).toEqual([["tea"]]);
  expect(JSON.parse((await cli(["vectors", "search", "notes", "tea", "--json"])).stdout).mode).toBe("text");
  for (const argv of [
    ["search", "tea"],
    ["memory", "add", "Ada likes tea"],
    ["memory", "search", "tea"],
  ]) {
    expect((await cli([...argv, "--embedder", embedder])).code).toBe(EXIT.ok);
  }
});

test("EM12 a command switches no store to another embedder", async () => {
  const { code, stderr } = await cli([
    "vectors",
    "search",
    "notes",
    "tea",
    "--embedder",
    `openai:${server.url}/v1#other@8`,
  ]);
  expect([code, stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining("openai/nomic@8, and --embedder is openai/other@8"),
  ]);
});

test("EM12 nor does a command whose server was asked for its dimensions while another one gave the store its embedder", async () => {
  const env = { HOLDFAST_STORE: path.join(cwd, "first.db") };
  await cli(["init"], env);
  const add = (embedder: string) => cli(["memory", "add", "Ada likes tea", "--embedder", embedder], env);
  const slow = await startFakeEmbeddings(async (_, count) => {
    if (count === 0) await add(`openai:${server.url}/v1#fast@8`);
    return null;
  });
  const refused = await add(`openai:${slow.url}/v1#slow`);
  await slow.close();
  expect([refused.code, refused.stderr]).toEqual([
    EXIT.usage,
    expect.stringContaining("openai/fast@8, and --embedder is openai/slow@8"),
  ]);
  expect(JSON.parse((await cli(["embeddings", "--json"], env)).stdout).model).toBe("openai/fast@8");
});

test("EM12 an embedder that fails says what to do, and what is added stays", async () => {
  const env = { HOLDFAST_STORE: path.join(cwd, "other.db") };
  const third = path.join(cwd, "third.db");
  for (const store of [env.HOLDFAST_STORE, third]) await cli(["init", "--store", store]);
  const embedder = `openai:${refusing.url}/v1#m@8`;
  const added = await cli(["vectors", "add", "notes", "green tea", "--embedder", embedder], env);
  expect([added.code, added.stdout]).toEqual([EXIT.ok, "1 document added to notes\n"]);
  expect(added.stderr).toContain("1 text has no embedding and is found by words");
  const found = await cli(["vectors", "search", "notes", "tea", "--embedder", embedder], env);
  expect(found.stdout).toContain("green tea");
  expect(found.stderr).toContain("found by words only");
  // Nobody has said how long its vectors are.
  const unsized = await cli(["search", "tea", "--embedder", `openai:${refusing.url}/v1#m`], { HOLDFAST_STORE: third });
  expect(unsized.code).not.toBe(EXIT.ok);
  expect(unsized.stderr).toContain("HOLDFAST_EMBEDDER_KEY");
});

test("EM12 a text that names no embedder is refused without showing it", async () => {
  for (const embedder of [
    "nomic",
    `openai:${KEY}`,
    `openai:#${KEY}`,
    `openai:ftp://${KEY}/v1#m`,
    `openai:http://me:${KEY}@127.0.0.1/v1#m`,
    `other:http://127.0.0.1/${KEY}#m`,
  ]) {
    const { code, stdout, stderr } = await cli(["search", "tea"], { HOLDFAST_EMBEDDER: embedder });
    expect([embedder, code, stdout, stderr]).toEqual([embedder, EXIT.usage, "", expect.stringContaining("embedder")]);
  }
  for (const size of ["0", "08", "4097", "123456"]) {
    const { code, stderr } = await cli(["search", "tea"], {
      HOLDFAST_EMBEDDER: `openai:http://127.0.0.1/v1#m@${size}`,
    });
    expect([size, code, stderr]).toEqual([size, EXIT.usage, expect.stringContaining("1 to 4096")]);
  }
  // Commands that do not search take none.
  expect((await cli(["memory"], { HOLDFAST_EMBEDDER: "nomic" })).code).toBe(EXIT.ok);
  expect(shown).not.toContain(KEY);
});
