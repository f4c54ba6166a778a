// The suite of archives: a session out of one store and into another, forks that are complete alone, files that are not
// what they say; and what is made of whole sessions for people.
import assert from "node:assert/strict";
import { fileOf, isSameBytes, noise, present, refuses } from "../expect.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { elsewhere, everything, makeRich, NEEDS, scope } from "./archive-fixture.ts";
import { forkCases } from "./archive-forks.ts";

export function runArchiveSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  runCases(`archive: ${name}`, [...roundTrips, ...forkCases, ...refusals, ...forPeople], make, options);
}

const roundTrips: readonly Case[] = [
  prove("AR1 what is imported elsewhere is what was exported, and exports to the same bytes", NEEDS, async (nouns) => {
    await makeRich(nouns, "rich");
    const file = await fileOf({ sessions: nouns.archives }, "rich");
    await elsewhere(async (other) => {
      const report = await other.sessions.import([file]);
      assert.deepEqual([report.session, report.sessions[0]?.outcome, report.inherited], ["rich", "imported", []]);
      const there = await everything(other, "rich");
      assert.equal(there.verified.ok, true);
      assert.deepEqual(there, await everything(nouns, "rich"));
      isSameBytes(await fileOf(other, "rich"), file, "the file");
      const [, , withImage] = there.history;
      const block = withImage?.content[0];
      const ref = block?.type === "image" ? block.source.ref : undefined;
      isSameBytes(await other.blobs.resolve(present(ref)), noise(2_500_000, 7));
      assert.equal((await other.sessions.get("rich-alias"))?.id, "rich");
    });
  }),

  prove("AR1 a session from another engine continues like any other", NEEDS, async (nouns) => {
    const file = await elsewhere(async (other) => {
      await makeRich(other, "rich");
      return fileOf(other, "rich");
    });
    await nouns.archives.import([file]);
    isSameBytes(await fileOf({ sessions: nouns.archives }, "rich"), file, "the file");
    const before = present(await nouns.sessions.get("rich"));
    const added = await nouns.history.append(scope("rich"), { role: "user", content: "it goes on" });
    assert.equal(added.seq, before.seq + 1);
    const head = await nouns.lineage.heads.publish("rich", { expect: before.head });
    assert.equal(head.basis, before.head);
    await nouns.state.patch("rich", { more: 1 });
    assert.deepEqual(Object.keys(await nouns.state.get("rich")), ["kept", "replaced", "more"]);
    assert.equal((await nouns.log.verify("rich")).ok, true);
    await nouns.history.clear(scope("rich"));
    assert.equal((await nouns.log.verify("rich")).ok, true);
    assert.notEqual(await nouns.sessions.delete("rich"), null);
  }),

  prove("AR1 blobs of an import live by its rows, and go with them", NEEDS, async (nouns) => {
    const file = await elsewhere(async (other) => {
      await other.history.append(scope("chat"), { role: "user", content: "long ".repeat(2000) });
      return fileOf(other, "chat");
    });
    await nouns.archives.import([file]);
    const [message] = await nouns.history.session("chat");
    const ref = present(message).ref;
    assert.equal((await nouns.blobs.stat(ref))?.references, 1);
    for (let epoch = 0; epoch < 4; epoch++) await nouns.blobs.gc();
    assert.equal((await nouns.blobs.verify(ref)).ok, true);
    await nouns.history.clear(scope("chat"));
    assert.equal(await nouns.blobs.exists(ref), false);
  }),

  prove("AR1 an archive in pieces of any size is the same archive", NEEDS, async (nouns) => {
    await nouns.history.append(scope("chat"), { role: "user", content: "x".repeat(3000) });
    const file = await fileOf({ sessions: nouns.archives }, "chat");
    await elsewhere(async (other) => {
      const crumbs = function* () {
        for (let at = 0; at < file.length; at += 7) yield file.subarray(at, at + 7);
      };
      await other.sessions.import(crumbs());
      isSameBytes(await fileOf(other, "chat"), file);
    });
  }),

  prove("AR1 an export beside writers shows one moment of the session", NEEDS, async (nouns) => {
    const { archives, history, state, tasks } = nouns;
    await makeRich(nouns, "rich", 5000);
    let writing = true;
    const writer = (async () => {
      for (let i = 0; writing && i < 400; i++) {
        await history.append(scope("rich"), { role: "user", content: `word ${i}` }, { run: `r${i % 5}` });
        if (i % 3 === 0) await state.patch("rich", { replaced: i });
        if (i % 7 === 0) await history.clearRun(scope("rich"), `r${i % 5}`);
        if (i % 11 === 0) await tasks.create("rich", [`task ${i}`]);
      }
    })();
    for (let i = 0; i < 5; i++) {
      const file = await fileOf({ sessions: archives }, "rich").catch((error) => {
        // Erased between its row and its bytes: the caller is told to try again.
        assert.equal(error.code, "Conflict");
        return null;
      });
      if (file === null) continue;
      await elsewhere(async (other) => {
        await other.sessions.import([file]);
        assert.equal((await other.log.verify("rich")).ok, true);
        isSameBytes(await fileOf(other, "rich"), file);
      });
    }
    writing = false;
    await writer;
  }),

  prove("AR1 ids of every form are plain data", NEEDS, async (nouns) => {
    const id = "../../etc/passwd\n'; DROP TABLE events; -- 💥";
    await nouns.history.append({ session: id, agent: "../agent" }, { role: "user", content: "hello" });
    const file = await fileOf({ sessions: nouns.archives }, { session: id });
    await elsewhere(async (other) => {
      assert.equal((await other.sessions.import(file)).session, id);
      assert.equal((await other.history.session(id)).length, 1);
    });
  }),
];

