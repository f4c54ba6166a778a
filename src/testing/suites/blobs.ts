// The suite of the blobs contract: exact bytes here; lifetime and collection, and large and growing blobs, in the
// files beside.
import assert from "node:assert/strict";
import { LIMITS } from "../../contracts/limits.ts";
import { collect, isSameBytes, noise, present, prose, range, refOf, refuses } from "../expect.ts";
import { scaled } from "../scale.ts";
import { type Case, type MakeFixture, prove, runCases, type SuiteOptions } from "../suite.ts";
import { blobGrowthCases } from "./blobs-growth.ts";
import { blobLargeCases } from "./blobs-large.ts";
import { blobLifetimeCases } from "./blobs-lifetime.ts";
import { blobRaceCases } from "./races.ts";

export function runBlobsSuite(name: string, make: MakeFixture, options?: SuiteOptions): void {
  const cases = [
    ...exactCases,
    ...statCases,
    ...listCases,
    ...refusedCases,
    ...blobLifetimeCases,
    ...blobLargeCases,
    ...blobGrowthCases,
    ...blobRaceCases,
  ];
  runCases(`blobs: ${name}`, cases, make, options);
}

/** Sizes around the places where a store may change how it keeps bytes. */
/** Of these `npm test` stores one kind of bytes, and `npm run test:long` three. */
const LARGE = 1_000_000;
const SIZES = [0, 1, 31, 32, 33, 255, 1_000, 4_095, 4_096, 65_535, 65_536, 262_145, 1_048_577, 4_194_305];

const exactCases: readonly Case[] = [
  prove("BL1 a ref is the SHA-256 of the bytes, and the bytes come back", ["blobs"], async ({ blobs }) => {
    for (const size of SIZES) {
      const all = [noise(size, size), prose(size, size), new Uint8Array(size)];
      for (const bytes of size < LARGE ? all : scaled({ short: all.slice(0, 1), long: all })) {
        const ref = await blobs.store(bytes);
        assert.equal(ref, refOf(bytes));
        isSameBytes(await blobs.resolve(ref), bytes, `${size} bytes`);
        isSameBytes(Buffer.concat(await collect(blobs.stream(ref))), bytes, `${size} streamed bytes`);
        assert.deepEqual(await blobs.verify(ref), { ok: true, size });
      }
    }
  }),

  prove("BL5 every byte is kept, also what is no text", ["blobs"], async ({ blobs }) => {
    const all = Uint8Array.from(range(256));
    const broken = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf8, 0x88], [0, 0, 0], [0xef, 0xbb, 0xbf]];
    for (const bytes of [all, ...broken.map((list) => Uint8Array.from(list))]) {
      const ref = await blobs.store(bytes);
      assert.equal(ref, refOf(bytes));
      isSameBytes(await blobs.resolve(ref), bytes);
    }
  }),

  prove("BL1 a string is its UTF-8 bytes", ["blobs"], async ({ blobs }) => {
    for (const text of ["", "plain", "ünï\u0000cödé 😀 \u2028", "\ufeffwith a mark", "x".repeat(100_000)]) {
      const ref = await blobs.store(text);
      assert.equal(ref, refOf(text));
      assert.equal(await blobs.resolveText(ref), text);
      isSameBytes(await blobs.resolve(ref), Buffer.from(text));
    }
    await refuses("InvalidText", () => blobs.store("\ud800"));
  }),

  prove("ST5 JSON comes back as it serialises", ["blobs"], async ({ blobs }) => {
    const texts = [
      "null",
      "0",
      '""',
      "[]",
      "{}",
      '{"z":[1,{"__proto__":{"a":1}}],"a":{"10":1,"9":"\\u0000"},"é":1e-7}',
    ];
    for (const text of texts) {
      const ref = await blobs.storeJson(JSON.parse(text));
      assert.equal(JSON.stringify(await blobs.resolveJson(ref)), JSON.stringify(JSON.parse(text)));
      assert.equal(refOf(await blobs.resolve(ref)), ref);
      assert.equal(present(await blobs.stat(ref)).mediaType, "application/json");
    }
    await refuses("InvalidJson", () => blobs.storeJson({ n: Number.NaN }));
  }),

  prove("BL5 streams in and out carry the same bytes", ["blobs"], async ({ blobs }) => {
    const bytes = prose(300_000, 3);
    const pieces = range(31).map((n) => bytes.subarray(n * 10_000, (n + 1) * 10_000));
    async function* slowly(): AsyncGenerator<Uint8Array> {
      for (const piece of pieces) {
        await Promise.resolve();
        yield piece;
      }
    }
    for (const source of [slowly(), pieces, new Set(pieces), [bytes], [new Uint8Array(0), bytes, new Uint8Array(0)]]) {
      const ref = await blobs.store(source);
      assert.equal(ref, refOf(bytes));
      isSameBytes(await blobs.resolve(ref), bytes);
    }
    assert.equal(await blobs.store([]), refOf(""));
  }),

  prove("BL2 a source that fails half-way leaves nothing", ["blobs", "stats"], async ({ blobs, stats }) => {
    const before = (await stats()).blobs;
    const piece = noise(1_000_000, 8);
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield piece;
      yield piece;
      throw new RangeError("the disk was pulled out");
    }
    await assert.rejects(blobs.store(failing()), (error: unknown) => {
      const causes = [error, (error as Error).cause];
      return causes.some((one) => one instanceof RangeError && one.message === "the disk was pulled out");
    });
    assert.equal(await blobs.exists(refOf(piece)), false);
    assert.deepEqual((await stats()).blobs.referencedBytes, before.referencedBytes);
  }),

  prove("BL1 what the caller does with bytes later changes nothing", ["blobs"], async ({ blobs }) => {
    for (const size of [100, 100_000]) {
      const nouns = noise(size, size);
      const ref = await blobs.store(nouns);
      nouns.fill(0);
      const read = await blobs.resolve(ref);
      isSameBytes(read, noise(size, size));
      read.fill(1);
      isSameBytes(await blobs.resolve(ref), noise(size, size));
    }
  }),

  prove("BL1 parts of larger buffers are only their own bytes", ["blobs"], async ({ blobs }) => {
    const whole = noise(1_000, 9);
    const part = whole.subarray(100, 300);
    const ref = await blobs.store(part);
    assert.equal(ref, refOf(part));
    isSameBytes(await blobs.resolve(ref), part);
    assert.equal(await blobs.store(Buffer.from(part)), ref);
  }),

  prove("ST11 another handle reads what one has stored", ["blobs", "another"], async ({ blobs, another }) => {
    const other = await another();
    for (const size of [10, 10_000, 3_000_000]) {
      const ref = await blobs.store(noise(size, size + 1));
      isSameBytes(await other.blobs.resolve(ref), noise(size, size + 1));
    }
  }),
];

