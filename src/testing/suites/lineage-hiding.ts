// Lineage suite: what hides what. A clear hides what a fork inherited, and a value hides the ones before it, also when the
// session that held it is gone.
import assert from "node:assert/strict";
import { type Case, prove } from "../suite.ts";

const NEEDS = ["lineage", "sessions", "history", "state"] as const;

export const hidingCases: readonly Case[] = [
  prove("SE3 resume goes back before a clear that hid what a fork inherited", NEEDS, async (given) => {
    const { sessions, heads } = given.lineage;
    await given.history.append({ session: "chat", agent: "ada" }, { role: "user", content: "one" });
    await sessions.fork("chat", { id: "fork" });
    const head = await heads.publish("fork");
    await given.history.clear({ session: "fork", agent: "ada" });
    assert.equal((await given.history.session("fork")).length, 0);
    assert.equal((await sessions.resume(`fork@${head.id}`)).branched, true);
    assert.equal((await given.history.session("fork")).length, 1);
  }),

  prove("LG6 a value that goes everywhere does not uncover the one before it", NEEDS, async (given) => {
    const { sessions } = given.lineage;
    await given.state.set("first", { key: "old", other: 1 });
    await sessions.fork("first", { id: "middle" });
    await given.state.patch("middle", { key: "new" }, { remove: ["other"] });
    await sessions.fork("middle", { id: "last" });
    await given.sessions.delete("middle", { everywhere: true });
    assert.deepEqual(await given.state.get("last"), {});
    assert.equal(await given.state.getKey("last", "key"), undefined);
    assert.deepEqual(await given.state.get("first"), { key: "old", other: 1 });
  }),
];
