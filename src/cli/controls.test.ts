// What models and tools wrote never steers the terminal that it is shown on, in tables as in JSON: no C0, DEL or C1
// control character, and nothing that turns text around, leaves a command as it is.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { open } from "../open.ts";
import { main } from "./main.ts";
import { captureOutput } from "./output-capture.ts";
import { safeJson } from "./terminal.ts";

/** CSI as one character, DEL, OSC, an escape sequence, a text turned around, a tag. */
const HOSTILE = "a\u009b2J\u007f\u009d0;t\u0007\u001b[31m\u202eb\u2028\u{e0041}";
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const STEERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028\u{e0041}]/u;

let cwd: string;
beforeAll(async () => {
  cwd = mkdtempSync(path.join(tmpdir(), "holdfast-controls-"));
  const store = await open(path.join(cwd, "holdfast.db"));
  await store.agents.create({ id: HOSTILE, name: HOSTILE });
  const at = { session: HOSTILE, agent: HOSTILE, run: HOSTILE };
  await store.history.append(at, { role: "user", content: HOSTILE });
  const input = { [HOSTILE]: HOSTILE };
  await store.history.append(at, {
    role: "assistant",
    content: [{ type: "tool_use", id: "t1", name: HOSTILE, input }],
  });
  await store.sessions.update(HOSTILE, { title: HOSTILE, tags: [HOSTILE] });
  await store.state.set(HOSTILE, input);
  await store.tasks.create(HOSTILE, [HOSTILE]);
  await store.heads.publish(HOSTILE, { final: HOSTILE, finalSummary: HOSTILE });
  await store.close();
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const COMMANDS: readonly (readonly string[])[] = [
  ["agents"],
  ["sessions"],
  ["sessions", "show", HOSTILE],
  ["messages", HOSTILE],
  ["log", HOSTILE],
  ["state", HOSTILE],
  ["tasks", HOSTILE],
  ["heads", HOSTILE],
  ["tree", HOSTILE],
  ["stats"],
  ["check"],
  ["verify", HOSTILE],
  ["messages", `${HOSTILE}-not-there`],
];

test.each(COMMANDS.map((argv) => [argv[0], argv] as const))(
  "ST17 %s lets no control character through",
  async (_, argv) => {
    for (const options of [["--json"], []]) {
      for (const columns of [undefined, 80]) {
        const shown = await captureOutput(main, [...argv, ...options], {
          cwd,
          ...(columns === undefined ? {} : { columns }),
        });
        // On a terminal, lines are painted by us.
        // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out.
        const text = (shown.stdout + shown.stderr).replace(/\u001b\[[0-9;]*m|\r\u001b\[K/g, "");
        expect(text.match(STEERS), `${argv[0]} ${options} ${columns}`).toBeNull();
        expect(text.length).toBeGreaterThan(0);
      }
    }
  },
);

test("ST17 every JSON parser reads the same value", async () => {
  const { stdout } = await captureOutput(main, ["messages", HOSTILE, "--json"], { cwd });
  expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(HOSTILE).slice(1, -1));
  const value = { [HOSTILE]: [HOSTILE, "👩‍👩‍👧 ok\n\t"] };
  for (const indent of [undefined, 2]) expect(JSON.parse(safeJson(value, indent))).toEqual(value);
  expect(safeJson("\u009b\u007f")).toBe('"\\u009b\\u007f"');
});
