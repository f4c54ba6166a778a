// Decisions that share a batch: what one relies on must not be changed by another beside it.
import { describe, expect, test } from "vitest";
import { ENGINES } from "../../test/engines.ts";
import { open } from "../open.ts";

for (const engine of ENGINES) {
  describe(`state on ${engine.name}`, () => {
    test("ST2 a compare-and-set never takes away a patch of the same moment", async () => {
      const ground = await engine.fresh();
      const hf = await open(ground.url);
      try {
        await hf.state.set("s", {});
        for (let round = 0; round < 30; round++) {
          const { version } = await hf.state.getVersioned("s");
          const racing = hf.state.compareAndSet("s", version, { set: round });
          // Asked for at different moments of the other's decision, so that they meet in one batch.
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
