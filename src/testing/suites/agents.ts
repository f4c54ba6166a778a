// The suite of the agents contract: identities here, their blocks in the files beside.
import assert from "node:assert/strict";
import type { Agents } from "../../contracts/agents.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { blockEditCases } from "./agents-blocks.ts";
import { blockSetCases } from "./agents-sets.ts";
import { agentRaceCases } from "./races.ts";

export function runAgentsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(
    `agents: ${name}`,
    [...identityCases, ...listCases, ...blockSetCases, ...blockEditCases, ...agentRaceCases],
    make,
    options,
  );
}

const identityCases: readonly Case[] = [
  prove("ST5 an agent is all that was said of it", ["agents"], async ({ agents }) => {
    const input = {
      id: "biller",
      name: "Die Kasse 💶",
      agentType: "worker",
      model: "m-1",
      system: "Be exact.\u0000\n",
      toolIds: ["charge", "refund"],
      tags: ["z", "a"],
      metadata: JSON.parse('{"z":1,"__proto__":{"a":null},"a":[]}'),
    };
    const agent = await agents.create(input);
    const { createdAt, updatedAt, version, ...rest } = agent;
    assert.equal(JSON.stringify(rest.metadata), JSON.stringify(input.metadata));
    assert.deepEqual({ ...rest, metadata: {} }, { ...input, metadata: {} });
    assert.equal(createdAt, updatedAt);
    assert.ok(version >= 1);
    assert.deepEqual(await agents.get("biller"), agent);
  }),

  prove("ST5 what is not given is null or empty, and the id is made", ["agents"], async ({ agents }) => {
    const made = await Promise.all([agents.create(), agents.create({}), agents.create({ name: "n" })]);
    assert.equal(new Set(made.map(({ id }) => id)).size, 3);
    const { model, system, toolIds, tags, metadata } = present(made[0]);
    assert.deepEqual(
      { model, system, toolIds, tags, metadata },
      { model: null, system: null, toolIds: [], tags: [], metadata: {} },
    );
    for (const agent of made) assert.deepEqual(await agents.get(agent.id), agent);
  }),

  prove("ST7 an id that is taken is AlreadyExists and changes nothing", ["agents"], async ({ agents }) => {
    const first = await agents.create({ id: "biller", name: "first" });
    await refuses("AlreadyExists", () => agents.create({ id: "biller", name: "second" }));
    assert.deepEqual(await agents.get("biller"), first);
    const done = await Promise.allSettled(range(8).map(() => agents.create({ id: "contested" })));
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 1);
  }),

  prove(
    "ST2 update changes only what is given, and the version grows",
    ["agents", "clock"],
    async ({ agents, clock }) => {
      const input = {
        id: "biller",
        name: "n",
        model: "m",
        system: "s",
        toolIds: ["t"],
        tags: ["x"],
        metadata: { a: 1 },
      };
      const first = await agents.create(input);
      await clock.advance(1_000);
      const second = await agents.update("biller", { model: null, tags: ["y"] });
      const { version, updatedAt } = second;
      assert.ok(version > first.version);
      assert.ok(updatedAt > first.updatedAt);
      assert.deepEqual(second, { ...first, model: null, tags: ["y"], version, updatedAt });
      assert.deepEqual(await agents.get("biller"), second);
      await refuses("NotFound", () => agents.update("nobody", { name: "n" }));
    },
  ),

  prove("ST2 a version that has passed is a Conflict and changes nothing", ["agents"], async ({ agents }) => {
    const { version } = await agents.create({ id: "biller" });
    const second = await agents.update("biller", { name: "mine", version });
    await refuses("Conflict", () => agents.update("biller", { name: "theirs", version }));
    assert.deepEqual(await agents.get("biller"), second);
    const done = await Promise.allSettled(
      range(8).map((n) => agents.update("biller", { name: `${n}`, version: second.version })),
    );
    assert.equal(done.filter(({ status }) => status === "fulfilled").length, 1);
  }),

  prove("ST2 updates of different fields at once all hold", ["agents"], async ({ agents }) => {
    await agents.create({ id: "biller" });
    await Promise.all([
      agents.update("biller", { name: "n" }),
      agents.update("biller", { model: "m" }),
      agents.update("biller", { tags: ["t"] }),
    ]);
    const { name, model, tags } = present(await agents.get("biller"));
    assert.deepEqual({ name, model, tags }, { name: "n", model: "m", tags: ["t"] });
  }),

  prove(
    "ST7 delete says what it removed, or that there was none, and its messages stay",
    ["agents", "history"],
    async (nouns) => {
      const { agents, history } = nouns;
      await agents.create({ id: "biller", tags: ["t"] });
      const scope = { session: "chat", agent: "biller" };
      const message = await history.append(scope, { role: "assistant", content: "hi" });
      assert.deepEqual(await agents.delete("biller"), { removed: { agents: 1, blocks: 0 }, kept: {} });
      assert.equal(await agents.delete("biller"), null);
      assert.equal(await agents.delete("nobody"), null);
      assert.equal(await agents.get("biller"), null);
      assert.deepEqual((await agents.list()).items, []);
      assert.deepEqual((await agents.list({ tag: "t" })).items, []);
      assert.deepEqual(await agents.loadBlocks("biller"), []);
      assert.deepEqual(await history.get(scope), [message]);
      assert.deepEqual(await history.byAgent("biller"), [message]);
    },
  ),

  prove(
    "LG6 delete reports the memories that it keeps, and erases them when told, in all namespaces",
    ["agents", "memory"],
    async ({ agents, memory }) => {
      const ann = { agent: "ann" };
      await agents.saveBlocks("ann", [{ label: "facts" }, { label: "shared", value: "of both" }]);
      await agents.shareBlock("ann", "shared", "bob");
      await memory.save("Ann likes tea", { ...ann, importance: 1 });
      await memory.promote(ann);
      await memory.save("Ann likes milk", { ...ann, namespace: "home" });
      await memory.save("Ann is late", { ...ann, namespace: "work" });
      await memory.save("Bob is early", { agent: "bob" });
      await memory.save("nobody's");
      assert.deepEqual(await agents.delete("ann"), {
        removed: { agents: 1, blocks: 1 },
        kept: { blocks: 1, memories: 3 },
      });
      assert.equal((await memory.list({ ...ann, namespace: "home" })).items.length, 1);
      assert.equal(await agents.delete("ann"), null);
      const rest = present(await agents.delete("ann", { memories: true }));
      assert.deepEqual([rest.removed.memories, rest.removed.agents, rest.kept], [3, undefined, {}]);
      assert.equal(await agents.delete("ann", { memories: true }), null);
      for (const namespace of ["default", "home", "work"])
        assert.deepEqual((await memory.list({ ...ann, namespace })).items, []);
      const bob = present(await agents.delete("bob", { memories: true }));
      assert.deepEqual([bob.removed.memories, bob.removed.agents, bob.removed.blocks, bob.kept], [1, 1, 1, {}]);
      assert.equal((await memory.list()).items.length, 1);
      await refuses("InvalidArgument", () => agents.delete("bob", { memories: 1 as never }));
    },
  ),

  prove("ST8 what is over a limit is refused and nothing is written", ["agents"], async ({ agents }) => {
    const long = "x".repeat(LIMITS.metadataBytes + 1);
    await refuses("LimitExceeded", () => agents.create({ id: "a", name: "x".repeat(LIMITS.titleBytes + 1) }));
    await refuses("LimitExceeded", () => agents.create({ id: "a", system: long }));
    await refuses("LimitExceeded", () => agents.create({ id: "a", metadata: { long } }));
    await refuses("LimitExceeded", () => agents.create({ id: "a", tags: range(LIMITS.tags + 1).map(String) }));
    await refuses("LimitExceeded", () => agents.create({ id: "a", toolIds: range(LIMITS.toolIds + 1).map(String) }));
    assert.equal(await agents.get("a"), null);
  }),
];