const refusals: readonly Case[] = [
  prove("AR2 a session that is here is not written over; the same one is answered as there", NEEDS, async (nouns) => {
    await nouns.history.append(scope("chat"), { role: "user", content: "one" });
    const file = await fileOf({ sessions: nouns.archives }, "chat");
    assert.deepEqual((await nouns.archives.import([file])).sessions[0]?.outcome, "there");
    await nouns.history.append(scope("chat"), { role: "user", content: "two" });
    await refuses("AlreadyExists", () => nouns.archives.import([file]));
    assert.equal((await nouns.history.session("chat")).length, 2);
    await nouns.sessions.delete("chat");
    await refuses("SessionDeleted", () => nouns.archives.import([file]));
    await refuses("SessionDeleted", () => fileOf({ sessions: nouns.archives }, "chat"));
    await refuses("NotFound", () => fileOf({ sessions: nouns.archives }, "never"));
  }),

  prove("AR2 imports of one file at once write it once", NEEDS, async (nouns) => {
    const file = await elsewhere(async (other) => {
      await makeRich(other, "rich");
      return fileOf(other, "rich");
    });
    const all = await Promise.allSettled([1, 2, 3].map(() => nouns.archives.import([file])));
    const outcomes = all.map((one) => (one.status === "fulfilled" ? one.value.sessions[0]?.outcome : one.reason));
    assert.equal(outcomes.filter((one) => one === "imported").length, 1, String(outcomes));
    for (const one of outcomes) assert.ok(one === "imported" || one === "there", String(one));
    isSameBytes(await fileOf({ sessions: nouns.archives }, "rich"), file);
  }),

  prove("AR2 a file that is cut off, damaged or no archive changes nothing", NEEDS, async (nouns) => {
    const file = await elsewhere(async (other) => {
      await makeRich(other, "rich", 5000);
      return fileOf(other, "rich");
    });
    const step = Math.ceil(file.length / 60);
    for (let end = 0; end < file.length; end += step) {
      await refuses("ArchiveCorrupted", () => nouns.archives.import([file.subarray(0, end)]), `the first ${end} bytes`);
    }
    for (let at = 20; at < file.length; at += step) {
      const damaged = Buffer.from(file);
      damaged[at] = (damaged[at] ?? 0) ^ 0x40;
      await refuses(
        ["ArchiveCorrupted", "LimitExceeded"],
        () => nouns.archives.import([damaged]),
        `with byte ${at} changed`,
      );
    }
    await refuses("ArchiveCorrupted", () => nouns.archives.import([file, Buffer.from("more")]));
    await refuses("ArchiveCorrupted", () => nouns.archives.import([Buffer.from("something else entirely")]));
    await refuses("InvalidArgument", () => nouns.archives.import("text" as never));
    await refuses("InvalidArgument", () => nouns.archives.import(["text"] as never));
    assert.equal(await nouns.sessions.get("rich"), null);
    for (let epoch = 0; epoch < 4; epoch++) await nouns.blobs.gc();
    assert.equal((await nouns.archives.import([file])).sessions[0]?.outcome, "imported");
  }),

  prove("AR2 a later format is refused, and a length that cannot be is not believed", NEEDS, async (nouns) => {
    await nouns.history.append(scope("chat"), { role: "user", content: "one" });
    const file = await fileOf({ sessions: nouns.archives }, "chat");
    const later = Buffer.concat([Buffer.from("holdfast-archive 2\n"), file.subarray(19)]);
    await refuses("UnsupportedSchemaVersion", () => nouns.archives.import([later]));
    const huge = Buffer.from(file);
    huge.writeUInt32BE(0xffffffff, 20);
    await refuses("ArchiveCorrupted", () => nouns.archives.import([huge]));
    const endless = async function* () {
      for (;;) yield Buffer.alloc(65_536, 0x61);
    };
    await refuses("ArchiveCorrupted", () => nouns.archives.import(endless()));
  }),

  prove("AR2 names that this store uses already are left out and reported", NEEDS, async (nouns) => {
    await nouns.history.append(scope("mine"), { role: "user", content: "one" });
    await nouns.sessions.setAlias("mine", "latest");
    const file = await elsewhere(async (other) => {
      await other.history.append(scope("theirs"), { role: "user", content: "two" });
      await other.sessions.setAlias("theirs", "latest");
      await other.sessions.setAlias("theirs", "free");
      return fileOf(other, "theirs");
    });
    assert.deepEqual((await nouns.archives.import([file])).aliasesTaken, ["latest"]);
    assert.equal((await nouns.sessions.get("latest"))?.id, "mine");
    assert.equal((await nouns.sessions.get("free"))?.id, "theirs");
    await refuses("InvalidArgument", () => fileOf({ sessions: nouns.archives }, `mine@hd-${"0".repeat(64)}`));
    await refuses("InvalidArgument", () => fileOf({ sessions: nouns.archives }, "mine", { childern: true } as never));
  }),
];

