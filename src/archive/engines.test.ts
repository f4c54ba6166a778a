// Archives between the two engines, and of sessions with children, whose rows are made by hand here.
import { beforeAll, describe, expect, test } from "vitest";
import { openOnEach } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import { open } from "../open.ts";
import { fileOf } from "../testing/expect.ts";

const say = (store: Holdfast, session: string, content: string) =>
  store.history.append({ session, agent: "ada" }, { role: "user", content });

/** An invocation as a caller's log holds it. */
describe("archives between engines", () => {
  const stores: Holdfast[] = [];
  beforeAll(async () => {
    const opened = await openOnEach();
    stores.push(...opened.stores);
    return opened.close;
  });

  test("AR1 from SQLite into PostgreSQL and back, the log is the same byte for byte", async () => {
    const [sqlite, postgres] = stores as [Holdfast, Holdfast];
    await say(sqlite, "there and back", "NUL \0 and 💥");
    await say(sqlite, "there and back", "long ".repeat(3000));
    await sqlite.state.set("there and back", { k: null, "\u{10ffff}": [0.1, -0, 1e300] });
    const head = await sqlite.heads.publish("there and back", { final: "ü" });
    const file = await fileOf(sqlite, "there and back");
    await postgres.sessions.import([file]);
    const across = await fileOf(postgres, "there and back");
    expect(across.equals(file)).toBe(true);
    const fresh = await open(":memory:");
    await fresh.sessions.import([across]);
    const logs = await Promise.all([sqlite, postgres, fresh].map((store) => store.log.read("there and back")));
    expect(logs[1]).toEqual(logs[0]);
    expect(logs[2]).toEqual(logs[0]);
    expect(await fresh.heads.current("there and back")).toEqual(head);
    expect(
      await fresh.log.verify("there and back", { anchor: await sqlite.log.anchor("there and back") }),
    ).toMatchObject({
      ok: true,
    });
    await fresh.close();
  });

  test.each([0, 1])("AR1 children come along when they are asked for, and are linked (engine %i)", async (i) => {
    const store = stores[i] as Holdfast;
    const { invocations } = store;
    await say(store, "caller", "in caller");
    await invocations.spawn("caller", { session: { id: "child" }, label: "look it up" }, ({ session }) =>
      say(store, session, "in child"),
    );
    await invocations.spawn("child", { session: { id: "grandchild" } }, async () => {});
    await invocations.attach("grandchild", "caller", { mode: "continue" }, async () => {});
    const family = await open(":memory:");
    const report = await family.sessions.import([await fileOf(store, "caller", { children: true })]);
    expect(report.sessions.map(({ id }) => id)).toEqual(["caller", "child", "grandchild"]);
    const [invocation] = await (await family.sessions.at("caller")).invocations();
    expect(invocation).toMatchObject({ callee: "child", label: "look it up", type: "spawn" });
    const { sessions } = await family.sessions.tree("child");
    expect(sessions.map(({ id }) => id).sort()).toEqual(["caller", "child", "grandchild"]);
    const whole = await fileOf(family, "caller", { children: true });
    expect(whole.equals(await fileOf(store, "caller", { children: true }))).toBe(true);
    await family.close();

    const alone = await open(":memory:");
    expect((await alone.sessions.import([await fileOf(store, "caller")])).sessions).toHaveLength(1);
    const [named] = await (await alone.sessions.at("caller")).invocations();
    expect(named?.callee).toBe("child");
    expect((await alone.stats()).nouns.sessions).toMatchObject({ rows: 1, partial: 1 });
    const events = await alone.log.read("caller");
    expect(events.find(({ type }) => type === "invocation/started")?.data).toMatchObject({ callee: "child" });
    await alone.close();
  });

  test.each([0, 1])("AR1 a child that comes after its caller is linked with it (engine %i)", async (i) => {
    const store = stores[i] as Holdfast;
    const source = await open(":memory:");
    await say(source, `later ${i}`, "find it");
    const asked = { session: { id: `later child ${i}` } };
    await source.invocations.spawn(`later ${i}`, asked, async ({ session }) => {
      await say(source, session, "found");
      await source.heads.publish(session);
    });
    const linked = async (from: Holdfast) => (await (await from.sessions.at(`later ${i}`)).invocations())[0];
    await store.sessions.import([await fileOf(source, `later ${i}`)]);
    expect(await linked(store)).toMatchObject({ callee: `later child ${i}`, calleeHeadAfter: null });
    expect(await store.check({ session: `later ${i}` })).toMatchObject({ status: "ok" });
    await store.sessions.import([await fileOf(source, `later child ${i}`)]);
    expect(await linked(store)).toEqual(await linked(source));
    expect(await store.check({ session: `later ${i}` })).toMatchObject({ status: "ok" });
    await source.close();
  });

  test.each([0, 1])(
    "AR1 attachments that come before what they name are linked as they were (engine %i)",
    async (i) => {
      const store = stores[i] as Holdfast;
      const source = await open(":memory:");
      const [caller, continued, branched] = [`caller ${i}`, `continued ${i}`, `branched ${i}`];
      await say(source, caller, "help me");
      await say(source, continued, "gladly");
      const before = await source.heads.publish(continued, { vars: { n: 1 }, fingerprint: "f" });
      const running = await source.sessions.attach(continued, { caller, mode: "branch", session: { id: branched } });
      const one = await source.sessions.attach(continued, { caller, mode: "continue" });
      await say(source, continued, "done");
      const after = await source.heads.publish(continued);
      await source.invocations.finish(one.id);
      const shown = async (from: Holdfast) => (await from.sessions.at(caller)).invocations();
      const files = { caller: await fileOf(source, caller), continued: await fileOf(source, continued) };
      await store.sessions.import([files.caller]);
      expect((await shown(store)).map((found) => [found.callee, found.source?.session, found.source?.head])).toEqual([
        [branched, continued, null],
        [continued, continued, null],
      ]);
      await store.sessions.import([files.continued]);
      const [, late] = await shown(store);
      expect(late).toMatchObject({ calleeHeadBefore: before.id, calleeHeadAfter: after.id, mode: "continue" });
      expect(late).toEqual((await shown(source))[1]);
      await store.sessions.import([await fileOf(source, branched)]);
      expect(await shown(store)).toEqual(await shown(source));
      expect((await fileOf(store, caller)).equals(files.caller)).toBe(true);
      // An interrupted run continues here.
      expect(await store.invocations.finish(running.id)).toMatchObject({ callee: branched, status: "done" });
      for (const session of [caller, continued, branched]) {
        expect((await store.check({ session })).issues).toEqual([]);
      }
      await source.close();
    },
  );
});
