// Many callers change one run: each through a handle of its own, where only the store is between them, or all through one handle.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { open } from "../open.ts";
import { agent } from "../testing/suites/runs-agents.ts";

test("ST2 no signal is refused when thirty handles send signals at once", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-turns-"));
  const handles = await Promise.all(Array.from({ length: 30 }, () => open(join(folder, "store.db"))));
  const [first] = handles;
  await first?.runs.start(
    agent((it) => it.done(null)),
    { session: "s", id: "r" },
  );
  const signals = handles.flatMap(({ runs }) => Array.from({ length: 10 }, (_, i) => runs.signal("r", "n", i)));
  const refused = (await Promise.allSettled(signals)).filter(({ status }) => status === "rejected");
  expect(refused).toEqual([]);
  expect((await first?.runs.get("r"))?.version).toBe(301);
  for (const handle of handles) await handle.close();
  await rm(folder, { recursive: true, force: true });
});

test("ST2 signals from one handle are taken in the order of the calls, however many come at once", async () => {
  const hf = await open(":memory:");
  await hf.runs.start(
    agent((it) => it.done(null)),
    { session: "s", id: "r" },
  );
  const versions = await Promise.all(
    Array.from({ length: 300 }, async (_, i) => (await hf.runs.signal("r", "n", i)).version),
  );
  expect(versions).toEqual(Array.from({ length: 300 }, (_, i) => i + 2));
  await hf.close();
});