const statCases: readonly Case[] = [
  prove(
    "BL1 stat returns size, media type, encoding, store and times",
    ["blobs", "clock"],
    async ({ blobs, clock }) => {
      const start = clock.now();
      const ref = await blobs.store(prose(20_000, 1), { mediaType: "application/x-log", ttlMs: 60_000 });
      const stat = present(await blobs.stat(ref));
      assert.equal(stat.ref, ref);
      assert.equal(`sha256:${stat.sha256}`, ref);
      assert.equal(stat.size, 20_000);
      assert.equal(stat.mediaType, "application/x-log");
      assert.equal(stat.encoding, "binary");
      assert.ok(["none", "zstd", "chunks", "segments"].includes(stat.compression));
      assert.ok(
        stat.storedSize > 0 && stat.storedSize < 20_000,
        `prose is kept compressed, not in ${stat.storedSize} bytes`,
      );
      assert.ok(stat.store.length > 0 && typeof stat.key === "string");
      assert.ok(stat.createdAt >= start && stat.createdAt <= clock.now());
      assert.equal(stat.expiresAt, stat.createdAt + 60_000);
      assert.equal(stat.pinned, false);
      assert.equal(stat.references, 0);
    },
  ),

  prove("BL1 stat knows text from bytes, and bytes without a type", ["blobs"], async ({ blobs }) => {
    const text = present(await blobs.stat(await blobs.store("some text", { mediaType: "text/markdown" })));
    assert.deepEqual([text.encoding, text.mediaType], ["utf-8", "text/markdown"]);
    const json = present(await blobs.stat(await blobs.storeJson({ some: "json" })));
    assert.deepEqual([json.encoding, json.mediaType], ["utf-8", "application/json"]);
    const bytes = present(await blobs.stat(await blobs.store(noise(9, 9))));
    assert.deepEqual([bytes.encoding, bytes.mediaType], ["binary", "application/octet-stream"]);
  }),

  prove("BL1 the same bytes are kept once", ["blobs", "stats"], async ({ blobs, stats }) => {
    const bytes = noise(50_000, 2);
    const ref = await blobs.store(bytes);
    const once = (await stats()).blobs;
    assert.equal(await blobs.store(bytes), ref);
    assert.equal(await blobs.store([bytes.subarray(0, 7), bytes.subarray(7)]), ref);
    await Promise.all(range(8).map(() => blobs.store(bytes)));
    const after = (await stats()).blobs;
    assert.deepEqual([after.count, after.bytes, after.storedBytes], [once.count, once.bytes, once.storedBytes]);
  }),

  prove(
    "BL1 the same bytes stored at once by two handles are kept once",
    ["blobs", "stats", "another"],
    async (nouns) => {
      const other = await nouns.another();
      for (const n of range(10)) {
        const bytes = noise(5_000, 50 + n);
        const refs = await Promise.all([nouns.blobs.store(bytes), other.blobs.store(bytes)]);
        assert.deepEqual(refs, [refOf(bytes), refOf(bytes)]);
        isSameBytes(await other.blobs.resolve(refOf(bytes)), bytes);
      }
      assert.equal((await nouns.stats()).blobs.bytes, 50_000);
    },
  ),
];

