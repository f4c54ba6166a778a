// holdfast query on a real store: tables, JSON, inputs, what a mistake says, and the exit codes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { capture } from "../capture.ts";
import { EXIT } from "../exit.ts";
import { main } from "../main.ts";

let cwd: string;
const cli = (...argv: string[]) => capture(main, ["query", ...argv], { cwd });

beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-cli-"));
  const hf = await open(path.join(cwd, "holdfast.db"));
  await hf.sessions.create({ id: "chat-1", title: "First" });
  await hf.sessions.create({ id: "chat-2" });
  await hf.close();
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const ALL = "[:find ?id ?n :where [?s :session/id ?id] [?s :session/seq ?n] :order-by [?id]]";

test("an answer is a table with the names of :find, or JSON", async () => {
  expect((await cli(ALL)).stdout).toBe("?id     ?n\nchat-1   1\nchat-2   1\n");
  expect(JSON.parse((await cli(ALL, "--json")).stdout)).toEqual({
    answer: [
      ["chat-1", 1],
      ["chat-2", 1],
    ],
  });
  const cut = await cli(ALL, "--limit", "1");
  expect(cut.stdout).toBe("?id     ?n\nchat-1   1\n");
  expect(cut.stderr).toContain("--limit");
});

test("inputs are JSON, or texts without quotes", async () => {
  const text =
    "[:find ?t . :in $ ?id [?n ...] :where [?s :session/id ?id] [?s :session/title ?t] [?s :session/seq ?n]]";
  expect((await cli(text, "--input", "chat-1", "--input", "[1, 2]")).stdout).toBe("?t\nFirst\n");
  expect((await cli(text, "--input", "nobody", "--input", "[1, 2]")).stdout).toBe("nothing\n");
});

test("a query may be JSON", async () => {
  const { stdout } = await cli(
    '{"find": [["?id", "..."]], "where": [["?s", ":session/id", "?id"]], "orderBy": ["?id"]}',
  );
  expect(stdout).toBe("?id\nchat-1\nchat-2\n");
});

test("--explain shows SQL, parameters and plan; --facts what can be asked", async () => {
  const { stdout } = await cli('[:find ?s :where [?s :session/title "First"]]', "--explain");
  expect(stdout).toMatch(/SQL\nSELECT .*\n\nPARAMETERS\n1 {2}"First"\n[\s\S]*PLAN\n/);
  expect((await cli("--facts")).stdout).toContain(":call/cost-usd");
});

test("a mistake is a usage error that says what there is", async () => {
  const { code, stderr } = await cli("[:find ?x :where [?s :session/titel ?x]]");
  expect(code).toBe(EXIT.usage);
  expect(stderr).toContain(":session/title");
  expect((await cli()).code).toBe(EXIT.usage);
});