async function pages(
  agents: Agents,
  filter: Parameters<Agents["list"]>[0],
  between?: () => Promise<unknown>,
): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await agents.list(cursor === undefined ? filter : { ...filter, cursor });
    ids.push(...items.map(({ id }) => id));
    if (next === null) return ids;
    cursor = next;
    await between?.();
  }
}

const listCases: readonly Case[] = [
  prove("ST8 agents are listed newest first, or oldest first when asked, by page", ["agents"], async ({ agents }) => {
    assert.deepEqual(await agents.list(), { items: [], next: null });
    for (const n of range(11)) await agents.create({ id: `a${(n * 7) % 11}` });
    const all = range(11).map((n) => `a${(n * 7) % 11}`);
    for (const limit of [1, 3, 10, 11, 12]) {
      assert.deepEqual(await pages(agents, { limit }), all.toReversed());
      assert.deepEqual(await pages(agents, { limit, order: "oldest" }), all);
    }
    await refuses("InvalidArgument", () => agents.list({ order: "sideways" as never }));
    const { items } = await agents.list();
    for (const item of items) assert.deepEqual(item, await agents.get(item.id));
    await refuses("LimitExceeded", () => agents.list({ limit: LIMITS.page + 1 }));
    await refuses("InvalidArgument", () => agents.list({ cursor: "' OR 1=1 --" }));
  }),

  prove("ST11 pages stay true while agents are created, changed and deleted", ["agents"], async ({ agents }) => {
    for (const n of range(10)) await agents.create({ id: `a${n}` });
    let late = 0;
    const between = async () => {
      if (late < 3) await agents.create({ id: `late${late++}` });
      await agents.update("a0", { name: `${late}` });
      await agents.delete("a9");
    };
    const all = range(9).map((n) => `a${n}`);
    const seen = await pages(agents, { limit: 2, order: "oldest" }, between);
    assert.deepEqual(seen, [...all, "late0", "late1", "late2"]);
    late = 0;
    for (const n of range(3)) await agents.delete(`late${n}`);
    assert.deepEqual(
      await pages(agents, { limit: 2 }, between),
      all.toReversed(),
      "what comes later is on no later page",
    );
  }),

  prove("ST10 agents are found by tag and type", ["agents"], async ({ agents }) => {
    await agents.create({ id: "a0", tags: ["x", "y"], agentType: "worker" });
    await agents.create({ id: "a1", tags: ["x"], agentType: "boss" });
    await agents.create({ id: "a2", tags: ["y"], agentType: "worker" });
    assert.deepEqual(await pages(agents, { tag: "x" }), ["a1", "a0"]);
    assert.deepEqual(await pages(agents, { agentType: "worker" }), ["a2", "a0"]);
    assert.deepEqual(await pages(agents, { tag: "x", agentType: "worker", limit: 1 }), ["a0"]);
    await agents.update("a0", { tags: ["y"] });
    assert.deepEqual(await pages(agents, { tag: "x" }), ["a1"]);
    assert.deepEqual(await pages(agents, { tag: "y", limit: 1 }), ["a2", "a0"]);
    assert.deepEqual(await pages(agents, { tag: "nothing" }), []);
  }),
];