const listCases: readonly Case[] = [
  prove("BL1 blobs are listed newest first, in pages, with the same fields as stat", ["blobs"], async ({ blobs }) => {
    assert.deepEqual(await blobs.list(), { items: [], next: null });
    const refs: string[] = [];
    for (const n of range(7)) refs.push(await blobs.store(noise(2_000, n), { mediaType: `x/${n}` }));
    await blobs.pin(present(refs[2]));
    await blobs.store(noise(2_000, 0));
    const newest = refs.toReversed();
    const { items, next } = await blobs.list();
    assert.deepEqual([items.map(({ ref }) => ref), next], [newest, null]);
    for (const item of items) assert.deepEqual(item, await blobs.stat(item.ref));
    assert.equal(items.find(({ pinned }) => pinned)?.ref, refs[2]);

    const pages: string[][] = [];
    for (let cursor: { cursor?: string } | null = {}; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof blobs.list>> = await blobs.list({ limit: 3, ...cursor });
      pages.push(page.items.map(({ ref }) => ref));
      cursor = page.next === null ? null : { cursor: page.next };
    }
    assert.deepEqual(pages, [newest.slice(0, 3), newest.slice(3, 6), newest.slice(6)]);
    assert.equal((await blobs.list({ limit: 7 })).next, null);
    await blobs.delete(present(refs[6]));
    assert.equal((await blobs.list({ limit: 1 })).items[0]?.ref, refs[5]);
    await refuses("InvalidArgument", () => blobs.list({ cursor: "not one of ours" }));
    await refuses("LimitExceeded", () => blobs.list({ limit: LIMITS.page + 1 }));
  }),

  prove("BL3 what a blob is made of is not listed", ["blobs", "history"], async ({ blobs, history }) => {
    const before = await blobs.store("first");
    const large = noise(3_000_000, 1);
    const whole = await blobs.store(large);
    const grown = await blobs.store("first and more", { growsFrom: before });
    const listed = async () => (await blobs.list({ limit: 5 })).items.map(({ ref }) => ref);
    assert.deepEqual(await listed(), [grown, whole, before]);
    // Short content stands in its message's row; stat finds it, the list does not.
    const { ref } = await history.append({ session: "s", agent: "a" }, { role: "user", content: "short" });
    assert.notEqual(await blobs.stat(present(ref)), null);
    assert.deepEqual(await listed(), [grown, whole, before]);
  }),
];

