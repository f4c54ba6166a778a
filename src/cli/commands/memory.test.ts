// holdfast memory on a real store: what it prints, JSON, exit codes, and where it says to look for a memory.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const cli = (...argv: string[]) => captureOutput(main, ["memory", ...argv], { cwd });
const ids: string[] = [];

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  const home = ["--subject", "Ada", "--attribute", "home", "--json"];
  for (const argv of [
    ["Ada lives in Paris", ...home, "--from", "2020-01-31", "--session", "chat-1"],
    ["Ada lives in Rome", ...home, "--from", "30d", "--run", "r1", "--metadata", '{"sure":true}'],
    ["ada lives in rome.", ...home],
    ["a secret", "--agent", "helper", "--namespace", "team", "--ttl", "90s", "--importance", "1", "--json"],
  ]) {
    ids.push(JSON.parse((await cli("add", ...argv)).stdout).id);
  }
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("a fact is saved once, and takes the place of another value", async () => {
  expect(ids[2]).toBe(ids[1]);
  expect((await cli("add", "Ada lives in Rome", "--subject", "Ada", "--attribute", "home")).stdout).toBe(
    `confirmed ${ids[1]}, saved 3 times\n`,
  );
  expect((await cli()).stdout).toMatch(/^MEMORY +CONTENT +KIND +SINCE\nmem_\w+ +Ada lives in Rome +fact +30 d ago\n$/);
  const all = JSON.parse((await cli("ls", "--subject", "ada", "--attribute", "home", "--superseded", "--json")).stdout);
  expect(all.items.map(({ id }: { id: string }) => id)).toEqual([ids[1], ids[0]]);
});

test("a search finds what holds now, or what held at a time", async () => {
  expect((await cli("search", "where", "does", "Ada", "live?")).stdout).toMatch(
    /^SCORE .*\n +0\.\d\d +mem_\w+ +Ada lives in Rome/,
  );
  const at = JSON.parse((await cli("search", "Ada", "--at", "2021-01-01", "--json")).stdout);
  expect(at.hits.map(({ content }: { content: string }) => content)).toEqual(["Ada lives in Paris"]);
  expect((await cli("search", "Ada", "--filter", '{"sure":false}')).stdout).toBe("no memory has these words\n");
  const { stdout, stderr, code } = await cli("search", "secret");
  expect([stdout, code]).toEqual(["no memory has these words\n", 0]);
  expect(stderr).toContain("memory status");
});

test("why shows where a memory comes from, and undo brings it back", async () => {
  const { stdout } = await cli("why", ids[0] ?? "");
  expect(stdout).toContain("superseded by");
  expect(stdout).toMatch(/created +chat-1/);
  expect(stdout).toMatch(/created +run r1/);
  expect(stdout).toMatch(new RegExp(`superseded +${ids[1]}`));
  expect((await cli("undo", ids[0] ?? "")).stdout).toBe(`${ids[0]} holds again\n`);
  const again = await cli("undo", ids[0] ?? "");
  expect([again.code, again.stderr]).toEqual([expect.any(Number), expect.stringContaining("not superseded")]);
  expect(again.code).not.toBe(0);
});

test("ME5 why explains for an agent's memory why it is in a core block or in none", async () => {
  const scope = ["--namespace", "team", "--agent", "helper"];
  const { stdout } = await cli("why", ids[3] ?? "", ...scope);
  expect(stdout).toContain("The agent has no block facts that can be edited, where a fact belongs.\nScore 0.");
  expect(stdout.split("\n").every((line) => line.length <= 80)).toBe(true);
  const { promotion } = JSON.parse((await cli("why", ids[3] ?? "", ...scope, "--json")).stdout);
  expect(promotion).toMatchObject({ block: null, pinned: false, needed: 0.5 });
});

