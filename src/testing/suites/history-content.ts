// History suite: content. Every kind of block comes back as it was given; bytes become refs of blobs.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import type { ContentBlock, ContentBlockInput } from "../../contracts/messages.ts";
import { isSameBytes, noise, present, refOf, refuses } from "../expect.ts";
import { type Case, prove } from "../suite.ts";

const scope = { session: "chat", agent: "helper" };

const plainBlocks: readonly ContentBlock[] = [
  { type: "text", text: "plain" },
  { type: "image", source: { url: "https://example.com/a.png", mediaType: "image/png" }, alt: "a picture" },
  { type: "audio", source: { url: "https://example.com/a.ogg" }, transcript: "spoken" },
  { type: "document", source: { url: "https://example.com/a.pdf", mediaType: "application/pdf" }, title: "paper" },
  { type: "tool_use", id: "call-1", name: "search", input: { q: ["a", 1, null, { deep: true }] } },
  { type: "tool_use", id: "call-2", name: "noop", input: null },
  { type: "tool_result", toolUseId: "call-1", content: "found", isError: false },
  { type: "tool_result", toolUseId: "call-2", content: [{ type: "text", text: "no" }], isError: true },
  { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
  { type: "thinking", thinking: "" },
  { type: "opaque", value: { z: 1, a: { type: "text" }, list: [null, false, 0, "", -0.5e-7] } },
];

export const historyContentCases: readonly Case[] = [
  prove("HI1 every kind of block without bytes comes back exactly", ["history"], async ({ history }) => {
    const message = await history.append(scope, { role: "assistant", content: plainBlocks });
    assert.deepEqual(message.content, plainBlocks);
    const [read] = await history.get(scope);
    assert.deepEqual(read, message);
    assert.equal(JSON.stringify(present(read).content), JSON.stringify(plainBlocks), "keys keep their order");
  }),

  prove("ST5 caller JSON in blocks and metadata is not touched", ["history"], async ({ history }) => {
    const text =
      '{"z":1,"a":{"__proto__":{"x":1},"constructor":2},"10":"ten","2":"two","":"","é":"é","e\u0301":"\\u0000"}';
    const value = JSON.parse(text);
    const content = [
      { type: "tool_use", id: "c", name: "n", input: value },
      { type: "opaque", value },
    ] as const;
    await history.append(scope, { role: "assistant", content, metadata: value });
    const read = present((await history.get(scope))[0]);
    assert.equal(JSON.stringify(read.content), JSON.stringify(content));
    assert.equal(JSON.stringify(read.metadata), JSON.stringify(value));
  }),

  prove("ST5 text comes back character by character", ["history"], async ({ history }) => {
    const strange = [
      "",
      " ",
      "\u0000",
      "a\u0000b",
      "\r\n\t",
      "\ufeffbom",
      "\u202eRTL",
      "👩‍👩‍👧‍👦",
      "\uffff",
      "'; DROP TABLE messages; --",
    ];
    for (const text of strange) await history.append(scope, { role: "user", content: text });
    const read = await history.get(scope);
    assert.deepEqual(
      read.map(({ content }) => content),
      strange.map((text) => [{ type: "text", text }]),
    );
  }),

  prove("HI1 a long message comes back exactly", ["history"], async ({ history }) => {
    const text = Buffer.from(noise(3_000_000, 5)).toString("base64");
    await history.append(scope, { role: "user", content: text });
    const [block] = present((await history.get(scope))[0]).content;
    assert.ok(block?.type === "text" && block.text === text);
  }),

  prove("BL5 bytes in a block are kept as a blob and come back as its ref", ["history", "blobs"], async (nouns) => {
    const { history, blobs } = nouns;
    const pixels = noise(10_000, 1);
    const source = { data: pixels, mediaType: "image/png" };
    const content: readonly ContentBlockInput[] = [
      { type: "image", source, alt: "noise" },
      { type: "audio", source: { data: noise(2_000, 2), mediaType: "audio/ogg" } },
      { type: "document", source: { data: noise(0, 3), mediaType: "application/pdf" }, title: "empty" },
      { type: "tool_result", toolUseId: "c", content: [{ type: "image", source }] },
    ];
    const message = await history.append(scope, { role: "user", content });
    const image = { ref: refOf(pixels), mediaType: "image/png", size: 10_000 };
    assert.deepEqual(message.content[0], { type: "image", source: image, alt: "noise" });
    const nested = { type: "tool_result", toolUseId: "c", content: [{ type: "image", source: image }] };
    assert.deepEqual(message.content[3], nested);
    assert.deepEqual(await history.get(scope), [message]);
    isSameBytes(await blobs.resolve(image.ref), pixels);
    const stat = present(await blobs.stat(image.ref));
    assert.equal(stat.mediaType, "image/png");
    assert.ok(stat.references >= 1);
  }),

  prove(
    "BL4 a blob that a message names lives as long as the message",
    ["history", "blobs", "clock"],
    async (nouns) => {
      const { history, blobs, clock } = nouns;
      const ref = await blobs.store(noise(500, 4), { mediaType: "image/png", ttlMs: 1_000 });
      const message = await history.append(scope, { role: "user", content: [{ type: "image", source: { ref } }] });
      const [block] = message.content;
      assert.ok(block?.type === "image" && block.source.ref === ref);
      await clock.advance(3_600_000);
      isSameBytes(await blobs.resolve(ref), noise(500, 4));
      await refuses("Conflict", () => blobs.delete(ref));
      await history.clear(scope);
      await refuses(["BlobExpired", "BlobNotFound"], () => blobs.resolve(ref));
    },
  ),

  prove("BL2 a ref that no blob has is refused and nothing is written", ["history", "blobs"], async ({ history }) => {
    const content = [{ type: "image", source: { ref: refOf("never stored") } }] as const;
    await refuses("BlobNotFound", () => history.append(scope, { role: "user", content }));
    assert.deepEqual(await history.get(scope), []);
  }),

  prove(
    "BL4 a message that names an expired blob keeps it or is refused",
    ["history", "blobs", "clock"],
    async (nouns) => {
      const { history, blobs, clock } = nouns;
      const ref = await blobs.store(noise(100, 6), { ttlMs: 1_000 });
      await clock.advance(2_000);
      try {
        await history.append(scope, { role: "user", content: [{ type: "image", source: { ref } }] });
      } catch (error) {
        await refuses(["BlobExpired", "BlobNotFound"], () => Promise.reject(error));
        assert.deepEqual(await history.get(scope), []);
        return;
      }
      isSameBytes(await blobs.resolve(ref), noise(100, 6));
    },
  ),

  prove("BL1 a message's ref is the blob of its content", ["history", "blobs"], async ({ history, blobs }) => {
    const message = await history.append(scope, { role: "user", content: "kept in a blob", metadata: { m: 1 } });
    const bytes = await blobs.resolve(message.ref);
    assert.equal(refOf(bytes), message.ref);
    assert.ok(Buffer.from(bytes).includes("kept in a blob"));
    assert.ok(present(await blobs.stat(message.ref)).references >= 1);
  }),

  prove("BL1 two messages that say the same share one blob", ["history", "stats"], async ({ history, stats }) => {
    const text = Buffer.from(noise(50_000, 7)).toString("hex");
    await history.append(scope, { role: "user", content: text });
    const one = await stats();
    await history.append({ ...scope, session: "chat-2" }, { role: "user", content: text });
    const two = await stats();
    assert.equal(two.blobs.bytes, one.blobs.bytes);
    assert.ok(two.blobs.referencedBytes >= one.blobs.referencedBytes + 100_000);
    assert.ok(two.blobs.dedupSavings > one.blobs.dedupSavings);
  }),

  prove("BL1 a message's content of any length counts as a blob", ["history", "stats"], async (nouns) => {
    for (const length of [10, 50_000]) {
      const before = await nouns.stats();
      const text = Buffer.from(noise(length, 8)).toString("hex");
      const { content } = await nouns.history.append(scope, { role: "user", content: text });
      const after = await nouns.stats();
      const size = Buffer.byteLength(JSON.stringify({ content }));
      assert.equal(after.blobs.count, before.blobs.count + 1);
      assert.equal(after.blobs.bytes, before.blobs.bytes + size);
      assert.equal(after.blobs.referencedBytes, before.blobs.referencedBytes + size);
      assert.ok(after.blobs.storedBytes > before.blobs.storedBytes);
    }
  }),

  prove("ST8 a message over a limit is refused and nothing is written", ["history"], async ({ history }) => {
    const text = "x".repeat(LIMITS.messageBytes + 1);
    await refuses("LimitExceeded", () => history.append(scope, { role: "user", content: text }));
    const blocks = Array.from({ length: LIMITS.blocksPerMessage + 1 }, () => ({ type: "text" as const, text: "" }));
    await refuses("LimitExceeded", () => history.append(scope, { role: "user", content: blocks }));
    assert.equal(await history.count(scope), 0);
  }),

  prove("HI1 a message is what was given when it was appended", ["history"], async ({ history }) => {
    const block = { type: "tool_use" as const, id: "c", name: "look", input: { for: ["one"] } };
    const metadata = { of: { n: 1 } };
    const appending = history.append(scope, { role: "assistant", content: [block], metadata });
    block.input.for.push("two");
    metadata.of.n = 2;
    const message = await appending;
    block.input.for.push("three");
    assert.deepEqual(message.content, [{ type: "tool_use", id: "c", name: "look", input: { for: ["one"] } }]);
    assert.deepEqual(message.metadata, { of: { n: 1 } });
    assert.deepEqual(await history.get(scope), [message]);
  }),

  prove("ST7 what a message cannot be is refused and nothing is written", ["history"], async ({ history }) => {
    const wrong: readonly (readonly [string, unknown])[] = [
      ["no role", { content: "x" }],
      ["an unknown role", { role: "robot", content: "x" }],
      ["no content", { role: "user" }],
      ["content that is a number", { role: "user", content: 7 }],
      ["a block that is null", { role: "user", content: [null] }],
      ["a block that is a string", { role: "user", content: ["text"] }],
      ["an unknown block", { role: "user", content: [{ type: "hologram" }] }],
      ["text without text", { role: "user", content: [{ type: "text" }] }],
      ["an image without source", { role: "user", content: [{ type: "image" }] }],
      ["a source with nothing", { role: "user", content: [{ type: "image", source: {} }] }],
      [
        "data that is no bytes",
        { role: "user", content: [{ type: "image", source: { data: "x", mediaType: "image/png" } }] },
      ],
      ["a ref that is none", { role: "user", content: [{ type: "image", source: { ref: "sha256:xyz" } }] }],
      ["a tool call without name", { role: "user", content: [{ type: "tool_use", id: "c", input: {} }] }],
      ["metadata that is a list", { role: "user", content: "x", metadata: [] }],
      ["a key that is a number", { role: "user", content: "x", key: 1 }],
    ];
    for (const [what, message] of wrong) {
      const call = () => history.append(scope, message as { role: "user"; content: string });
      await refuses(["InvalidArgument", "InvalidJson"], call, what);
    }
    assert.deepEqual(await history.get(scope), []);
  }),
];