const refusedCases: readonly Case[] = [
  prove("BL4 a ref that was never stored is BlobNotFound", ["blobs"], async ({ blobs }) => {
    const ref = refOf("never stored");
    const calls: (() => unknown)[] = [
      () => blobs.resolve(ref),
      () => blobs.resolveText(ref),
      () => blobs.resolveJson(ref),
      () => collect(blobs.stream(ref)),
      () => blobs.pin(ref),
      () => blobs.unpin(ref),
      () => blobs.seal(ref),
    ];
    for (const call of calls) {
      const error = await refuses("BlobNotFound", call, String(call));
      assert.equal(error.details.ref, ref);
    }
    assert.equal(await blobs.exists(ref), false);
    assert.equal(await blobs.stat(ref), null);
    assert.equal(await blobs.delete(ref), false);
    assert.equal((await blobs.verify(ref)).ok, false);
  }),

  prove("ST7 what is no ref is refused everywhere", ["blobs"], async ({ blobs }) => {
    const hex = "0".repeat(64);
    const wrong = [
      "",
      "x",
      hex,
      `sha256:${hex.slice(1)}`,
      `sha256:${hex}0`,
      `SHA256:${hex}`,
      `sha256:${"G".repeat(64)}`,
    ];
    for (const ref of [...wrong, `sha256:${hex}\n`, `sha256:${hex}' OR 1=1`, "sha256:../../etc/passwd"]) {
      const calls = [
        () => blobs.resolve(ref),
        () => collect(blobs.stream(ref)),
        () => blobs.exists(ref),
        () => blobs.stat(ref),
        () => blobs.pin(ref),
        () => blobs.delete(ref),
        () => blobs.verify(ref),
        () => blobs.seal(ref),
        () => blobs.store("x", { growsFrom: ref }),
      ];
      for (const call of calls) await refuses("InvalidArgument", call, `${call} of ${JSON.stringify(ref)}`);
    }
  }),

  prove("ST7 bytes that are no text, or no JSON, are refused as such", ["blobs"], async ({ blobs }) => {
    const broken = await blobs.store(Uint8Array.from([0x61, 0xff]));
    await refuses("InvalidText", () => blobs.resolveText(broken));
    await refuses(["InvalidText", "InvalidJson"], () => blobs.resolveJson(broken));
    await refuses("InvalidJson", async () => blobs.resolveJson(await blobs.store("{not json")));
    await refuses("InvalidJson", async () => blobs.resolveJson(await blobs.store("")));
  }),

  prove("BL1 blobs are listed largest first when asked, by page", ["blobs"], async ({ blobs }) => {
    const sizes = [5, 9000, 70, 9000, 3_000_000, 1];
    const refs = new Map<string, number>();
    for (const [i, size] of sizes.entries()) refs.set(await blobs.store(`${i}`.repeat(size)), size);
    for (const limit of [1, 2, 6, 100]) {
      const seen: number[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await blobs.list({ sort: "size", limit, ...(cursor === undefined ? {} : { cursor }) });
        assert.ok(page.items.length <= limit);
        for (const { ref, size } of page.items) {
          assert.equal(refs.get(ref), size);
          seen.push(size);
        }
        if (page.next === null) break;
        cursor = page.next;
      }
      assert.deepEqual(seen, [3_000_000, 9000, 9000, 70, 5, 1], "without the chunks of the large one");
    }
    const newest = (await blobs.list({ sort: "age" })).items.map(({ size }) => size);
    assert.deepEqual(newest, sizes.toReversed());
    await refuses("InvalidArgument", () => blobs.list({ sort: "colour" as never }));
  }),

  prove(
    "BL1 referrers of a blob are listed: content and attachments, also short content",
    ["blobs", "history", "state", "agents"],
    async ({ blobs, history, state, agents }) => {
      const scope = { session: "s", agent: "a" };
      const image = await blobs.store(new Uint8Array(5000).fill(7), { mediaType: "image/png" });
      const unused = await blobs.store("nobody needs it");
      assert.deepEqual([await blobs.referrers(image), await blobs.referrers(unused)], [[], []]);
      const source = { ref: image };
      const shown = await history.append(scope, { role: "user", content: [{ type: "image", source }] });
      const other = await history.append(
        { ...scope, session: "t" },
        { role: "user", content: [{ type: "image", source }] },
      );
      assert.deepEqual(await blobs.referrers(image), [
        { kind: "message", id: other.id, session: "t", how: "attachment" },
        { kind: "message", id: shown.id, session: "s", how: "attachment" },
      ]);
      assert.deepEqual(await blobs.referrers(image, { limit: 1 }), [
        { kind: "message", id: other.id, session: "t", how: "attachment" },
      ]);
      const long = await history.append(scope, { role: "user", content: "long ".repeat(9000) });
      const short = await history.append(scope, { role: "user", content: "short" });
      for (const { ref, id } of [long, short]) {
        assert.deepEqual(await blobs.referrers(ref), [{ kind: "message", id, session: "s", how: "content" }]);
      }
      const large = { text: "x".repeat(9000) };
      await state.set("s", { key: large });
      const [block] = await agents.saveBlocks("a", [{ label: "l", value: JSON.stringify(large) }]);
      const kept = await blobs.storeJson(large);
      assert.deepEqual(await blobs.referrers(kept), [
        { kind: "state", id: "s/key", session: "s", how: "content" },
        { kind: "block", id: `${block?.id}#1`, session: null, how: "content" },
      ]);
      await refuses("InvalidArgument", () => blobs.referrers("nonsense"));
      await refuses("LimitExceeded", () => blobs.referrers(image, { limit: 1_000_000 }));
    },
  ),
];
