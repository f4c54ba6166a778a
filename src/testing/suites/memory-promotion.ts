// Promotion of memories into core blocks: what goes in and out, that it is one commit and deterministic, explains itself, and can be
// taken back.
import assert from "node:assert/strict";
import { HoldfastError } from "../../contracts/errors.ts";
import { present, range, refuses } from "../expect.ts";
import { type Case, type CaseContext, prove } from "../suite.ts";

const NEEDS = ["memory", "agents"] as const;
const WITH_CLOCK = [...NEEDS, "clock"] as const;
const ANOTHER = [...NEEDS, "another"] as const;
const ADA = { agent: "ada" };
const DAY_MS = 86_400_000;
type Nouns = Pick<CaseContext, (typeof NEEDS)[number]>;

const withBlocks = ({ agents }: Nouns, limit = 1000) =>
  agents.saveBlocks("ada", [
    { label: "human", value: "mine" },
    { label: "facts", limit },
    { label: "goals", limit },
  ]);

const read = async ({ agents }: Nouns, label = "facts") => present(await agents.getBlock("ada", label)).value;

const important = (content: string, memory: Nouns["memory"], more: object = {}) =>
  memory.save(content, { ...ADA, importance: 0.9, ...more });

export const promotionCases: readonly Case[] = [
  prove(
    "ME5 what is important or was confirmed becomes a line of its block; searches do not count",
    NEEDS,
    async (nouns) => {
      const { memory } = nouns;
      await withBlocks(nouns);
      const vital = await important("  Ann is\nallergic to  nuts ", memory);
      const goal = await important("Learn Danish", memory, { kind: "goal" });
      await important("Rain on Monday", memory, { kind: "event" });
      const plain = await memory.save("Ann likes tea", ADA);
      for (const _ of range(5)) await memory.search("tea", ADA);
      const first = await memory.promote(ADA);
      assert.deepEqual(
        first.promoted.map(({ memory: id, block }) => [id, block]),
        [
          [vital.id, "facts"],
          [goal.id, "goals"],
        ],
      );
      assert.deepEqual([first.demoted, first.kept], [[], 2]);
      assert.equal(await read(nouns), "- Ann is allergic to nuts");
      assert.equal(await read(nouns, "goals"), "- Learn Danish");
      assert.equal(await read(nouns, "human"), "mine");
      await memory.touch(plain.id, ADA);
      const second = await memory.promote(ADA);
      assert.deepEqual(
        second.promoted.map(({ memory: id }) => id),
        [plain.id],
      );
      assert.deepEqual([second.kept, second.blocks.length], [3, 1]);
      assert.equal(await read(nouns), "- Ann is allergic to nuts\n- Ann likes tea");
      const versions = (await nouns.agents.blockVersions("ada", "facts")).items;
      assert.deepEqual(
        versions.map(({ edit }) => edit),
        ["promoted", "promoted", "created"],
      );
      const changes = (await memory.history(plain.id, ADA)).items;
      assert.deepEqual(
        changes.map(({ change }) => change),
        ["promoted", "touched", "created"],
      );
      assert.equal(changes[0]?.by, versions[0]?.block);
    },
  ),

  prove(
    "ME5 it is off for agents without such blocks, and a second promotion changes nothing",
    NEEDS,
    async (nouns) => {
      const { memory, agents } = nouns;
      await important("Ann is allergic to nuts", memory);
      const nothing = { promoted: [], demoted: [], kept: 0, blocks: [] };
      assert.deepEqual(await memory.promote(ADA), nothing);
      await agents.saveBlocks("ada", [{ label: "human" }, { label: "facts", readOnly: true }]);
      assert.deepEqual(await memory.promote(ADA), nothing);
      await withBlocks(nouns);
      await agents.saveBlocks("ada", [{ label: "facts", readOnly: false }]);
      const dry = await memory.promote({ ...ADA, dryRun: true });
      assert.equal(dry.promoted.length, 1);
      assert.equal(await read(nouns), "");
      assert.deepEqual(await memory.promote(ADA), dry);
      const before = await agents.loadBlocks("ada");
      assert.deepEqual(await memory.promote(ADA), { ...nothing, kept: 1 });
      assert.deepEqual(await agents.loadBlocks("ada"), before);
      await refuses("InvalidArgument", () => memory.promote({} as never));
      assert.deepEqual(await memory.promote({ ...ADA, namespace: "other" }), nothing);
    },
  ),

  prove("ME5 LG6 an erasure beside a promotion leaves no line of what it erased", NEEDS, async (nouns) => {
    const { memory } = nouns;
    await withBlocks(nouns);
    for (const erase of ["delete", "clear"] as const) {
      for (const n of range(8)) {
        const { id } = await important(`secret ${erase} ${n}`, memory);
        const erased = erase === "delete" ? memory.delete(id, ADA) : memory.clear(ADA);
        await Promise.all([erased, memory.promote(ADA)]);
        assert.equal(await read(nouns), "");
      }
    }
  }),

  prove(
    "ME5 lines of two namespaces never meet in a block, whoever is first, also if both promote at once",
    [...NEEDS, "another"],
    async (nouns) => {
      const { memory } = nouns;
      const other = await nouns.another();
      await withBlocks(nouns);
      const tea = await important("Ann likes tea", memory);
      await memory.promote(ADA);
      const acme = { ...ADA, namespace: "acme" };
      const { id } = await important("Bob likes gin", memory, acme);
      const goal = await important("Sell gin", memory, { ...acme, kind: "goal" });
      const before = await memory.history(id, acme);
      await refuses("Conflict", () => memory.promote(acme));
      await refuses("Conflict", () => memory.promote({ ...acme, dryRun: true }));
      assert.equal(await read(nouns), "- Ann likes tea");
      assert.equal(await read(nouns, "goals"), "", "it is all or nothing");
      assert.deepEqual(await memory.history(id, acme), before);
      assert.match((await memory.explainPromotion(id, acme)).reason, /namespace "default"/);
      assert.match((await memory.explainPromotion(goal.id, acme)).reason, /next promotion/);
      await memory.delete(tea.id, ADA);
      await memory.promote(acme);
      assert.equal(await read(nouns), "- Bob likes gin");
      await memory.promote(ADA);
      await important("Ann likes milk", memory);
      await refuses("Conflict", () => memory.promote(ADA));
      await memory.clear(acme);
      for (const n of range(4)) {
        await important(`Bob likes ${n}`, memory, acme);
        const both = await Promise.allSettled([memory.promote(ADA), other.memory.promote(acme)]);
        assert.ok(both.some(({ status }) => status === "rejected"));
        const value = await read(nouns);
        assert.ok(value === "- Ann likes milk" || value === `- Bob likes ${n}`, value);
        if (value.includes("Ann")) await memory.undoPromotion(ADA);
        await memory.clear(acme);
        await important("Ann likes milk", memory);
      }
    },
  ),

  prove("ME5 lines of the agent stay, and the limit is kept: the best that fit", NEEDS, async (nouns) => {
    const { memory, agents } = nouns;
    await agents.saveBlocks("ada", [{ label: "facts", value: "own line\n\n- also mine", limit: 60 }]);
    for (const n of range(9)) await important(`fact number ${n}`, memory, { importance: 0.6 + n / 100 });
    await important("x".repeat(700), memory, { importance: 1 });
    const report = await memory.promote(ADA);
    const value = await read(nouns);
    assert.equal(value, "own line\n\n- also mine\n- fact number 8\n- fact number 7");
    assert.ok(value.length <= 60);
    assert.equal(report.kept, 2);
    await agents.saveBlocks("ada", [{ label: "facts", limit: 1000 }]);
    await memory.promote(ADA);
    assert.equal((await read(nouns)).split("\n").length, 3 + 9);
    await agents.rethinkBlock("ada", "facts", "own line\n- fact number 8\n- fact number 7\n- fact number 6");
    await agents.saveBlocks("ada", [{ label: "facts", limit: 70 }]);
    await memory.promote(ADA);
    assert.match(await read(nouns), /^own line\n- fact number 8\n- fact number 7\n- fact number 6$/);
  }),

  prove("ME5 what is superseded gives its line to what took its place", NEEDS, async (nouns) => {
    const { memory } = nouns;
    await withBlocks(nouns);
    const home = { subject: "Ann", attribute: "home" };
    await important("Ann lives in Rome", memory, { ...home, importance: 1 });
    await important("Ann is a baker", memory);
    await memory.promote(ADA);
    const next = await important("Ann lives in Oslo", memory, home);
    const report = await memory.promote(ADA);
    assert.deepEqual(
      report.promoted.map(({ memory: id }) => id),
      [next.id],
    );
    assert.deepEqual(
      report.demoted.map(({ memory: id, reason }) => [id, reason]),
      [[next.superseded[0], "ended"]],
    );
    assert.equal(await read(nouns), "- Ann lives in Oslo\n- Ann is a baker");
  }),

  prove(
    "ME5 with time a score falls and the line goes, later than it would have come; a pinned one stays",
    WITH_CLOCK,
    async (nouns) => {
      const { memory, clock } = nouns;
      await withBlocks(nouns);
      const fades = await memory.save("Ann is in Paris", { ...ADA, importance: 0.7 });
      const pinned = await memory.save("Ann is 30", { ...ADA, importance: 0.7 });
      assert.equal(await memory.pin(pinned.id, ADA), true);
      assert.equal(await memory.pin(pinned.id, ADA), false);
      assert.equal((await memory.promote(ADA)).promoted.length, 2);
      await clock.advance(30 * DAY_MS);
      assert.deepEqual((await memory.promote(ADA)).demoted, [], "0.35 and half of 0.2, and a tenth for being there");
      await clock.advance(60 * DAY_MS);
      const later = await memory.promote(ADA);
      assert.deepEqual(
        later.demoted.map(({ memory: id, reason }) => [id, reason]),
        [[fades.id, "score"]],
      );
      assert.equal(await read(nouns), "- Ann is 30");
      assert.equal(await memory.unpin(pinned.id, ADA), true);
      assert.equal((await memory.promote(ADA)).demoted.length, 1);
      assert.equal(await read(nouns), "");
    },
  ),

  prove(
    "ME5 a line that the agent changed or removed stays out until the memory is confirmed again",
    NEEDS,
    async (nouns) => {
      const { memory, agents } = nouns;
      await withBlocks(nouns);
      const { id } = await important("Ann likes tea", memory);
      await memory.promote(ADA);
      await agents.replaceInBlock("ada", "facts", "- Ann likes tea", "- Ann likes mate");
      const report = await memory.promote(ADA);
      assert.deepEqual(
        report.demoted.map(({ reason }) => reason),
        ["edited"],
      );
      assert.deepEqual((await memory.promote(ADA)).promoted, []);
      assert.equal(await read(nouns), "- Ann likes mate");
      await memory.touch(id, ADA);
      await memory.promote(ADA);
      assert.equal(await read(nouns), "- Ann likes mate\n- Ann likes tea");
    },
  ),

  prove("ME5 a promotion can be taken back, and stays taken back", WITH_CLOCK, async (nouns) => {
    const { memory, clock } = nouns;
    await withBlocks(nouns);
    await refuses("Conflict", () => memory.undoPromotion(ADA));
    const old = await memory.save("Ann is in Paris", { ...ADA, importance: 0.7 });
    await memory.promote(ADA);
    await clock.advance(200 * DAY_MS);
    const next = await important("Ann is a baker", memory);
    await memory.promote(ADA);
    assert.equal(await read(nouns), "- Ann is a baker");
    await nouns.agents.appendBlock("ada", "facts", "\nown line");
    const report = await memory.undoPromotion(ADA);
    assert.deepEqual(
      report.promoted.map(({ memory: id }) => id),
      [old.id],
    );
    assert.deepEqual(
      report.demoted.map(({ memory: id, reason }) => [id, reason]),
      [[next.id, "undone"]],
    );
    assert.equal(await read(nouns), "own line\n- Ann is in Paris");
    const again = await memory.promote(ADA);
    assert.deepEqual([again.promoted, again.demoted], [[], []]);
    assert.equal((await memory.explainPromotion(old.id, ADA)).pinned, true);
    await memory.touch(next.id, ADA);
    assert.deepEqual(
      (await memory.promote(ADA)).promoted.map(({ memory: id }) => id),
      [next.id],
    );
  }),

  prove("ME5 every outcome explains itself", WITH_CLOCK, async (nouns) => {
    const { memory, agents, clock } = nouns;
    await agents.saveBlocks("ada", [{ label: "facts", limit: 40 }]);
    const vital = await important("Ann is allergic to nuts", memory, { importance: 1 });
    const crowded = await important("Ann likes green tea very much", memory);
    const weak = await memory.save("Ann saw a bird", { ...ADA, importance: 0.1 });
    const goal = await important("Learn Danish", memory, { kind: "goal" });
    const ended = await important("It rains", memory, { validFrom: 1, validTo: 2 });
    const because = async (id: string) => (await memory.explainPromotion(id, ADA)).reason;
    assert.match(await because(vital.id), /next promotion puts it into the block facts/);
    await memory.promote(ADA);
    const explained = await memory.explainPromotion(vital.id, ADA);
    assert.match(explained.reason, /is in the block facts, and its score keeps it/);
    assert.deepEqual(
      [explained.block, explained.pinned, explained.score, explained.needed],
      ["facts", false, 0.8, 0.5],
    );
    assert.deepEqual(explained.signals, [
      { name: "importance", value: 1, weight: 0.5 },
      { name: "recency", value: 1, weight: 0.2 },
      { name: "frequency", value: 0, weight: 0.3 },
    ]);
    assert.match(await because(crowded.id), /no room/);
    assert.match(await because(weak.id), /score is too low/);
    assert.match(await because(goal.id), /no block goals/);
    assert.match(await because(ended.id), /does not hold any more/);
    await clock.advance(1000);
    await memory.undoPromotion(ADA);
    assert.match(await because(vital.id), /stays out until it is confirmed again/);
    await refuses("NotFound", () => memory.explainPromotion(vital.id, { agent: "eve" }));
    await refuses("NotFound", () => memory.pin("mem_none", ADA));
  }),

  prove(
    "ME5 what is erased leaves its block first, and the report counts what older versions keep",
    WITH_CLOCK,
    async (nouns) => {
      const { memory, agents, clock } = nouns;
      await withBlocks(nouns);
      const ids: string[] = [];
      for (const n of range(4)) ids.push((await important(`secret number ${n}`, memory)).id);
      await important("a short secret", memory, { ttlMs: 60_000 });
      await memory.save("no secret", ADA);
      await memory.promote(ADA);
      await agents.appendBlock("ada", "facts", "\nown line");
      const { removed, kept } = await memory.delete(present(ids[1]), ADA);
      assert.deepEqual([removed.memories, kept], [1, { blockLines: 1 }]);
      assert.doesNotMatch(await read(nouns), /number 1/);
      assert.deepEqual((await memory.delete(present(ids[1]), ADA)).kept, {});
      await clock.advance(61_000);
      assert.deepEqual((await memory.deleteExpired()).kept, { blockLines: 1 });
      assert.doesNotMatch(await read(nouns), /short/);
      assert.deepEqual((await memory.clear(ADA)).kept, { blockLines: 3 });
      assert.equal(await read(nouns), "own line");
      assert.deepEqual((await memory.promote(ADA)).kept, 0);
    },
  ),

  prove(
    "ME5 LG6 an erasure reaches blocks that are read-only, have another label or another agent, and counts lines that were taken back",
    WITH_CLOCK,
    async (nouns) => {
      const { memory, agents } = nouns;
      await withBlocks(nouns);
      const first = await important("the first secret", memory);
      await memory.promote(ADA);
      const facts = present(await agents.getBlock("ada", "facts"));
      await agents.saveBlocks("ada", [{ ...facts, readOnly: true }]);
      assert.deepEqual((await memory.delete(first.id, ADA)).kept, { blockLines: 1 });
      assert.doesNotMatch(await read(nouns), /secret/);

      await agents.saveBlocks("ada", [{ id: facts.id, label: "facts", readOnly: false }]);
      const second = await important("the second secret", memory);
      await memory.promote(ADA);
      await agents.create({ id: "eve", name: "Eve" });
      await agents.shareBlock("ada", "facts", "eve");
      await agents.saveBlocks("ada", [{ label: "other", value: "x" }]);
      assert.match(present(await agents.getBlock("eve", "facts")).value, /second secret/);
      assert.deepEqual((await memory.clear(ADA)).kept, { blockLines: 1 });
      assert.doesNotMatch(present(await agents.getBlock("eve", "facts")).value, /secret/);
      assert.equal(await memory.get(second.id, ADA), null);

      await agents.saveBlocks("ada", [{ label: "facts", value: "" }]);
      const third = await important("the third secret", memory);
      await memory.promote(ADA);
      await memory.undoPromotion(ADA);
      assert.deepEqual((await memory.delete(third.id, ADA)).kept, { blockLines: 1 });
    },
  ),

  prove(
    "ME5 ME2 a promotion that is taken back brings no line of an expired memory back",
    WITH_CLOCK,
    async (nouns) => {
      const { memory, clock } = nouns;
      await withBlocks(nouns);
      await important("for a minute", memory, { ttlMs: 60_000 });
      await memory.promote(ADA);
      await clock.advance(61_000);
      await important("for ever", memory);
      await memory.promote(ADA);
      assert.equal(await read(nouns), "- for ever");
      await memory.undoPromotion(ADA);
      assert.equal(await read(nouns), "");
    },
  ),

  prove("ME5 promotions and edits at once lose nothing, and put each line once", ANOTHER, async (nouns) => {
    const other = await nouns.another();
    await withBlocks(nouns, 5000);
    for (const n of range(20)) await important(`fact number ${n}`, nouns.memory);
    await Promise.all([
      ...range(8).map((n) => (n % 2 === 0 ? nouns.memory : other.memory).promote(ADA)),
      ...range(8).map((n) => other.agents.appendBlock("ada", "facts", `\n<${n}>`)),
      ...range(4).map((n) =>
        other.memory.touch("none", ADA).catch((error) => assert.ok(error instanceof HoldfastError, `${n}`)),
      ),
    ]);
    await nouns.memory.promote(ADA);
    const lines = (await read(nouns)).split("\n");
    for (const n of range(8)) assert.equal(lines.filter((line) => line === `<${n}>`).length, 1, `<${n}>`);
    for (const n of range(20)) assert.equal(lines.filter((line) => line === `- fact number ${n}`).length, 1, `${n}`);
    for (const { id } of (await nouns.memory.list({ ...ADA, limit: 100 })).items) {
      const changes = (await nouns.memory.history(id, ADA)).items;
      assert.equal(changes.filter(({ change }) => change === "promoted").length, 1);
    }
  }),
];
