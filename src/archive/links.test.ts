// The sessions that an invocation names are linked as far as they are here, in whichever order caller and callee come.
import { beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore, openPair } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fileOf } from "../testing/expect.ts";

describe.each(ENGINES.map((engine, i) => [i, engine] as const))("links of an invocation (engine %i)", (_, engine) => {
  let ground: EngineStore;
  let here: Holdfast;
  let home: Holdfast;
  beforeEach(async () => {
    const pair = await openPair(engine);
    ({ here, home, ground } = pair);
    await home.sessions.create({ id: "boss" });
    return pair.close;
  });

  /** Done, with the head that the child had then. */
  async function spawned(): Promise<string> {
    const { id } = await home.invocations.start("boss", { session: { id: "kid" } });
    await home.heads.publish("kid");
    await home.invocations.finish(id);
    return id;
  }

  const issues = async () => (await here.check()).issues;

  test("AR1 are made when caller and callee come at once", async () => {
    const id = await spawned();
    const files = [await fileOf(home, "boss"), await fileOf(home, "kid")];
    const second = await open(ground.url);
    try {
      await Promise.all(files.map((file, i) => (i === 0 ? here : second).sessions.import(file)));
      expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
      expect(await issues()).toEqual([]);
    } finally {
      await second.close();
    }
  });

  test("AR1 are made when a caller comes while its callee is decided on", async () => {
    const id = await spawned();
    await home.sessions.create({ id: "other" });
    const other = await home.sessions.attach("kid", { caller: "other", mode: "continue" });
    await here.sessions.import(await fileOf(home, "boss"));
    const files = [await fileOf(home, "other"), await fileOf(home, "kid")];
    const second = await open(ground.url);
    try {
      await Promise.all(files.map((file, i) => (i === 0 ? here : second).sessions.import(file)));
      for (const one of [id, other.id])
        expect(await here.invocations.get(one)).toEqual(await home.invocations.get(one));
      expect(await issues()).toEqual([]);
    } finally {
      await second.close();
    }
  });

  test("AR1 are made to what came in part, and completed with it", async () => {
    await home.sessions.create({ id: "kid" });
    const first = await home.heads.publish("kid", { vars: { n: 1 }, fingerprint: "f" });
    await home.sessions.fork("kid", { id: "fork" });
    const { id } = await home.sessions.attach("kid", { caller: "boss", mode: "continue" });
    await home.heads.publish("kid");
    await home.invocations.finish(id);
    await here.sessions.import(await fileOf(home, "boss"));
    expect(await here.invocations.get(id)).toMatchObject({ callee: "kid", calleeHeadBefore: null });
    await here.sessions.import(await fileOf(home, "fork"));
    expect(await here.invocations.get(id)).toMatchObject({ calleeHeadBefore: first.id, calleeHeadAfter: null });
    expect(await issues()).toEqual([]);
    await here.sessions.import(await fileOf(home, "kid"));
    expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
    expect(await issues()).toEqual([]);
    expect((await fileOf(here, "boss")).equals(await fileOf(home, "boss"))).toBe(true);
  });

  test("AR1 to heads of a part that went again are made anew when the whole comes", async () => {
    const id = await spawned();
    await home.sessions.fork("kid", { id: "fork" });
    await here.sessions.import(await fileOf(home, "fork"));
    await here.sessions.import(await fileOf(home, "boss"));
    await here.sessions.delete("fork");
    await here.sessions.import(await fileOf(home, "kid"));
    expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
    expect(await issues()).toEqual([]);
  });

  test.each([0, 1])("AR1 to a head that is not here are empty, and no damage (order %i)", async (order) => {
    await home.sessions.create({ id: "kid" });
    const older = await fileOf(home, "kid");
    await home.heads.publish("kid", { vars: { n: 1 } });
    const { id } = await home.sessions.attach("kid", { caller: "boss", mode: "continue" });
    await home.heads.publish("kid");
    await home.invocations.finish(id);
    const files = [await fileOf(home, "boss"), older];
    for (const file of order === 0 ? files : files.toReversed()) await here.sessions.import(file);
    expect(await here.invocations.get(id)).toMatchObject({
      callee: "kid",
      calleeHeadBefore: null,
      calleeHeadAfter: null,
    });
    expect(await issues()).toEqual([]);
    const third = await open(":memory:");
    await third.sessions.import(await fileOf(here, "boss", { children: true }));
    expect((await third.check()).issues).toEqual([]);
    await third.close();
  });

  test("AR1 keep the name of a callee that is not here for its archive", async () => {
    const id = await spawned();
    await here.sessions.import(await fileOf(home, "boss"));
    const refused = {
      code: "SessionDeleted",
      hint: expect.stringMatching(/import (its|the session.s) own archive/i),
    };
    await expect(here.sessions.create({ id: "kid" })).rejects.toMatchObject(refused);
    await expect(
      here.history.append({ session: "kid", agent: "a" }, { role: "user", content: "mine" }),
    ).rejects.toMatchObject(refused);
    await expect(here.sessions.fork("kid")).rejects.toMatchObject({
      code: "SessionDeleted",
      message: expect.stringContaining('only the name of the session "kid" is in this store'),
    });
    expect((await here.sessions.list()).items.map((session) => session.id)).toEqual(["boss"]);
    expect(await issues()).toEqual([]);
    await here.sessions.import(await fileOf(home, "kid"));
    expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
  });

  test("AR1 to a name that is an alias here are refused", async () => {
    await spawned();
    await here.sessions.create({ id: "mine" });
    await here.sessions.setAlias("mine", "kid");
    await expect(here.sessions.import(await fileOf(home, "boss"))).rejects.toMatchObject({
      code: "AlreadyExists",
      details: { kind: "alias", id: "kid" },
    });
    expect(await here.sessions.get("boss")).toBeNull();
    expect((await here.sessions.get("kid"))?.id).toBe("mine");
  });

  test("AR1 are kept by an invocation that ends here while its callee comes", async () => {
    await home.sessions.create({ id: "kid" });
    await home.heads.publish("kid");
    const { id } = await home.sessions.attach("kid", { caller: "boss", mode: "continue" });
    await here.sessions.import(await fileOf(home, "boss"));
    const kid = await fileOf(home, "kid");
    const second = await open(ground.url);
    try {
      await Promise.all([second.sessions.import(kid), here.invocations.finish(id)]);
      const before = (await home.invocations.get(id))?.calleeHeadBefore;
      expect(await here.invocations.get(id)).toMatchObject({ calleeHeadBefore: before, status: "done" });
      expect(await issues()).toEqual([]);
    } finally {
      await second.close();
    }
  });
});
