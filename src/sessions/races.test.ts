// What a verb decided on is changed by another handle before it commits: the commit is refused, and the verb decides again on what
// is there now. Here the other handle acts at exactly that moment.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { open, openOn } from "../open.ts";
import { bound } from "../testing/sim/driver.ts";
import { agent } from "../testing/suites/runs-agents.ts";

const ADA = { session: "chat", agent: "ada" };

function say(hf: Holdfast, content: string) {
  return hf.history.append(ADA, { role: "user", content }, { run: "r" });
}

interface PreparedSession {
  /** A head of the session before its current one. */
  readonly older: string;
  readonly turn: string;
}

/** Verbs that move heads, or remove messages. */
const VERBS: Readonly<Record<string, (hf: Holdfast, on: PreparedSession) => Promise<unknown>>> = {
  "heads.publish": (hf) => hf.heads.publish("chat"),
  "heads.compact": (hf) => hf.heads.compact("chat", { agent: "ada", summary: "in short" }),
  "turns.finish": (hf, { turn }) => hf.turns.finish(turn),
  "turns.abort": (hf, { turn }) => hf.turns.abort(turn),
  "sessions.resume": (hf, { older }) => hf.sessions.resume(`chat@${older}`),
  "sessions.rewind": (hf, { older }) => hf.sessions.rewind(`chat@${older}`),
  "sessions.delete": (hf) => hf.sessions.delete("chat"),
  "history.clear": (hf) => hf.history.clear(ADA),
  "history.clearRun": (hf) => hf.history.clearRun(ADA, "r"),
};

for (const engine of ENGINES) {
  describe(`decisions that are overtaken on ${engine.name}`, () => {
    let ground: EngineStore;
    let hf: Holdfast;
    let other: Holdfast;
    /** What the other handle does between the next decision and its commit. */
    let rival: (() => Promise<unknown>) | null = null;
    beforeEach(async () => {
      ground = await engine.fresh();
      other = await open(ground.url);
      hf = await openOn(bound(ground.driver), {}, (storage) =>
        overrideStorage(storage, {
          commit: async (commit) => {
            const act = rival;
            rival = null;
            await act?.();
            return storage.commit(commit);
          },
        }),
      );
      await say(other, "first");
    });
    afterEach(async () => {
      rival = null;
      await other.close();
      await ground.end();
    });

    async function prepare(): Promise<PreparedSession> {
      const older = await other.heads.publish("chat");
      const turn = await other.turns.begin("chat");
      await say(other, "second");
      await other.heads.publish("chat");
      await say(other, "third");
      return { older: older.id, turn: turn.id };
    }

    test.each(Object.keys(VERBS))("RU2 %s is refused when a run begins in the session meanwhile", async (verb) => {
      const on = await prepare();
      let before: unknown;
      rival = async () => {
        await other.runs.start(
          agent((it) => it.done(null)),
          { session: "chat", id: "run" },
        );
        before = await other.log.read("chat");
      };
      await expect(VERBS[verb]?.(hf, on)).rejects.toMatchObject({ code: "SessionBusy", details: { run: "run" } });
      expect(await other.log.read("chat")).toEqual(before);
    });

    test("SE3 an invocation that continues a session begins at the head that is current when it begins", async () => {
      await prepare();
      await other.sessions.create({ id: "caller" });
      rival = () => other.heads.publish("chat");
      const begun = await hf.sessions.attach("chat", { caller: "caller", mode: "continue" });
      expect(begun.calleeHeadBefore).toBe((await other.heads.current("chat"))?.id);
      expect(begun).toEqual(await other.invocations.get(begun.id));
    });

    test("SE3 a session that is deleted meanwhile is not branched from", async () => {
      await prepare();
      await other.sessions.create({ id: "caller" });
      rival = () => other.sessions.delete("chat");
      const attached = hf.sessions.attach("chat", { caller: "caller", mode: "branch", session: { id: "branch" } });
      await expect(attached).rejects.toMatchObject({ code: "SessionDeleted" });
      expect(await other.sessions.get("branch")).toBeNull();
    });

    test("SE3 an invocation is told to be on the branch that its caller is on when it begins", async () => {
      const { older } = await prepare();
      rival = () => other.sessions.resume(`chat@${older}`);
      const begun = await hf.invocations.start("chat", { session: { id: "callee" } });
      expect(begun).toEqual(await other.invocations.get(begun.id));
    });
  });
}
