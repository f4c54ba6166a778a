// Agents suite: edits of a block, their limits, and the versions they leave.
import assert from "node:assert/strict";
import { present, range, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

export const blockEditCases: readonly Case[] = [
  prove("ME8 append adds at the end, and makes a block that is not there", ["agents"], async ({ agents }) => {
    const [first] = await agents.saveBlocks("a", [{ label: "notes", value: "one" }]);
    const second = await agents.appendBlock("a", "notes", ", two");
    assert.equal(second.value, "one, two");
    assert.equal(second.id, first?.id);
    assert.equal(second.version, 2);
    assert.deepEqual(await agents.getBlock("a", "notes"), second);
    const made = await agents.appendBlock("a", "new", "text");
    assert.equal(made.value, "text");
    assert.equal(made.version, 1);
    assert.deepEqual(await agents.loadBlocks("a"), [second, made]);
  }),

  prove("ME8 replace changes the one place where the text stands", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "notes", value: "a dog, a cat ($& $1)" }]);
    assert.equal((await agents.replaceInBlock("a", "notes", "dog", "$& $1 fox")).value, "a $& $1 fox, a cat ($& $1)");
    assert.equal((await agents.replaceInBlock("a", "notes", "cat", "")).value, "a $& $1 fox, a  ($& $1)");
    const before = await agents.getBlock("a", "notes");
    await refuses("Conflict", () => agents.replaceInBlock("a", "notes", "wolf", "x"));
    await refuses("Conflict", () => agents.replaceInBlock("a", "notes", "$&", "x"));
    await refuses("InvalidArgument", () => agents.replaceInBlock("a", "notes", "", "x"));
    assert.deepEqual(await agents.getBlock("a", "notes"), before);
    await agents.rethinkBlock("a", "notes", "aaa");
    await refuses("Conflict", () => agents.replaceInBlock("a", "notes", "aa", "b"), "overlapping places");
  }),

  prove("ME8 rethink replaces the whole value", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "notes", value: "old", description: "d", limit: 9 }]);
    const block = await agents.rethinkBlock("a", "notes", "new");
    assert.equal(block.value, "new");
    assert.equal(block.description, "d");
    assert.equal(block.limit, 9);
    assert.equal(block.version, 2);
  }),

  prove("ME8 a block that is not there cannot be replaced, rethought or restored", ["agents"], async ({ agents }) => {
    await agents.create({ id: "a" });
    await refuses("NotFound", () => agents.replaceInBlock("a", "notes", "x", "y"));
    await refuses("NotFound", () => agents.rethinkBlock("a", "notes", "x"));
    await refuses("NotFound", () => agents.restoreBlock("a", "notes", 1));
    await refuses("NotFound", () => agents.blockVersions("a", "notes"));
    assert.deepEqual(await agents.loadBlocks("a"), []);
  }),

  prove("ME8 the limit counts characters, and an edit over it changes nothing", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "notes", value: "😀😀", limit: 4 }]);
    const full = await agents.appendBlock("a", "notes", "é😀");
    assert.equal(full.value, "😀😀é😀", "four characters, whatever they take");
    const error = await refuses("LimitExceeded", () => agents.appendBlock("a", "notes", "x"));
    assert.ok(Object.keys(error.details).length > 0, "the error says how many there are and may be");
    await refuses("LimitExceeded", () => agents.rethinkBlock("a", "notes", "12345"));
    await refuses("LimitExceeded", () => agents.replaceInBlock("a", "notes", "é", "12"));
    await refuses("LimitExceeded", () => agents.saveBlocks("a", [{ label: "notes", limit: 3 }]));
    assert.deepEqual(await agents.getBlock("a", "notes"), full);
    assert.equal((await agents.replaceInBlock("a", "notes", "é", "x")).value, "😀😀x😀");
  }),

  prove("ME8 a read-only block is not edited by its agent", ["agents"], async ({ agents }) => {
    const [block] = await agents.saveBlocks("a", [{ label: "law", value: "no", readOnly: true }]);
    await refuses("ReadOnly", () => agents.appendBlock("a", "law", "!"));
    await refuses("ReadOnly", () => agents.replaceInBlock("a", "law", "no", "yes"));
    await refuses("ReadOnly", () => agents.rethinkBlock("a", "law", "yes"));
    assert.deepEqual(await agents.loadBlocks("a"), [block]);
    await agents.saveBlocks("a", [{ label: "law", readOnly: false }]);
    assert.equal((await agents.appendBlock("a", "law", "!")).value, "no!");
  }),

  prove("ME8 an edit on a version that has passed is a Conflict", ["agents"], async ({ agents }) => {
    const [block] = await agents.saveBlocks("a", [{ label: "notes", value: "x" }]);
    const { version } = present(block);
    const second = await agents.appendBlock("a", "notes", "y", { version });
    await refuses("Conflict", () => agents.appendBlock("a", "notes", "z", { version }));
    await refuses("Conflict", () => agents.replaceInBlock("a", "notes", "x", "z", { version }));
    await refuses("Conflict", () => agents.rethinkBlock("a", "notes", "z", { version }));
    assert.deepEqual(await agents.getBlock("a", "notes"), second);
  }),

  prove("ME8 every edit is a version, newest first", ["agents", "clock"], async ({ agents, clock }) => {
    const start = clock.now();
    const [block] = await agents.saveBlocks("a", [{ label: "notes", value: "one" }]);
    await clock.advance(1_000);
    await agents.appendBlock("a", "notes", " two");
    await agents.replaceInBlock("a", "notes", "one", "1");
    await agents.rethinkBlock("a", "notes", "three");
    await agents.saveBlocks("a", [{ label: "notes", value: "four" }]);
    await agents.saveBlocks("a", [{ label: "notes", description: "numbers" }]);
    const versions = (await agents.blockVersions("a", "notes")).items;
    assert.deepEqual(
      versions.map(({ version, value, edit }) => [version, value, edit]),
      [
        [6, "four", "configured"],
        [5, "four", "set"],
        [4, "three", "rethink"],
        [3, "1 two", "replace"],
        [2, "one two", "append"],
        [1, "one", "created"],
      ],
    );
    assert.ok(versions.every((version) => version.block === block?.id));
    assert.ok(present(versions[5]).at >= start && present(versions[4]).at >= start + 1_000);
    const first = await agents.blockVersions("a", "notes", { limit: 3 });
    assert.deepEqual(first.items, versions.slice(0, 3));
    const second = await agents.blockVersions("a", "notes", { cursor: present(first.next), limit: 2 });
    assert.deepEqual(second.items, versions.slice(3, 5));
    const third = await agents.blockVersions("a", "notes", { cursor: present(second.next), limit: 2 });
    assert.deepEqual(third, { items: versions.slice(5), next: null });
  }),

  prove("ME8 restoring makes the old value a new version", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "notes", value: "one" }]);
    await agents.rethinkBlock("a", "notes", "two");
    await agents.rethinkBlock("a", "notes", "three");
    const restored = await agents.restoreBlock("a", "notes", 1);
    assert.equal(restored.value, "one");
    assert.equal(restored.version, 4);
    assert.deepEqual(await agents.getBlock("a", "notes"), restored);
    const versions = (await agents.blockVersions("a", "notes")).items;
    assert.deepEqual(
      versions.map(({ value }) => value),
      ["one", "three", "two", "one"],
    );
    assert.equal(versions[0]?.edit, "restored");
    await refuses("NotFound", () => agents.restoreBlock("a", "notes", 9));
  }),

  prove("ME8 appends to one block at once lose nothing", ["agents"], async ({ agents }) => {
    await agents.saveBlocks("a", [{ label: "notes" }]);
    await Promise.all(range(32).map((n) => agents.appendBlock("a", "notes", `<${n}>`)));
    const block = present(await agents.getBlock("a", "notes"));
    for (const n of range(32)) assert.ok(block.value.includes(`<${n}>`), `<${n}> is lost`);
    assert.equal(block.version, 33);
  }),

  prove(
    "ME8 appends of two agents and handles to a shared block lose nothing",
    ["agents", "another"],
    async (nouns) => {
      const handles = [nouns.agents, (await nouns.another()).agents];
      await nouns.agents.saveBlocks("a", [{ label: "team" }]);
      await nouns.agents.shareBlock("a", "team", "b");
      await Promise.all(
        range(20).map((n) => present(handles[n % 2]).appendBlock(n % 4 < 2 ? "a" : "b", "team", `<${n}>`)),
      );
      for (const agents of handles) {
        const block = present(await agents.getBlock("a", "team"));
        for (const n of range(20)) assert.ok(block.value.includes(`<${n}>`), `<${n}> is lost`);
      }
    },
  ),

  prove("ME8 a block made by appends at once is one block", ["agents"], async ({ agents }) => {
    await agents.create({ id: "a" });
    await Promise.all(range(8).map((n) => agents.appendBlock("a", "notes", `<${n}>`)));
    const blocks = await agents.loadBlocks("a");
    assert.equal(blocks.length, 1);
    for (const n of range(8)) assert.ok(blocks[0]?.value.includes(`<${n}>`), `<${n}> is lost`);
  }),
];
