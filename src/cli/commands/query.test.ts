// holdfast query on a real store: tables, JSON, inputs, what a mistake says, and the exit codes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../../open.ts";
import { timedOut } from "../../storage/sql/inspection.ts";
import { EXIT } from "../exit.ts";
import { commandHint } from "../hints.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";

let cwd: string;
const cli = (...argv: string[]) => captureOutput(main, ["query", ...argv], { cwd });

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

test.each([
  ["[:find ?x :where [?s :sesion/id ?x]]", "no attribute :sesion/id; near are :session/id ", ""],
  ['[:find ?m :where [?m :message/seq "5"]]', '"5" is a text, and :message/seq is a number', "a number without"],
  ['[:find ?m :where [?m :message/seq ?n] [(> ?n "5")]]', '"5" is a text, and :message/seq is a number', ""],
  [
    "[:find ?s :where [?s :session/title 5]]",
    "5 is a number, and :session/title is a text",
    "a text is written in quotes",
  ],
  [
    '[:find ?s :where [?s :session/created-at ?t] [(> ?t "2026-01-01")]]',
    '"2026-01-01" is a text, and :session/created-at is a time',
    'hint: a time is written #inst "2026-01-01"\n',
  ],
  ['[:find ?s :where [?s :session/created-at "now"]]', "is a time", '#inst "2026-01-31T12:00:00Z"'],
  [" SELECT * FROM sessions", "looks like SQL", "write it like [:find ?id :where [?s :session/id ?id]"],
])("%s is refused with what to write", async (text, problem, hint) => {
  const { code, stderr } = await cli(text);
  expect([code, stderr]).toEqual([EXIT.usage, expect.stringContaining(problem)]);
  expect(stderr).toContain(hint);
});

test("what a hint proposes is a valid query, and a timeout names the option", async () => {
  const { stderr } = await cli("select 1");
  const [example = ""] = /\[:find.*/.exec(stderr) ?? [];
  expect((await cli(example)).stdout).toBe("?id\nchat-1\nchat-2\n");
  expect((await cli('[:find ?s :where [?s :session/created-at ?t] [(> ?t #inst "2026-01-01")]]')).code).toBe(EXIT.ok);
  expect(commandHint(timedOut(5).hint ?? "")).toContain("--timeout SECONDS");
});

test("one answer with parts is indented", async () => {
  const pull = '[:find (pull ?s [:session/id :session/title]) . :where [?s :session/id "chat-1"]]';
  const shown = '{\n  ":session/id": "chat-1",\n  ":session/title": "First"\n}\n';
  expect((await cli(pull)).stdout).toBe(shown);
  expect((await cli(pull.replace(" .", ""))).stdout).toBe(shown);
});
