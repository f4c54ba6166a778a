// holdfast search on a real store: what is printed at 80 columns and as JSON, filters, advice, and that hits open.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const run = (...argv: string[]) => captureOutput(main, argv, { cwd });
const cli = (...argv: string[]) => run("search", ...argv);

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.sessions.create({ id: "pool's", title: "The \u001b[31mpool", request: "r-1", tags: ["work"] });
  const scope = { session: "pool's", agent: "helper" };
  await hf.history.append(scope, { role: "user", content: "Why does the pool not reconnect?" });
  await hf.history.append(scope, {
    role: "assistant",
    content: "It is\nturned off \u001b[31mhere, since the last release.",
  });
  await hf.history.append({ session: "other", agent: "bob" }, { role: "user", content: `${"a ".repeat(200)}pool` });
  const head = await hf.heads.publish("other");
  await hf.history.append({ session: "other", agent: "bob" }, { role: "user", content: "the lido" });
  await hf.heads.publish("other");
  await hf.sessions.rewind({ session: "other", head: head.id });
  await hf.sessions.fork("pool's", { id: "fork" });
  const scopeOfMarsh = { session: "marsh", agent: "bob" };
  await hf.history.append(scopeOfMarsh, { role: "user", content: "a walk" });
  const walk = await hf.heads.publish("marsh");
  await hf.history.append(scopeOfMarsh, { role: "user", content: "the marsh" });
  await hf.sessions.rewind({ session: "marsh", head: walk.id });
  await hf.close();
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("SR1 prints the message, its session, its words and how to open it", async () => {
  const { stdout, code } = await cli("reconnect", "--limit", "1");
  expect(code).toBe(EXIT.ok);
  const lines = stdout.split("\n");
  expect(lines[0]).toMatch(/^pool's#2 user \(helper\) .* ago$|just now$/);
  expect(lines.slice(1)).toEqual([
    "  The \\x1b[31mpool · request r-1",
    "    Why does the pool not reconnect?",
    "  holdfast messages 'pool'\\''s' --after 1 --limit 5",
    "",
  ]);
  const opened = await run("messages", "pool's", "--after", "1", "--limit", "5");
  expect(opened.stdout).toContain("Why does the pool not reconnect?");
});

test("SR1 says which hits are only beside a match, and prints neighbours", async () => {
  const { stdout } = await cli("reconnect", "--around", "1", "--role", "assistant");
  expect(stdout).toContain("beside a message that matches");
  expect(stdout).toContain(
    "  user: Why does the pool not reconnect?\n    It is turned off \\x1b[31mhere, since the last release.",
  );
});

test("SR1 the answer as JSON is that of the API", async () => {
  const { mode, hits } = JSON.parse((await cli("pool", "--json")).stdout);
  expect(mode).toBe("text");
  expect(hits.map(({ id }: { id: string }) => id)).toEqual(["pool's#2", "other#2", "pool's#3"]);
  expect(hits[0].snippet.highlights).toEqual([[13, 17]]);
});

test("SR1 filters are options or part of the query", async () => {
  const ids = async (...argv: string[]) =>
    JSON.parse((await cli("pool", ...argv, "--json")).stdout).hits.map(({ id }: { id: string }) => id);
  expect(await ids("--agent", "bob")).toEqual(["other#2"]);
  expect(await ids("agent:bob")).toEqual(["other#2"]);
  expect(await ids("--request", "r-1", "--role", "user")).toEqual(["pool's#2"]);
  expect(await ids("--session", "fork", "--per-session", "1")).toEqual(["pool's#2"]);
  expect(await ids("--tag", "work", "--since", "1d", "--limit", "1")).toEqual(["pool's#2"]);
  expect(await ids("--since", "2020-01-01", "--until", "2020-02-01")).toEqual([]);
  expect(await ids("--tool", "Bash")).toEqual([]);
  expect((await cli("pool", "--since", "monday")).code).toBe(EXIT.usage);
  expect((await cli("pool", "--until", "2020-99-99")).code).toBe(EXIT.usage);
  expect((await cli("pool", "--session", "none")).code).toBe(EXIT.notFound);
  expect((await cli()).code).toBe(EXIT.usage);
});

test("SR2 what was rewound is found on request, and opened in the log", async () => {
  expect((await cli("lido")).stdout).toBe("no message matches\n");
  const { stdout } = await cli("lido", "--rewound", "--limit", "1");
  expect(stdout).toMatch(/ {2}rewound\n {4}the lido\n {2}holdfast messages other@hd-\w{8} --after 3 --limit 5\n/);
  const at = /other@hd-\w+/.exec(stdout)?.[0] ?? "";
  expect((await run("messages", at, "--after", "3", "--limit", "5")).stdout).toContain("the lido");
  // No head shows this one.
  const unpublished = await cli("marsh", "--rewound", "--limit", "1");
  expect(unpublished.stdout).toContain("  holdfast search marsh --session marsh --rewound --around 2\n");
  const again = await cli("marsh", "--session", "marsh", "--rewound", "--around", "2");
  expect(again.stdout).toContain("the marsh");
});

test("SR2 a hit that a fork shows is opened there", async () => {
  const { stdout } = await cli("reconnect", "--session", "fork", "--limit", "1");
  expect(stdout).toContain("shown by the fork fork");
  expect(stdout).toContain("holdfast messages fork --after 'pool'\\''s#1' --limit 5");
  expect((await run("messages", "fork", "--after", "pool's#1", "--limit", "5")).stdout).toContain("reconnect?");
});

test("SR1 without a hit it says what to try", async () => {
  const { stdout, stderr, code } = await cli("submarine", "--role", "user");
  expect([stdout, code]).toEqual(["no message matches\n", EXIT.ok]);
  expect(stderr).toContain("Leave out --role; try other words, or the beginning of one (subma*)");
  expect(stderr).toContain("import-local");
});

test("SR1 a query that finds nothing by itself says what to add", async () => {
  for (const query of ["role:user", "-role:user tag:work", '-"the pool"', "agent:helper -pool -lido", " "]) {
    const { code, stdout, stderr } = await cli("--", query);
    expect([query, code, stdout]).toEqual([query, EXIT.usage, ""]);
    expect(stderr).toMatch(
      query.trim() === "" ? /the query is empty/ : /the query (has only filters|only leaves .* out); add a word/,
    );
  }
  expect((await cli("--", "pool", "-reconnect", "role:user")).code).toBe(EXIT.ok);
  for (const argv of [
    ["search", "pool", "-xyz"],
    ["memory", "search", "pool", "-xyz"],
    ["vectors", "search", "c", "pool", "-xyz"],
  ]) {
    const { code, stderr } = await run(...argv);
    expect([argv, code, stderr]).toEqual([argv, EXIT.usage, expect.stringContaining("-- tea -coffee")]);
  }
});
