// Agents suite: an agent's ordered set of blocks, saved and loaded whole, and blocks that agents share.
import assert from "node:assert/strict";
import type { Block } from "../../contracts/agents.ts";
import { LIMITS } from "../../contracts/limits.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const labels = (blocks: readonly Block[]) => blocks.map(({ label }) => label);

export const blockSetCases: readonly Case[] = [
  prove("ME8 blocks are saved and loaded in the order given", ["agents"], async ({ agents }) => {
    await agents.create({ id: "a" });
    assert.deepEqual(await agents.loadBlocks("a"), []);
    const saved = await agents.saveBlocks("a", [
      { label: "persona", value: "I am kind. 😀\u0000", limit: 100, description: "who I am", readOnly: true },
      { label: "human", value: "" },
      { label: "facts" },
    ]);
    assert.deepEqual(labels(saved), ["persona", "human", "facts"]);
    const [persona, human, facts] = saved;
    const { label, value, limit, description, readOnly, version } = present(persona);
    const expected = {
      label: "persona",
      value: "I am kind. 😀\u0000",
      limit: 100,
      description: "who I am",
      readOnly: true,
    };
    assert.deepEqual({ label, value, limit, description, readOnly }, expected);
    assert.equal(version, 1);
    assert.equal(human?.readOnly, false);
    assert.equal(facts?.value, "");
    assert.equal(facts?.limit, LIMITS.blockCharsDefault, "the limit of a block that names none");
    assert.deepEqual(await agents.loadBlocks("a"), saved);
    for (const block of saved) assert.deepEqual(await agents.getBlock("a", block.label), block);
    assert.equal(await agents.getBlock("a", "nothing"), null);
    assert.equal(await agents.getBlock("nobody", "persona"), null);
  }),

  prove("ME8 saving makes exactly these the agent's blocks", ["agents"], async ({ agents }) => {
    const [one, two, three] = await agents.saveBlocks(
      "a",
      ["one", "two", "three"].map((label) => ({ label, value: label })),
    );
    const saved = await agents.saveBlocks("a", [
      { label: "three" },
      { label: "new", value: "n" },
      { label: "one", value: "1" },
    ]);
    assert.deepEqual(labels(saved), ["three", "new", "one"]);
    assert.deepEqual(saved[0], three, "what does not differ is kept as it is");
    assert.equal(saved[2]?.id, one?.id, "the same label is the same block");
    assert.equal(saved[2]?.version, present(one).version + 1);
    assert.equal(saved[2]?.value, "1");
    assert.equal(await agents.getBlock("a", "two"), null);
    assert.notEqual(saved[1]?.id, two?.id);
    assert.deepEqual(await agents.loadBlocks("a"), saved);
    assert.deepEqual(await agents.saveBlocks("a", []), []);
    assert.deepEqual(await agents.loadBlocks("a"), []);
  }),

  prove("ME8 saving what is there already makes no version", ["agents"], async ({ agents }) => {
    const inputs = [
      { label: "one", value: "1", limit: 10 },
      { label: "two", value: "2", description: "d" },
    ];
    const first = await agents.saveBlocks("a", inputs);
    assert.deepEqual(await agents.saveBlocks("a", inputs), first);
    const turned = await agents.saveBlocks("a", inputs.toReversed());
    assert.deepEqual(turned, first.toReversed(), "another order is no edit");
    assert.equal((await agents.blockVersions("a", "one")).items.length, 1);
  }),

  prove("ME8 a set is saved whole or not at all", ["agents"], async ({ agents }) => {
    const before = await agents.saveBlocks("a", [{ label: "one", value: "1" }]);
    const tooLong = { label: "two", value: "abc", limit: 2 };
    await refuses("LimitExceeded", () => agents.saveBlocks("a", [{ label: "one", value: "changed" }, tooLong]));
    await refuses("InvalidArgument", () => agents.saveBlocks("a", [{ label: "x" }, { label: "x" }]));
    await refuses("NotFound", () => agents.saveBlocks("a", [{ label: "one" }, { id: "no-such-block", label: "y" }]));
    const many = range(LIMITS.blocksPerAgent + 1).map((n) => ({ label: `b${n}` }));
    await refuses("LimitExceeded", () => agents.saveBlocks("a", many));
    assert.deepEqual(await agents.loadBlocks("a"), before);
  }),

  prove("ME8 sets saved at once are one of them, never a mixture", ["agents"], async ({ agents }) => {
    await agents.create({ id: "a" });
    const sets = range(8).map((who) => ["x", "y", "z"].map((label) => ({ label, value: `${label} of ${who}` })));
    const check = (blocks: readonly Block[]) => {
      const owners = new Set(blocks.map(({ value }) => value.slice(-1)));
      assert.ok(owners.size <= 1, `a mixture: ${blocks.map(({ value }) => value).join(", ")}`);
    };
    const saves = sets.map((set) => agents.saveBlocks("a", set));
    for (const _ of range(10)) check(await agents.loadBlocks("a"));
    await Promise.all(saves);
    const end = await agents.loadBlocks("a");
    check(end);
    assert.equal(end.length, 3);
  }),

  prove("ME8 a shared block is one block to both agents", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "own" }, { label: "team", value: "we" }]);
    await agents.saveBlocks("b", [{ label: "mine" }]);
    const shared = await agents.shareBlock("a", "team", "b");
    assert.deepEqual(shared, await agents.getBlock("a", "team"));
    assert.deepEqual(labels(await agents.loadBlocks("b")), ["mine", "team"]);
    const edited = await agents.appendBlock("b", "team", " agree");
    assert.equal(edited.id, shared.id);
    assert.deepEqual(await agents.getBlock("a", "team"), edited);
    assert.equal((await agents.rethinkBlock("a", "team", "all")).value, "all");
    assert.equal(present(await agents.getBlock("b", "team")).value, "all");
    assert.deepEqual((await agents.blockVersions("b", "team")).items, (await agents.blockVersions("a", "team")).items);
  }),

  prove(
    "ME8 a block can also be shared by its id, and stays with the remaining agents",
    ["agents"],
    async ({ agents }) => {
      const team = present((await agents.saveBlocks("a", [{ label: "team", value: "we" }]))[0]);
      const [same] = await agents.saveBlocks("b", [{ id: team.id, label: "team" }]);
      assert.deepEqual(same, team);
      await agents.saveBlocks("a", []);
      assert.deepEqual(await agents.getBlock("b", "team"), team, "the block outlives the first agent's use of it");
      await agents.shareBlock("b", "team", "c");
      await agents.delete("b");
      assert.equal(present(await agents.getBlock("c", "team")).id, team.id);
      assert.equal((await agents.appendBlock("c", "team", "!")).value, "we!");
    },
  ),

  prove("ME8 what cannot be shared is refused", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "team", value: "we" }]);
    const own = await agents.saveBlocks("b", [{ label: "team", value: "us" }]);
    await refuses("NotFound", () => agents.shareBlock("a", "nothing", "b"));
    await refuses("NotFound", () => agents.shareBlock("nobody", "team", "b"));
    await refuses(["AlreadyExists", "Conflict"], () => agents.shareBlock("a", "team", "b"));
    assert.deepEqual(await agents.loadBlocks("b"), own);
  }),
];
