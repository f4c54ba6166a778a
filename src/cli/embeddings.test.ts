// Commands that embed: after failures of the embedder, everything that waits, and what searches by meaning say.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FakeEmbeddings, startFakeEmbeddings } from "../../test/fake-embeddings.ts";
import { open } from "../index.ts";
import { EXIT } from "./exit.ts";
import { main } from "./main.ts";
import { captureOutput } from "./output-capture.ts";

let cwd: string;
let server: FakeEmbeddings;
let failing: number | null = null;

const cli = (...argv: readonly string[]) => captureOutput(main, [...argv], { cwd, env: {} });
const toy = () => ["--embedder", `openai:${server.url}/v1#toy@8`];

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  server = await startFakeEmbeddings(() => (failing === null ? null : { status: failing, json: {} }));
});
beforeEach(() => {
  failing = null;
});
afterAll(async () => {
  await server.close();
  rmSync(cwd, { recursive: true, force: true });
});

async function statusOf(): Promise<{ pending: number; failure: unknown }> {
  const { kinds, failure } = JSON.parse((await cli("embeddings", "--json")).stdout);
  return { pending: kinds.memories.pending + kinds.messages.pending + kinds.documents.pending, failure };
}

test("EM12 a failure of an earlier command does not stop a later one", async () => {
  expect((await cli("memory", "add", "Ada drinks tea", ...toy())).stderr).toBe("");
  failing = 401;
  const refused = await cli("memory", "add", "Ada lives in Rome", ...toy());
  expect(refused.stderr).toMatch(/HTTP 401; 1 text has no embedding and is found by words; `holdfast embeddings run`/);
  failing = null;
  const added = await cli("memory", "add", "Ada has a dog", ...toy());
  expect([added.code, added.stderr]).toEqual([EXIT.ok, ""]);
  expect(await statusOf()).toEqual({ pending: 0, failure: null });
});

test("EM12 memory search says when it found by words only", async () => {
  failing = 401;
  const found = await cli("memory", "search", "tea", ...toy(), "--json");
  expect(JSON.parse(found.stdout)).toMatchObject({ mode: "text", warning: expect.stringContaining("by words only") });
  expect((await cli("memory", "search", "tea", ...toy())).stderr).toContain("found by words only");
  failing = null;
  const hybrid = await cli("memory", "search", "tea", ...toy(), "--json");
  expect(JSON.parse(hybrid.stdout)).toMatchObject({ mode: "hybrid", waiting: 0, warning: null });
  expect((await cli("memory", "search", " ")).code).toBe(EXIT.usage);
});

test("EM12 embeddings run embeds messages, and a search by meaning says what it found", async () => {
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "aaaa bbbb" });
  await hf.close();
  expect((await cli("embeddings", "run")).code).toBe(EXIT.usage);
  failing = 500;
  const broken = await cli("embeddings", "run", ...toy());
  expect([broken.code, broken.stderr]).toEqual([EXIT.error, expect.stringContaining("HTTP 500")]);
  failing = null;
  const done = await cli("embeddings", "run", ...toy(), "--json");
  expect([done.code, JSON.parse(done.stdout)]).toMatchObject([EXIT.ok, { stopped: false, failure: null }]);
  expect(await statusOf()).toEqual({ pending: 0, failure: null });
  const { stdout } = await cli("search", "aaab", ...toy());
  expect(stdout).toContain("a similar meaning");
  expect(stdout).not.toContain("beside a message");
  const shown = await cli("embeddings");
  expect(shown.stdout).toContain("openai/toy@8");
});

test("EM12 Ctrl-C ends embeddings run, and the next one goes on", async () => {
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.memory.save("Ada likes rain");
  await hf.close();
  const stopped = await captureOutput(main, ["embeddings", "run", ...toy(), "--json"], {
    cwd,
    env: {},
    signal: AbortSignal.abort(),
  });
  expect([stopped.code, JSON.parse(stopped.stdout).stopped]).toEqual([EXIT.ok, true]);
  expect((await cli("embeddings", "run", ...toy())).code).toBe(EXIT.ok);
});

test("EM12 only embeddings adopt switches a store to another embedder", async () => {
  const other = ["--embedder", `openai:${server.url}/v1#other@4`];
  expect((await cli("embeddings", "run", ...other)).stderr).toContain("holdfast embeddings adopt");
  const adopted = await cli("embeddings", "adopt", ...other, "--json");
  // The fake server gives eight numbers.
  expect([adopted.code, JSON.parse(adopted.stdout).model]).toEqual([EXIT.error, "openai/other@4"]);
  expect((await cli("embeddings", "adopt", ...toy())).code).toBe(EXIT.ok);
});

test("CK check counts documents and memories", async () => {
  const store = path.join(cwd, "counted.db");
  await cli("init", "--store", store);
  await cli("memory", "add", "Ada drinks tea", "--store", store);
  await cli("vectors", "add", "notes", "green tea", "black tea", "--store", store);
  expect((await cli("check", "--store", store)).stdout).toMatch(/2 documents, 1 memory/);
});

test("mistakes of searches and memories are named", async () => {
  const usages = [
    [["search", "tea", "--since", "yesterday"], "12h, 3d or 2026-11-01"],
    [["memory", "add", "tea", "--from", "2026-02-01", "--to", "2026-01-01"], "--to must be later than --from"],
  ] as const;
  for (const [argv, says] of usages) {
    const { code, stderr } = await cli(...argv);
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining(says)]);
  }
  expect((await cli("search", "flamingoz*")).stderr).toContain("(flami*)");
  await cli("memory", "add", "Ada drinks tea", "--agent", "plain");
  const { stderr } = await cli("memory", "promote", "--agent", "plain");
  expect(stderr).toMatch(/mem_\w+: The agent has no block facts .*hf\.agents\.saveBlocks/);
  const hf = await open(path.join(cwd, "holdfast.db"));
  const today = new Date() as unknown as number;
  await expect(hf.search("tea", { since: today })).rejects.toThrow("date.getTime()");
  await expect(hf.search("tea", { since: 2, until: 1 })).rejects.toThrow("since must be at most until");
  await expect(hf.memory.search("tea", { from: 2, to: 1 })).rejects.toThrow("from must be at most to");
  await expect(hf.search("tea", { limit: 100_000 })).rejects.toThrow(
    "limit is 100000, more than 1000 (the limit page)",
  );
  const home = { agent: "plain", subject: "Ada", attribute: "home" };
  const old = await hf.memory.save("Rome", home);
  await hf.memory.save("Oslo", home);
  await expect(hf.memory.pin(old.id, { agent: "plain" })).rejects.toMatchObject({ code: "Conflict" });
  await hf.close();
});
