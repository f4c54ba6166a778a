// What others do between the decision of an import and its commit is seen by it: it decides again, or refuses.
import { beforeEach, describe, expect, test } from "vitest";
import { ENGINES, type EngineStore, openPair } from "../../test/engines.ts";
import type { Holdfast } from "../contracts/holdfast.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import { realEnvironment } from "../core/environment.ts";
import { createSessionLookup } from "../core/session-lookup.ts";
import { overrideStorage } from "../core/storage-overrides.ts";
import { open } from "../open.ts";
import { createInvocations } from "../sessions/invocations.ts";
import { createPayloads } from "../storage/blobs/payloads.ts";
import { migrate } from "../storage/sql/migrations.ts";
import { openSqlite } from "../storage/sql/sqlite/driver.ts";
import { SqlStorage } from "../storage/sql/store.ts";
import { fileOf } from "../testing/expect.ts";
import { importArchive } from "./import.ts";

const environment = realEnvironment();

async function scratch(): Promise<Storage> {
  const driver = await openSqlite({ path: ":memory:", durability: "normal", busyMs: 1000, environment });
  await migrate(driver, { create: true, migrate: true, environment, target: ":memory:" });
  return new SqlStorage(driver, environment);
}

describe.each(ENGINES.map((engine, i) => [i, engine] as const))("an import with others (engine %i)", (_, engine) => {
  let ground: EngineStore;
  let here: Holdfast;
  let home: Holdfast;
  beforeEach(async () => {
    const pair = await openPair(engine);
    ({ here, home, ground } = pair);
    return pair.close;
  });

  const say = (session: string, content: string, store = home) =>
    store.history.append({ session, agent: "ada" }, { role: "user", content });

  /** The same store by another handle, which lets others go first once, when it has decided. */
  function interrupted(isMeant: (commit: Parameters<Storage["commit"]>[0]) => boolean, others: () => Promise<unknown>) {
    const storage = new SqlStorage(ground.driver, environment);
    let isOver = false;
    const waiting = overrideStorage(storage, {
      async commit(commit) {
        if (!isOver && isMeant(commit)) {
          isOver = true;
          await others();
        }
        return storage.commit(commit);
      },
    });
    return { storage: waiting, payloads: createPayloads(waiting), wasInterrupted: () => isOver };
  }

  async function importing(file: Uint8Array, others: () => Promise<unknown>) {
    const { storage, payloads, wasInterrupted } = interrupted(({ restores }) => restores !== undefined, others);
    const report = await importArchive(storage, payloads, scratch, file);
    expect(wasInterrupted()).toBe(true);
    return report;
  }

  const sound = async () => expect((await here.check()).issues).toEqual([]);

  /** boss and another call kid. */
  async function family(): Promise<{ readonly first: string; readonly second: string }> {
    for (const id of ["boss", "another", "kid"]) await home.sessions.create({ id });
    await home.heads.publish("kid");
    const attached = (caller: string) => home.sessions.attach("kid", { caller, mode: "continue" });
    const [one, two] = [await attached("boss"), await attached("another")];
    return { first: one.id, second: two.id };
  }

  test("AR1 a callee that comes is linked with a caller that came just before", async () => {
    const { first, second } = await family();
    await here.sessions.import(await fileOf(home, "boss"));
    const another = await fileOf(home, "another");
    await importing(await fileOf(home, "kid"), () => here.sessions.import(another));
    for (const id of [first, second]) expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
    await sound();
  });

  test("AR1 a caller that comes is linked with a callee that came just before", async () => {
    const { first, second } = await family();
    const kid = await fileOf(home, "kid");
    await importing(await fileOf(home, "boss"), () => here.sessions.import(kid));
    await importing(await fileOf(home, "another"), () => say("elsewhere", "unrelated", here));
    for (const id of [first, second]) expect(await here.invocations.get(id)).toEqual(await home.invocations.get(id));
    await sound();
  });

  test("AR1 an invocation that ends keeps the links that were made just before", async () => {
    const { first } = await family();
    const kid = await fileOf(home, "kid");
    await here.sessions.import(await fileOf(home, "boss"));
    const { storage, payloads, wasInterrupted } = interrupted(
      ({ events }) => events?.some(({ type }) => type === "invocation/finished") ?? false,
      () => here.sessions.import(kid),
    );
    const lookup = createSessionLookup(storage, here.info);
    await createInvocations(storage, payloads, lookup).finish(first);
    expect(wasInterrupted()).toBe(true);
    const before = (await home.invocations.get(first))?.calleeHeadBefore;
    expect(await here.invocations.get(first)).toMatchObject({ status: "done", calleeHeadBefore: before });
    await sound();
  });

  /** Forks of a source that says one more thing, and publishes a head, before each. */
  async function forks(): Promise<readonly [Buffer, Buffer, Buffer]> {
    const files: Buffer[] = [];
    for (const n of [0, 1, 2]) {
      await say("source", `secret ${n}`);
      await home.heads.publish("source");
      await home.sessions.fork("source", { id: `fork ${n}` });
      files.push(await fileOf(home, `fork ${n}`));
    }
    return files as unknown as readonly [Buffer, Buffer, Buffer];
  }

  test("AR1 a name that was deleted just before, with the session that named it, is there again", async () => {
    await home.sessions.create({ id: "boss" });
    await home.invocations.start("boss", { session: { id: "kid" } });
    await here.sessions.import(await fileOf(home, "boss"));
    const other = await open(":memory:");
    await other.sessions.create({ id: "chief" });
    await other.invocations.start("chief", { session: { id: "kid" } });
    await importing(await fileOf(other, "chief"), () => here.sessions.delete("boss"));
    await other.close();
    expect(await here.invocations.get("chief#2")).toMatchObject({ callee: "kid" });
    await sound();
  });

  test("AR3 a part that grew just before is completed all the same", async () => {
    const [first, , third] = await forks();
    await here.sessions.import(first);
    await importing(await fileOf(home, "source"), () => here.sessions.import(third));
    expect((await fileOf(here, "source")).equals(await fileOf(home, "source"))).toBe(true);
    await sound();
  });

  test("AR3 a part that grew just before grows no further than it should", async () => {
    const [first, second, third] = await forks();
    await here.sessions.import(first);
    await importing(second, () => here.sessions.import(third));
    expect(await (await here.sessions.at("fork 1")).messages()).toHaveLength(2);
    await sound();
  });

  test("AR3 a part that came whole, and was deleted, just before does not grow", async () => {
    const [first, , third] = await forks();
    const source = await fileOf(home, "source");
    await here.sessions.import(first);
    const others = async () => {
      await here.sessions.import(source);
      await here.sessions.delete("source");
    };
    await expect(importing(third, others)).rejects.toMatchObject({
      code: "Conflict",
      message: expect.stringContaining("was deleted in this store"),
    });
    expect(await here.sessions.get("fork 2")).toBeNull();
    await sound();
  });

  test("AR3 a source that was deleted just before is not relied on", async () => {
    const [first] = await forks();
    await here.sessions.import(await fileOf(home, "source"));
    await expect(importing(first, () => here.sessions.delete("source"))).rejects.toMatchObject({ code: "Conflict" });
    expect(await here.sessions.get("fork 0")).toBeNull();
    await sound();
  });

  test("AR3 a part that no session inherits any more gives way to another past", async () => {
    const [, , third] = await forks();
    await here.sessions.import(third);
    await here.sessions.delete("fork 2");
    const stranger = await open(":memory:");
    await say("source", "of somebody else", stranger);
    await stranger.sessions.fork("source", { id: "strange" });
    await here.sessions.import(await fileOf(stranger, "strange"));
    await stranger.close();
    expect(await (await here.sessions.at("strange")).messages()).toHaveLength(1);
    await sound();
  });

  test("AR3 a part does not grow with another past", async () => {
    const [first] = await forks();
    await here.sessions.import(first);
    const stranger = await open(":memory:");
    await say("source", "of somebody else", stranger);
    await say("source", "more", stranger);
    await stranger.sessions.fork("source", { id: "strange" });
    await expect(here.sessions.import(await fileOf(stranger, "strange"))).rejects.toMatchObject({
      code: "Conflict",
      message: expect.stringContaining("the archive continues another session"),
    });
    await stranger.close();
    await sound();
  });
});
