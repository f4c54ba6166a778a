// What `holdfast stats` says of clocks and embeddings. The rest of it: integrity.test.ts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { open } from "../../open.ts";
import { createTestEmbedder } from "../../testing/suites/test-embedder.ts";
import { main } from "../main.ts";
import { captureOutput } from "../output-capture.ts";
import { describeClock } from "./stats.ts";

test.each([
  [600_000, "the database server's; this machine's is 10 min ahead of it (measured to 3 ms)"],
  [-7000, "the database server's; this machine's is 7 s behind it (measured to 3 ms)"],
  [200, "the database server's; this machine's agrees with it (measured to 3 ms)"],
])("ST3 stats tells how far the machine's clock is from the server's (%d ms)", (machineAheadMs, words) => {
  expect(describeClock({ now: 1, source: "server", machineAheadMs, uncertaintyMs: 3 })).toBe(words);
});

test("ST3 stats says nothing of a clock that is the machine's own", () => {
  expect(describeClock({ now: 1, source: "machine", machineAheadMs: 0, uncertaintyMs: 0 })).toBe("");
});

test("EM5 stats shows the model and what waits for it", async () => {
  const cwd = mkdtempSync(path.join(tmpdir(), "holdfast-stats-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const embedder = createTestEmbedder();
  embedder.poison.add("bad");
  const hf = await open(path.join(cwd, "holdfast.db"), { embedder });
  await hf.vectors.add([{ content: "bad" }]);
  await hf.embeddings.wait();
  await hf.close();
  const later = await open(path.join(cwd, "holdfast.db"));
  await later.vectors.add([{ content: "one" }, { content: "two" }]);
  await later.memory.save("Ada drinks tea");
  await later.close();
  const { stdout } = await captureOutput(main, ["stats"], { cwd });
  expect(stdout).toMatch(
    /^embedder +test\/a@4\nwait for vectors +1 memory, 2 documents\nwithout vectors +1 document\n/m,
  );
  expect(stdout).not.toContain("tried again");
  expect(JSON.parse((await captureOutput(main, ["stats", "--json"], { cwd })).stdout)).toMatchObject({
    embeddings: { model: "test/a@4", kinds: { documents: { pending: 2, parked: 1 } } },
  });
});
