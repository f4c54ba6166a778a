// History suite: every message has a ref, and the ref is a blob's, wherever a backend keeps content of that length.
import assert from "node:assert/strict";
import type { Message } from "../../contracts/messages.ts";
import { present, range, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, prove } from "../suite.ts";

const scope = { session: "chat", agent: "helper" };
const elsewhere = { session: "chat-2", agent: "helper" };
const say = (content: string) => ({ role: "user", content }) as const;

/** From nearly nothing to far more than a row would hold. */
const LENGTHS = [1, 100, 980, 1000, 1024, 1100, 5000, 2_000_000];

export const historyRefsCases: readonly Case[] = [
  prove("BL1 a message's ref resolves to its content of any length", ["history", "blobs"], async (nouns) => {
    const { history, blobs } = nouns;
    for (const length of LENGTHS) {
      const message = await history.append(scope, say("é".repeat(length)));
      const content = { content: message.content };
      assert.deepEqual(await blobs.resolveJson(message.ref), content, `of ${length}`);
      assert.equal(await blobs.exists(message.ref), true);
      const stat = present(await blobs.stat(message.ref));
      assert.equal(stat.size, Buffer.byteLength(JSON.stringify(content)));
      assert.deepEqual([stat.mediaType, stat.encoding, stat.references], ["application/json", "utf-8", 1]);
      assert.deepEqual(await blobs.verify(message.ref), { ok: true, size: stat.size });
      const pieces: Uint8Array[] = [];
      for await (const piece of blobs.stream(message.ref)) pieces.push(piece);
      assert.equal(Buffer.concat(pieces).toString(), JSON.stringify(content));
    }
  }),

  prove("BL1 the same content has the same ref, and each message counts", ["history", "blobs"], async (nouns) => {
    const { history, blobs } = nouns;
    for (const text of ["short", "long ".repeat(1000)]) {
      const [one, two] = [await history.append(scope, say(text)), await history.append(elsewhere, say(text))];
      assert.equal(one.ref, two.ref);
      assert.equal(present(await blobs.stat(one.ref)).references, 2);
    }
  }),

  prove("BL4 what a message refers to cannot be deleted, and goes with it", ["history", "blobs"], async (nouns) => {
    const { history, blobs } = nouns;
    for (const text of ["short", "long ".repeat(1000)]) {
      const { ref } = await history.append(scope, say(text));
      await refuses("Conflict", () => blobs.delete(ref));
      await history.clear(scope);
      assert.equal(await blobs.exists(ref), false);
      assert.equal(await blobs.delete(ref), false);
      await refuses("BlobNotFound", () => blobs.pin(ref));
    }
  }),

  prove("BL4 a pin outlives the message; unpinned, it goes", ["history", "blobs"], async ({ history, blobs }) => {
    for (const text of ["short", "long ".repeat(1000)]) {
      const message = await history.append(scope, say(text));
      await blobs.unpin(message.ref);
      await blobs.pin(message.ref);
      assert.equal((await history.clear(scope)).kept.blobs, 1, "the report says that it stays");
      assert.deepEqual(await blobs.resolveJson(message.ref), { content: message.content });
      await blobs.unpin(message.ref);
    }
  }),

  prove("LG6 what was pinned once goes with its message all the same", ["history", "blobs"], async (nouns) => {
    const { history, blobs } = nouns;
    for (const text of ["short", "long ".repeat(1000)]) {
      const { ref } = await history.append(scope, say(text));
      await blobs.pin(ref);
      await blobs.unpin(ref);
      assert.equal((await history.clear(scope)).kept.blobs, 0);
      assert.equal(await blobs.stat(ref), null);
    }
  }),

  prove("BL4 a message may name many others' contents", ["history", "blobs"], async ({ history, blobs }) => {
    const said = await history.appendMany(
      scope,
      range(200).map((n) => say(`word ${n}`)),
    );
    const content = said.map(({ ref }) => ({ type: "document", source: { ref } }) as const);
    await history.append(elsewhere, { role: "user", content });
    await history.clear(scope);
    for (const { ref } of said) assert.equal(await blobs.exists(ref), true);
  }),

  prove("BL4 a message may name another's content, and keeps it", ["history", "blobs"], async ({ history, blobs }) => {
    for (const text of ["short", "long ".repeat(1000)]) {
      const { ref, content } = await history.append(scope, say(text));
      const source = { ref, mediaType: "application/json" };
      await history.append(elsewhere, { role: "user", content: [{ type: "document", source }] });
      await history.clear(scope);
      assert.deepEqual(await blobs.resolveJson(ref), { content });
      await history.clear(elsewhere);
      assert.equal(await blobs.exists(ref), false);
    }
    const source = { ref: `sha256:${"0".repeat(64)}` };
    await refuses("BlobNotFound", () => history.append(scope, { role: "user", content: [{ type: "image", source }] }));
  }),

  prove("HI1 a message that names another's content keeps its caller's order", ["history"], async ({ history }) => {
    for (const text of ["short", "long ".repeat(1000)]) {
      const { ref } = await history.append(elsewhere, say(text));
      const content = [{ type: "document", source: { ref } }] as const;
      const [naming, behind] = await Promise.all([
        history.append(scope, { role: "user", content }),
        history.append(scope, say("behind")),
      ]);
      assert.ok(naming.seq < behind.seq, `${naming.seq} before ${behind.seq}`);
    }
  }),

  prove(
    "LG6 a clear beside a pin or a message that names its content reports what stays",
    ["history", "blobs", "another"],
    async (nouns) => {
      const { history, blobs, another } = nouns;
      const other = await another();
      const acts = {
        pin: ({ ref }: Message) => other.blobs.pin(ref),
        name: ({ ref }: Message) =>
          other.history.append(elsewhere, { role: "user", content: [{ type: "document", source: { ref } }] }),
      };
      for (const text of ["short", "long ".repeat(1000)]) {
        for (const [name, act] of Object.entries(acts)) {
          for (const round of range(scaled({ short: 4, long: 20 }))) {
            const said = await history.append(scope, say(`${text} ${name} ${round}`));
            const acting = act(said);
            // Sometimes it is nearly done when the clear begins.
            for (const _ of range(round % 4)) await new Promise((next) => setImmediate(next));
            const [acted, cleared] = await Promise.allSettled([acting, history.clear(scope)]);
            assert.ok(cleared.status === "fulfilled");
            const stays = acted.status === "fulfilled";
            assert.equal(await blobs.exists(said.ref), stays, `${name} ${round}`);
            assert.equal(cleared.value.kept.blobs, stays ? 1 : 0, `${name} ${round}`);
            if (!stays) await refuses(["BlobNotFound", "BlobExpired"], () => Promise.reject(acted.reason));
          }
        }
      }
    },
  ),

  prove("BL4 a message may name what was pinned and let go", ["history", "blobs"], async ({ history, blobs }) => {
    const { ref, content } = await history.append(scope, say("short"));
    await blobs.pin(ref);
    await blobs.unpin(ref);
    await history.append(elsewhere, { role: "user", content: [{ type: "document", source: { ref } }] });
    await history.clear(scope);
    assert.deepEqual(await blobs.resolveJson(ref), { content });
  }),

  prove("BL4 bytes that expired live on as a message's content", ["history", "blobs"], async ({ history, blobs }) => {
    const text = JSON.stringify({ content: [{ type: "text", text: "short" }] });
    const ref = await blobs.store(text, { ttlMs: 0 });
    assert.equal(await blobs.exists(ref), false);
    assert.equal((await history.append(scope, say("short"))).ref, ref);
    assert.equal(await blobs.resolveText(ref), text);
    assert.equal(await blobs.exists(ref), true);
    const { expiresAt, references } = present(await blobs.stat(ref));
    assert.deepEqual({ expiresAt, references }, { expiresAt: null, references: 1 });
    await blobs.pin(ref);
    await history.clear(scope);
    assert.equal(await blobs.resolveText(ref), text);
  }),

  prove("BL1 refs resolve while sessions come and go", ["history", "blobs", "sessions"], async (nouns) => {
    const { history, blobs, sessions } = nouns;
    for (const round of range(4)) {
      const gone = await history.append({ ...scope, session: `s${round}` }, say(`gone ${round}`));
      assert.equal(await blobs.exists(gone.ref), true);
      await sessions.delete(`s${round}`);
      assert.equal(await blobs.exists(gone.ref), false);
      const kept = await history.append(scope, say(`kept ${round}`));
      assert.equal(await blobs.exists(kept.ref), true);
    }
  }),
];