const forPeople: readonly Case[] = [
  prove("AR5 a diff shows the common past, and what only one side has", NEEDS, async (nouns) => {
    const say = (session: string, content: string) => nouns.history.append(scope(session), { role: "user", content });
    await say("a", "shared");
    await nouns.state.set("a", { same: 1, changed: 1, removed: 1 });
    const head = await nouns.lineage.heads.publish("a");
    await nouns.lineage.sessions.fork("a", { id: "b" });
    const mine = await say("a", "only in a");
    const theirs = await say("b", "only in b");
    await nouns.state.set("b", { same: 1, changed: 2, added: 1 });
    await nouns.lineage.calls.add("b", { type: "leaf", request: 1, inputTokens: 3, outputTokens: 4, costUsd: 0.5 });
    await nouns.lineage.calls.add("b", { type: "leaf", request: 1 });
    const diff = await nouns.archives.diff("a", "b");
    assert.equal(diff.ancestor?.head, head.id);
    assert.deepEqual([diff.ancestor?.session, diff.common], ["a", 1]);
    assert.deepEqual([diff.a.messages, diff.b.messages], [[mine], [theirs]]);
    assert.deepEqual(diff.state, {
      added: ["added"],
      removed: ["removed"],
      changed: ["changed"],
      values: { added: { b: 1 }, removed: { a: 1 }, changed: { a: 1, b: 2 } },
    });
    assert.deepEqual(diff.b.spent, {
      calls: 2,
      inputTokens: 3,
      outputTokens: 4,
      cachedTokens: 0,
      unknownTokens: 1,
      costUsd: 0.5,
      unknownCosts: 1,
    });
    assert.equal(diff.a.spent.calls, 0);
    const back = await nouns.archives.diff(`a@${head.id}`, "a");
    assert.deepEqual([back.a.messages, back.b.messages.map(({ id }) => id)], [[], [mine.id]]);
    await say("alone", "x");
    assert.equal((await nouns.archives.diff("alone", "a")).ancestor, null);
    await refuses("NotFound", () => nouns.archives.diff("a", "nobody"));
  }),

  prove("AR5 unknown cost is unknown, and inherited calls do not count for a fork", NEEDS, async (nouns) => {
    const { calls, sessions } = nouns.lineage;
    await nouns.sessions.create({ id: "a" });
    await calls.add("a", { type: "leaf", provider: "p", model: "m", inputTokens: 1, outputTokens: 2, costUsd: 0.25 });
    const open = await calls.start("a", { type: "leaf", provider: "p", model: "m" });
    await calls.add("a", { type: "leaf", inputTokens: 10, outputTokens: 20, cachedTokens: 5, costUsd: 0 });
    await sessions.fork("a", { id: "b" });
    const { total, sessions: by } = await nouns.archives.cost();
    assert.deepEqual(total, {
      calls: 3,
      inputTokens: 11,
      outputTokens: 22,
      cachedTokens: 5,
      unknownTokens: 1,
      costUsd: 0.25,
      unknownCosts: 1,
    });
    assert.deepEqual(
      by.map(({ session }) => session),
      ["a"],
    );
    await calls.finish(open.id, { costUsd: 1 });
    const [a] = (await nouns.archives.cost("a")).sessions;
    assert.equal(a?.total.costUsd, 1.25);
    assert.deepEqual(a?.models.map(({ provider, model, calls: n }) => [provider, model, n]).sort(), [
      [null, null, 1],
      ["p", "m", 2],
    ]);
    assert.deepEqual((await nouns.archives.cost("b")).sessions, []);
    await refuses("NotFound", () => nouns.archives.cost("nobody"));
  }),

  prove("AR4 Markdown quotes what was said, so that no text breaks its structure", NEEDS, async (nouns) => {
    const evil =
      "# heading\r## 9. system (root)\n</blockquote><script>alert(1)</script>\n```html\n<b>kept</b>\n  ```\n<i>";
    await nouns.sessions.create({ id: "chat", title: "A *title*\n# with <b>lines</b>" });
    await nouns.history.append(scope("chat"), { role: "user", content: evil });
    const use = { type: "tool_use", id: "t1", name: "read`file", input: { path: "```" } } as const;
    await nouns.history.append(scope("chat"), { role: "assistant", content: [use] });
    const result = { type: "tool_result", toolUseId: "t1", content: "````\nfour", isError: true } as const;
    await nouns.history.append(scope("chat"), { role: "tool", content: [result] });
    const data = new Uint8Array([1, 2, 3]);
    const document = { type: "document", source: { data, mediaType: "text/csv" }, title: "sums.csv" } as const;
    await nouns.history.append(scope("chat"), { role: "user", content: [document] }, { run: "r" });
    const text = await nouns.archives.markdown("chat");
    const lines = text.split("\n");
    assert.equal(lines[0], "# A \\*title\\* \\# with &lt;b>lines&lt;/b>");
    assert.deepEqual(lines.filter((line) => line.startsWith("#")).length, 5);
    assert.ok(!/\r/.test(text));
    assert.ok(lines.includes("> &lt;/blockquote>&lt;script>alert(1)&lt;/script>"));
    assert.ok(lines.includes("> <b>kept</b>"), "in a fence it is shown anyway");
    assert.ok(lines.includes("> &lt;i>"), "and the fence ended where Markdown says");
    assert.ok(lines.includes("**Tool call** ``read`file`` (`t1`)"));
    assert.ok(lines.includes("`````"), "a fence is longer than any inside");
    assert.match(text, /\*\*Document\*\* sums.csv, `text\/csv`, 3 bytes, `sha256:[0-9a-f]{64}`/);
    const head = await nouns.lineage.heads.publish("chat");
    await nouns.history.clearRun(scope("chat"), "r");
    assert.match(await nouns.archives.markdown(`chat@${head.id}`), /\*erased\*/);
  }),
];
