// Damage and archives: of a damaged session either nothing is exported, with an error that says what to do, or what is
// exported can be imported. A useless file is never left behind.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { HoldfastError } from "../../src/contracts/errors.ts";
import { sha256Hex } from "../../src/core/bytes.ts";
import { open } from "../../src/open.ts";
import { ENGINES } from "../engines.ts";
import { type DamagedStore, filledStore } from "./damaged-store.ts";
import { DAMAGES } from "./damages.ts";

const SESSIONS = ["chat", "work", "fork", "heir", "attached"];

for (const engine of ENGINES) {
  describe(`archives of a damaged store on ${engine.name}`, () => {
    let store: DamagedStore;
    beforeAll(async () => {
      store = await filledStore(engine);
    });
    afterEach(() => store.mend());
    afterAll(() => store.end());

    const exported = async (session: string): Promise<Uint8Array | HoldfastError> => {
      const pieces: Uint8Array[] = [];
      try {
        for await (const piece of store.hf.sessions.export(session)) pieces.push(piece);
      } catch (error) {
        if (error instanceof HoldfastError) return error;
        throw error;
      }
      return Buffer.concat(pieces);
    };
    /** What importing an archive gave: most damage leaves most sessions as they are, so that the same bytes come again. */
    const outcomes = new Map<string, Promise<HoldfastError | null>>();
    const imported = (archive: Uint8Array): Promise<HoldfastError | null> => {
      const key = sha256Hex(archive);
      const outcome = outcomes.get(key) ?? importIntoNew(archive);
      outcomes.set(key, outcome);
      return outcome;
    };
    const importIntoNew = async (archive: Uint8Array): Promise<HoldfastError | null> => {
      const other = await open(":memory:");
      try {
        await other.sessions.import([archive]);
        return null;
      } catch (error) {
        if (error instanceof HoldfastError) return error;
        throw error;
      } finally {
        await other.close();
      }
    };
    const refused = async (session: string, named: string) => {
      const error = await exported(session);
      expect(error).toMatchObject({ code: "StoreCorrupted", message: expect.stringContaining(named) });
      const hint = String((error as HoldfastError).hint);
      for (const way of ["holdfast check", "backup", "fork it", "--markdown"]) expect(hint).toContain(way);
    };

    // Every kind on one engine: that both find it is proved beside this.
    const all = Object.keys(DAMAGES) as (keyof typeof DAMAGES)[];
    test.each(engine.name === "sqlite" ? all : (["seq-gap", "row-mismatch"] as const))("AR6 with %s", async (kind) => {
      await DAMAGES[kind](store);
      for (const session of SESSIONS) {
        const archive = await exported(session);
        if (archive instanceof HoldfastError) {
          expect(["StoreCorrupted", "BlobCorrupted"]).toContain(archive.code);
          continue;
        }
        expect(await imported(archive), session).toBeNull();
      }
    });

    test("AR6 a session, or what it inherits, with an event missing is not exported, and is written as Markdown", async () => {
      await store.run("DELETE FROM events WHERE seq = 3 AND session_no = (SELECT no FROM sessions WHERE id = 'chat')");
      await refused("chat", "seq-gap at chat#3");
      await refused("fork", "seq-gap at chat#3");
      for (const session of ["chat", "fork"]) expect(await store.hf.sessions.markdown(session)).toContain("# ");
    });

    test("AR6 a fork that inherits a damaged row beside the log is not exported", async () => {
      await store.run(
        "UPDATE calls SET model = 'another' WHERE session_no = (SELECT no FROM sessions WHERE id = 'chat')",
      );
      await refused("fork", "row-mismatch at chat#");
    });
  });
}
