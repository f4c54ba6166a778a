// Erasures that commit while passages are cut, or codes of a page are made again: what was made of the texts before is refused.
import { expect, test } from "vitest";
import type { Embedder } from "../contracts/embedders.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { StatementName } from "../contracts/storage/statement-names.ts";
import { realEnvironment } from "../core/environment.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { openOn } from "../open.ts";
import type { Driver } from "../storage/sql/driver.ts";
import { openSqlite } from "../storage/sql/sqlite/driver.ts";
import { until } from "../testing/suites/eventually.ts";
import { VectorCoder } from "../vectors/kernel/code.ts";
import { BLOCK_ROWS, PAGE_SLOTS } from "../vectors/kernel/pages.ts";

const DIMENSIONS = 16;

/** Numbers that half precision keeps as they are. */
function vectorOf(text: string): Float32Array {
  let state = 1;
  for (const letter of text) state = (state * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
  return Float32Array.from({ length: DIMENSIONS }, () => {
    state = (state * 17_364 + 1) % 65_521;
    return ((state % 512) - 256) / 256;
  });
}

const embedder: Embedder = {
  id: "test/halves@16",
  dimensions: DIMENSIONS,
  maxBatch: 256,
  embed: async (texts) => texts.map(vectorOf),
};

interface OvertakenStore {
  readonly hf: Holdfast;
  readonly driver: Driver;
  /** Whether commits with the statement were written; each runs the work before. Waits for so many of them. */
  readOutcomes(count: number): Promise<readonly boolean[]>;
}

/** A store whose first commits with a statement are overtaken, each by one piece of work. */
async function openOvertaken(
  statement: StatementName,
  works: readonly ((hf: Holdfast) => Promise<unknown>)[],
): Promise<OvertakenStore> {
  const environment = realEnvironment();
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  const outcomes: boolean[] = [];
  const left = [...works];
  const opened: { hf?: Holdfast } = {};
  const hf = await openOn(driver, { embedder, create: true }, (storage) =>
    overrideStorage(storage, {
      commit: async (commit) => {
        const isOvertaken = (commit.writes ?? []).some((one) => one.op === "run" && one.statement === statement);
        const work = isOvertaken ? left.shift() : undefined;
        if (work !== undefined && opened.hf !== undefined) await work(opened.hf);
        const outcome = await storage.commit(commit);
        if (work !== undefined) outcomes.push(outcome.ok);
        return outcome;
      },
    }),
  );
  opened.hf = hf;
  // What was erased no longer waits, so a wait for embeddings may end before the overtaken commit does.
  const readOutcomes = (count: number) => until(async () => outcomes.length >= count && outcomes);
  return { hf, driver, readOutcomes };
}

test("EM8 passages of messages that are erased meanwhile are not written", async () => {
  const { hf, readOutcomes } = await openOvertaken("index.cutTo", [
    (store) => store.history.clear({ session: "s", agent: "a" }),
  ]);
  await hf.history.append({ session: "s", agent: "a" }, { role: "user", content: "erased" });
  await hf.embeddings.wait();
  expect(await readOutcomes(1)).toEqual([false]);
  expect((await hf.check()).issues).toEqual([]);
  await hf.close();
});

test("EM9 passages of memories that are erased meanwhile are not written", async () => {
  const { hf, readOutcomes } = await openOvertaken("memories.cut", [(store) => store.memory.clear()]);
  await hf.memory.save("erased");
  await hf.embeddings.wait();
  expect(await readOutcomes(1)).toEqual([false]);
  expect((await hf.check()).issues).toEqual([]);
  await hf.close();
});

test("EM8 codes of an embedding that is erased meanwhile do not come back into its page", async () => {
  const clear = (session: string) => (store: Holdfast) => store.history.clear({ session, agent: "a" });
  const { hf, driver, readOutcomes } = await openOvertaken("vectors.refillPage", [clear("second")]);
  const append = (session: string, from: number, to: number) =>
    hf.history.appendMany(
      { session, agent: "a" },
      Array.from({ length: to - from }, (_, n) => ({ role: "user" as const, content: `message ${from + n}` })),
    );
  await append("first", 0, 1);
  await append("second", 1, 2);
  await append("kept", 2, PAGE_SLOTS + 1);
  await hf.embeddings.wait();
  const readPages = () =>
    driver.read("SELECT p.codes, g.seed FROM vector_pages p JOIN vector_generations g ON 1 = 1", []);
  const untilFilled = async () => {
    for (let tries = 0; ; tries++) {
      const pages = await readPages();
      if (pages.some(({ codes }) => codes instanceof Uint8Array && codes.length > 0)) return;
      expect(tries).toBeLessThan(5000);
      await hf.search("message");
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await untilFilled();
  await clear("first")(hf);
  await untilFilled();
  expect(await readOutcomes(1)).toEqual([false]);
  const [page] = await readPages();
  const { bits } = new VectorCoder(Number(page?.seed), DIMENSIONS).encode(vectorOf("message 1"));
  const codes = page?.codes instanceof Uint8Array ? page.codes : new Uint8Array();
  const isAt = (start: number) => bits.every((byte, i) => codes[start + i * BLOCK_ROWS] === byte);
  expect(Array.from(codes.keys()).some(isAt)).toBe(false);
  expect((await hf.check()).issues).toEqual([]);
  await hf.close();
});
