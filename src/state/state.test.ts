// Decisions in one batch: none may change what another one relies on. Results are made from the decision, without a
// read after the commit.
import { describe, expect, test } from "vitest";
import { ENGINES, lostAfterCommit } from "../../test/engines.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { open } from "../open.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { createState } from "./state.ts";

const byId = {
  locate: (at: unknown) => ({ session: String(at) }),
  requireCurrent: (at: unknown) => String(at),
  resolveSessionId: (session: unknown) => session as string,
};

for (const engine of ENGINES) {
  describe(`state on ${engine.name}`, () => {
    test("ST2 a patch is answered from its decision, not by reading back", async () => {
      const ground = await engine.fresh();
      const storage = new SqlStorage(ground.driver, realEnvironment());
      const payloads = createPayloads(storage);
      try {
        const before = await createState(storage, payloads, byId).set("s", { a: 1, b: [2], "10": 3 });
        const answer = await createState(lostAfterCommit(storage), payloads, byId).patch("s", { a: { z: -0 } });
        expect(answer.version).toBe(before.version + 1);
        const read = await createState(storage, payloads, byId).getVersioned("s");
        expect(read).toEqual(answer);
        expect(JSON.stringify(answer.value)).toBe(JSON.stringify(read.value));
      } finally {
        await ground.end();
      }
    });

    test("ME1 a patch that loses many races backs off, and is not lost", async () => {
      const ground = await engine.fresh();
      const other = new SqlStorage(await ground.another(), realEnvironment());
      const theirs = createState(other, createPayloads(other), byId);
      const waits: number[] = [];
      const sleep = async (ms: number) => void waits.push(ms);
      const storage = new SqlStorage(ground.driver, { ...realEnvironment(), sleep });
      let overtaken = 0;
      // Another handle writes between the read and the commit.
      const commit: Storage["commit"] = async (ours) => {
        if (overtaken < 8) await theirs.patch("s", { [`theirs ${overtaken++}`]: true });
        return storage.commit(ours);
      };
      const query: Storage["query"] = (name, params) => storage.query(name, params);
      const { engine: kind, environment } = storage;
      try {
        await theirs.set("s", {});
        const ours = createState(
          { commit, query, engine: kind, environment } as Storage,
          createPayloads(storage),
          byId,
        );
        const { value } = await ours.patch("s", { ours: true });
        expect(Object.keys(value)).toHaveLength(9);
        expect(waits.length).toBeGreaterThan(0);
        expect(waits.length).toBeLessThan(8);
      } finally {
        await ground.end();
      }
    });

    test("ST2 a compare-and-set never removes a concurrent patch", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      try {
        await hf.state.set("s", {});
        for (let round = 0; round < 30; round++) {
          const { version } = await hf.state.getVersioned("s");
          const racing = hf.state.compareAndSet("s", version, { set: round });
          // Called at different moments of the other decision, so that both share one batch.
          for (let i = 0; i < round % 4; i++) await Promise.resolve();
          const [set, patched] = await Promise.all([racing, hf.state.patch("s", { patched: round })]);
          const state = await hf.state.get("s");
          expect(state.patched).toBe(round);
          if (set !== null) expect(set.version).toBeLessThan(patched.version);
        }
      } finally {
        await hf.close();
        await ground.end();
      }
    });
  });
}