test("ME5 an agent's memories are promoted, pinned and taken back, and rm says what versions of blocks keep", async () => {
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.agents.create({ id: "tutor" });
  await hf.agents.saveBlocks("tutor", [{ label: "facts", value: "", limit: 200 }]);
  await hf.close();
  const scope = ["--agent", "tutor"];
  const { id } = JSON.parse((await cli("add", "Bob likes chess", ...scope, "--importance", "1", "--json")).stdout);
  const low = JSON.parse((await cli("add", "Bob has a bike", ...scope, "--importance", "0", "--json")).stdout).id;
  const facts = async () =>
    JSON.parse((await captureOutput(main, ["agents", "blocks", "tutor", "--json"], { cwd })).stdout).blocks[0].value;
  const dry = await cli("promote", ...scope, "--dry-run");
  expect(dry.stdout).toMatch(
    /^dry run: nothing was changed\nCHANGE .*\npromoted +facts +mem_\w+ +score 0\.\d\d\n1 memory in/,
  );
  expect(await facts()).toBe("");
  expect((await cli("promote", ...scope)).stdout).toMatch(
    new RegExp(`promoted +facts +${id} .*\nchanged facts \\(version 2\\)\n1 `),
  );
  expect((await cli("promote", ...scope)).stdout).toBe("nothing to promote or demote\n1 memory in the blocks\n");
  expect((await cli("pin", low, ...scope)).stdout).toBe(`pinned ${low}\n`);
  expect((await cli("pin", low, ...scope)).stdout).toBe(`${low} is pinned already\n`);
  expect(JSON.parse((await cli("promote", ...scope, "--json")).stdout)).toMatchObject({
    dryRun: false,
    promoted: [{ memory: low, block: "facts" }],
    kept: 2,
  });
  expect((await cli("unpin", low, ...scope)).stdout).toBe(`unpinned ${low}\n`);
  expect((await cli("unpin", low, ...scope)).stdout).toBe(`${low} is not pinned\n`);
  const undone = await cli("promote", ...scope, "--undo");
  expect(undone.stdout).toMatch(new RegExp(`demoted +facts +${low} +its promotion was taken back`));
  expect(await facts()).toContain("Bob likes chess");
  const erased = await cli("rm", id, ...scope, "--yes");
  expect(erased.stdout).toMatch(
    /^erased 1 memory with \d+ changes\nolder versions of core blocks keep \d lines? of it\n$/,
  );
  expect(erased.stderr).toContain("last agent");
  expect(await facts()).toBe("");
  for (const argv of [["promote"], ["pin", id], ["promote", ...scope, "--undo", "--dry-run"]]) {
    expect((await cli(...argv)).code).toBe(EXIT.usage);
  }
  expect((await cli("promote", ...scope, "--undo", "--json")).code).not.toBe(EXIT.ok);
  expect((await cli("pin", "mem_none", ...scope)).code).toBe(EXIT.notFound);
  await cli("rm", "--all", ...scope, "--yes");
  expect((await cli("pin", "--help")).stdout).toContain("holdfast memory pin mem_x7 --agent helper");
});

test("a memory of another scope is not shown, and the operator learns where it is", async () => {
  const { code, stderr } = await cli("show", ids[3] ?? "");
  expect(code).not.toBe(0);
  expect(stderr).toContain('add --namespace "team" --agent "helper"');
  expect((await cli("show", ids[3] ?? "", "--namespace", "team", "--agent", "helper")).stdout).toContain("a secret");
  expect((await cli("show", "mem_none")).stderr).toContain("memory status");
});

test("mistakes in options are named", async () => {
  for (const argv of [
    ["add", "x", "--importance", "2"],
    ["add", "x", "--ttl", "soon"],
    ["add", "x", "--from", "yesterday"],
    ["add", "x", "--attribute", "home"],
    ["search", "x", "--filter", "[]"],
    ["search", "x", "--filter", '{"a": {"like": 1}}'],
    ["rm"],
    ["rm", "mem_x", "--all"],
  ]) {
    const { code, stdout, stderr } = await cli(...argv);
    expect([argv, code === 0, stdout, stderr === ""]).toEqual([argv, false, "", false]);
  }
});

test("the status counts scope by scope, and rm erases", async () => {
  const status = JSON.parse((await cli("status", "--json")).stdout);
  expect([status.scopes, status.memories, status.list.length]).toEqual([2, 3, 2]);
  expect((await cli("status")).stdout).toMatch(/team +helper +1/);
  expect((await cli("rm", ids[0] ?? "", "--yes")).stdout).toMatch(/^erased 1 memory with \d changes\n$/);
  expect((await cli("rm", "--all", "--yes")).stdout).toMatch(/^erased 1 memory with \d changes\n$/);
  expect((await cli()).stdout).toBe("no memories\n");
});
